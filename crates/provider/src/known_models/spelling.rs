//! The spellings of one model's name: with a date, a version, a region, or a path before it.

use crate::kinds::vertex::path_name;

/// Prefixes by which Bedrock routes a model to a group of regions.
const REGIONS: [&str; 9] = [
    "us", "eu", "apac", "ap", "jp", "au", "ca", "us-gov", "global",
];
/// Vendors as OpenRouter names them, and the well-known providers of their models.
const VENDORS: [(&str, &str); 6] = [
    ("anthropic", "anthropic"),
    ("deepseek", "deepseek"),
    ("google", "gemini"),
    ("mistralai", "mistral"),
    ("openai", "openai"),
    ("x-ai", "xai"),
];

/// A name in lower case without path of a resource, region, date and version.
pub(super) fn plain_name(model: &str) -> String {
    let lower = model.to_lowercase();
    let mut name = lower.as_str();
    if let Some((_, last)) = name.rsplit_once("models/") {
        name = last;
    }
    if name.starts_with("arn:") {
        name = name.rsplit('/').next().unwrap_or(name);
    }
    // A fine-tuned model: `ft:MODEL:organization:…`.
    if let Some(base) = name
        .strip_prefix("ft:")
        .and_then(|rest| rest.split(':').next())
    {
        return format!("ft:{}", without_date(base));
    }
    if let Some((region, rest)) = name.split_once('.')
        && REGIONS.contains(&region)
    {
        name = rest;
    }
    if let Some((before, _)) = name.split_once('@') {
        name = before;
    }
    without_date(without_version(name)).to_owned()
}

/// Where else a model may be known, of which this provider has no row by this name: the vendor's
/// own prices hold on these platforms unless the table says otherwise.
pub(super) fn same_model_elsewhere(provider: &str, plain: &str) -> Vec<(&'static str, String)> {
    match provider {
        "azure" => vec![("openai", plain.to_owned())],
        "vertex" => {
            // Models may be named with their vendor there; its own rows come first.
            let name = path_name(plain);
            let providers = ["vertex", "gemini", "anthropic"];
            providers.map(|known| (known, name.to_owned())).into()
        }
        "bedrock" => {
            let claude = plain.strip_prefix("anthropic.").into_iter();
            claude.map(|name| ("anthropic", name.to_owned())).collect()
        }
        "openrouter" => at_vendor(plain).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// `vendor/model` at the vendor itself. A suffix such as `:free` has a price of its own.
fn at_vendor(plain: &str) -> Option<(&'static str, String)> {
    let (vendor, name) = plain.split_once('/')?;
    let (_, provider) = VENDORS.iter().find(|(known, _)| *known == vendor)?;
    let name = match *provider {
        "anthropic" => name.replace('.', "-"),
        _ => name.to_owned(),
    };
    Some((provider, name))
}

/// Without Bedrock's version: `-v1:0`, `-v1`, `:0`.
fn without_version(name: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let name = match name.rsplit_once(':') {
        Some((before, number)) if is_number(number) => before,
        _ => name,
    };
    match name.rsplit_once("-v") {
        // A longer name is part of a vendor's own (`deepseek-v3`): those have no vendor before a
        // dot.
        Some((before, number)) if is_number(number) && before.contains('.') => before,
        _ => name,
    }
}

/// Without a date at its end (`-20250929`, `-2025-08-07`) and without `-latest`.
fn without_date(name: &str) -> &str {
    let name = name.strip_suffix("-latest").unwrap_or(name);
    let digits = |text: &str, count: usize| {
        text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if let Some((before, date)) = name.rsplit_once('-') {
        if digits(date, 8) {
            return before;
        }
        let rest = before.rsplit_once('-').and_then(|(before, month)| {
            let (before, year) = before.rsplit_once('-')?;
            (digits(date, 2) && digits(month, 2) && digits(year, 4)).then_some(before)
        });
        if let Some(before) = rest {
            return before;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_regions_versions_and_paths_are_no_part_of_a_name() {
        for (model, plain) in [
            ("claude-sonnet-4-5", "claude-sonnet-4-5"),
            ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            (
                "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "anthropic.claude-sonnet-4-5",
            ),
            ("anthropic.claude-opus-4-6-v1", "anthropic.claude-opus-4-6"),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-7",
                "anthropic.claude-opus-4-7",
            ),
            ("models/gemini-2.5-pro", "gemini-2.5-pro"),
            ("publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
            ("gpt-5-2025-08-07", "gpt-5"),
            ("gpt-5-chat-latest", "gpt-5-chat"),
            ("deepseek-v3", "deepseek-v3"),
            (
                "Qwen/Qwen3-235B-A22B-fp8-tput",
                "qwen/qwen3-235b-a22b-fp8-tput",
            ),
            ("ft:gpt-4o-2024-08-06:acme::x1", "ft:gpt-4o"),
            ("", ""),
            ("-", "-"),
        ] {
            assert_eq!(plain_name(model), plain, "{model}");
        }
    }
}
