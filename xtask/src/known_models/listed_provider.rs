//! The providers of a price list, and the kinds that they are here. They are taken from the page
//! of providers, which is written from the definitions of all kinds: a new kind needs nothing here.

use std::sync::LazyLock;

const PAGE: &str = include_str!("../../../docs/providers.md");
const PREFIXES_START: &str = "- LiteLLM's prefixes: ";
const KIND_START: &str = "kind = \"";

/// Kinds of servers that anybody may run: their models have no common price.
const OWN_SERVERS: [&str; 5] = ["compatible", "litellm_proxy", "lm_studio", "ollama", "vllm"];
/// Names that only price lists have.
const OTHER_NAMES: [(&str, &str); 1] = [("text-completion-openai", "openai")];
/// The kind whose names in price lists also have the vendor of the model.
const VERTEX: (&str, &str) = ("vertex_ai", "vertex");

static PROVIDERS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| read_providers(PAGE));

/// The kind of a provider in a price list, and what may precede the names of its models there.
pub(super) fn find_kind(listed: &str) -> Option<(&'static str, &str)> {
    let (prefix, kind) = VERTEX;
    if listed.starts_with(prefix) {
        return Some((kind, prefix));
    }
    let found = PROVIDERS.iter().find(|(known, _)| *known == listed);
    found.map(|(_, kind)| (*kind, listed))
}

/// The names in a page, each with its kind.
fn read_providers(page: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut providers = OTHER_NAMES.to_vec();
    for section in page.split("\n## ").skip(1) {
        let prefixes = line_after(section, PREFIXES_START);
        let kind = line_after(section, KIND_START).and_then(|rest| rest.strip_suffix('"'));
        let (Some(prefixes), Some(kind)) = (prefixes, kind) else {
            continue;
        };
        if !OWN_SERVERS.contains(&kind) {
            let prefixes = prefixes.split(", ").map(|prefix| prefix.trim_matches('`'));
            providers.extend(prefixes.map(|prefix| (prefix, kind)));
        }
    }
    providers
}

/// What follows the start of a line.
fn line_after(section: &'static str, start: &str) -> Option<&'static str> {
    section.lines().find_map(|line| line.strip_prefix(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_providers_of_a_price_list_are_those_of_the_page() {
        let page = "# Providers\n\n## New one\n\nA vendor.\n\n- LiteLLM's prefixes: `new`, `new_chat`\n\n\
                    ```toml\n[providers.my-new]\nkind = \"new_one\"\n```\n\n## Ollama\n\n\
                    - LiteLLM's prefixes: `ollama`\n\n```toml\nkind = \"ollama\"\n```\n";
        let expected = [
            ("text-completion-openai", "openai"),
            ("new", "new_one"),
            ("new_chat", "new_one"),
        ];
        assert_eq!(read_providers(page), expected);
    }

    #[test]
    fn every_kind_with_prices_is_found() {
        for (listed, kind, prefix) in [
            ("anthropic", "anthropic", "anthropic"),
            ("bedrock_converse", "bedrock", "bedrock_converse"),
            ("cohere", "cohere", "cohere"),
            ("text-completion-openai", "openai", "text-completion-openai"),
            ("vertex_ai-language-models", "vertex", "vertex_ai"),
            ("xai", "xai", "xai"),
        ] {
            assert_eq!(find_kind(listed), Some((kind, prefix)));
        }
        assert_eq!(find_kind("ollama"), None);
        assert_eq!(find_kind("someone"), None);
        // The page names each kind that LiteLLM has, and all of them were read.
        for section in PAGE.split("\n## ").skip(1) {
            let names = line_after(section, PREFIXES_START).unwrap_or_default();
            let is_own = |kind: &&str| section.contains(&format!("{KIND_START}{kind}\"\n"));
            let is_own = OWN_SERVERS.iter().any(is_own);
            for name in names.split('`').skip(1).step_by(2) {
                assert_eq!(find_kind(name).is_none(), is_own, "{name}");
            }
        }
        for kind in OWN_SERVERS {
            assert!(PAGE.contains(&format!("{KIND_START}{kind}\"\n")), "{kind}");
        }
    }
}
