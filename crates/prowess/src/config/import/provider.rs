//! Maps LiteLLM's providers to Prowess's.

use super::secret_text;
use super::settings_tree::SettingFields;

/// A table of `[providers]`. Values are as written in the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ImportedProvider {
    pub(super) kind: &'static str,
    /// Keys and texts, in the order they are written.
    pub(super) texts: Vec<(&'static str, String)>,
    pub(super) numbers: Vec<(&'static str, u64)>,
    pub(super) headers: Vec<(String, String)>,
}

/// A provider of LiteLLM: its prefixes, and its kind in Prowess.
struct KnownProvider {
    prefixes: &'static [&'static str],
    kind: &'static str,
    /// The name of the built-in provider, which needs no entry.
    builtin_name: Option<&'static str>,
}

const fn known_provider(
    prefixes: &'static [&'static str],
    kind: &'static str,
    builtin_name: Option<&'static str>,
) -> KnownProvider {
    KnownProvider {
        prefixes,
        kind,
        builtin_name,
    }
}

static KNOWN_PROVIDERS: [KnownProvider; 18] = [
    known_provider(&["openai"], "openai", Some("openai")),
    known_provider(&["anthropic"], "anthropic", Some("anthropic")),
    known_provider(&["azure"], "azure", Some("azure")),
    known_provider(&["bedrock", "bedrock_converse"], "bedrock", Some("bedrock")),
    known_provider(
        &["vertex_ai", "vertex_ai_beta"],
        "vertex",
        Some("vertex_ai"),
    ),
    known_provider(&["gemini"], "gemini", Some("gemini")),
    known_provider(&["ollama", "ollama_chat"], "openai", Some("ollama")),
    known_provider(&["groq"], "openai", Some("groq")),
    known_provider(&["mistral"], "openai", Some("mistral")),
    known_provider(&["openrouter"], "openai", Some("openrouter")),
    known_provider(&["deepseek"], "openai", Some("deepseek")),
    known_provider(&["together_ai"], "openai", Some("together_ai")),
    known_provider(&["fireworks_ai"], "openai", Some("fireworks_ai")),
    known_provider(&["xai"], "openai", Some("xai")),
    known_provider(&["cerebras"], "openai", Some("cerebras")),
    known_provider(&["hosted_vllm", "vllm"], "openai", None),
    known_provider(
        &["lm_studio", "openai_like", "custom_openai"],
        "openai",
        None,
    ),
    known_provider(&["litellm_proxy", "azure_ai"], "openai", None),
];

/// Base URLs of compatible providers whose entry has none.
const BASE_URLS: [(&str, &str); 8] = [
    ("groq", "https://api.groq.com/openai/v1"),
    ("mistral", "https://api.mistral.ai/v1"),
    ("openrouter", "https://openrouter.ai/api/v1"),
    ("deepseek", "https://api.deepseek.com/v1"),
    ("together_ai", "https://api.together.xyz/v1"),
    ("fireworks_ai", "https://api.fireworks.ai/inference/v1"),
    ("xai", "https://api.x.ai/v1"),
    ("cerebras", "https://api.cerebras.ai/v1"),
];

/// The provider and model of a LiteLLM model.
pub(super) struct ResolvedProvider {
    /// The provider's name in Prowess.
    pub(super) name: &'static str,
    /// The provider's name of the model.
    pub(super) model: String,
    /// Its table; `None` if it needs none.
    pub(super) provider: Option<ImportedProvider>,
}

/// Reads the provider from a model's parameters.
pub(super) fn read(model: &str, fields: &mut SettingFields) -> Result<ResolvedProvider, String> {
    let custom = fields.take_text(&["custom_llm_provider"]);
    let (prefix, model) = match (&custom, model.split_once('/')) {
        (Some(prefix), Some((written, rest))) if prefix == written => (prefix.as_str(), rest),
        (Some(prefix), _) => (prefix.as_str(), model),
        (None, Some((prefix, rest))) if find_provider(prefix).is_some() => (prefix, rest),
        (None, _) => (guess_prefix(model)?, model),
    };
    let known = find_provider(prefix).ok_or_else(|| format!("unknown provider `{prefix}`"))?;
    let mut provider = ImportedProvider {
        kind: known.kind,
        ..ImportedProvider::default()
    };
    let mut model = model.to_owned();
    if known.kind == "bedrock" {
        model = read_bedrock(prefix, &model, &mut provider);
    }
    read_fields(known, fields, &mut provider)?;
    let name = known.builtin_name.unwrap_or(prefix_of(known));
    let bare = provider.texts.is_empty() && provider.numbers.is_empty();
    let provider = match known.builtin_name {
        Some(_) if bare && provider.headers.is_empty() => None,
        _ => Some(complete_provider(known, provider)?),
    };
    Ok(ResolvedProvider {
        name,
        model,
        provider,
    })
}

fn find_provider(prefix: &str) -> Option<&'static KnownProvider> {
    KNOWN_PROVIDERS
        .iter()
        .find(|known| known.prefixes.contains(&prefix))
}

fn prefix_of(known: &KnownProvider) -> &'static str {
    known.prefixes.first().copied().unwrap_or("openai")
}

/// Guesses the provider from a model's name.
fn guess_prefix(model: &str) -> Result<&'static str, String> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    if starts(&["gpt-", "chatgpt-", "o1", "o3", "o4"]) {
        Ok("openai")
    } else if starts(&["claude-"]) {
        Ok("anthropic")
    } else if starts(&["gemini-"]) {
        Ok("vertex_ai")
    } else if model.contains('/') {
        let prefix = model.split('/').next().unwrap_or_default();
        Err(format!("unknown provider `{prefix}`"))
    } else {
        Err(format!("the provider of `{model}` cannot be determined"))
    }
}

/// `bedrock/converse/…`, `bedrock/invoke/…` and `bedrock/REGION/…` have more than a model.
fn read_bedrock(prefix: &str, model: &str, provider: &mut ImportedProvider) -> String {
    let mut rest = model;
    if prefix == "bedrock_converse" {
        provider.texts.push(("api", "converse".to_owned()));
    }
    while let Some((head, tail)) = rest.split_once('/') {
        match head {
            "converse" | "invoke" => provider.texts.push(("api", head.to_owned())),
            region if is_region(region) => provider.texts.push(("region", region.to_owned())),
            _ => break,
        }
        rest = tail;
    }
    rest.to_owned()
}

fn is_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    matches!(parts.as_slice(), [a, .., n] if a.len() == 2 && parts.len() >= 3 && n.len() == 1)
}

fn read_fields(
    known: &KnownProvider,
    fields: &mut SettingFields,
    provider: &mut ImportedProvider,
) -> Result<(), String> {
    if let Some(base) = fields.take_text(&["api_base", "base_url"]) {
        if base.starts_with("os.environ/") {
            return Err("the address must be literal, not from a variable".to_owned());
        }
        provider
            .texts
            .push(("base_url", normalise_address(known, &base)));
    }
    let texts: &[(&'static str, &[&str])] = match known.kind {
        "azure" => &[("api_key", &["api_key"]), ("api_version", &["api_version"])],
        "bedrock" => &[
            ("region", &["aws_region_name"]),
            ("access_key_id", &["aws_access_key_id"]),
            ("secret_access_key", &["aws_secret_access_key"]),
            ("session_token", &["aws_session_token"]),
            ("api_key", &["api_key"]),
        ],
        "vertex" => &[
            ("project", &["vertex_project", "vertex_ai_project"]),
            ("location", &["vertex_location", "vertex_ai_location"]),
            ("credentials", &["vertex_credentials"]),
        ],
        _ => &[("api_key", &["api_key"])],
    };
    for (ours, theirs) in texts {
        if let Some(value) = fields.take_text(theirs) {
            provider.texts.push((ours, check_value(ours, &value)?));
        }
    }
    if let Some(seconds) = fields.take_number("timeout") {
        provider.numbers.push(("answer_seconds", round_up(seconds)));
    }
    if let Some(retries) = fields.take_number("max_retries") {
        provider.numbers.push(("attempts", round_up(retries) + 1));
    }
    provider.headers = fields.take_texts("extra_headers");
    for (_, value) in &mut provider.headers {
        *value = secret_text(value);
    }
    Ok(())
}

/// Only secrets may come from variables.
fn check_value(key: &str, value: &str) -> Result<String, String> {
    let secrets = [
        "api_key",
        "access_key_id",
        "secret_access_key",
        "session_token",
    ];
    match value.strip_prefix("os.environ/") {
        Some(name) if !secrets.contains(&key) => Err(format!(
            "{key} must be literal; it comes from the variable {name}"
        )),
        _ => Ok(secret_text(value)),
    }
}

/// Ollama's address lacks the path of its OpenAI-compatible API.
fn normalise_address(known: &KnownProvider, base: &str) -> String {
    let base = base.trim_end_matches('/');
    match known.builtin_name {
        Some("ollama") if !base.ends_with("/v1") => format!("{base}/v1"),
        _ => base.to_owned(),
    }
}

/// An entry needs a base URL if its kind has no default.
fn complete_provider(
    known: &KnownProvider,
    mut provider: ImportedProvider,
) -> Result<ImportedProvider, String> {
    let has_base = provider.texts.iter().any(|(key, _)| *key == "base_url");
    if has_base || known.kind != "openai" || known.builtin_name == Some("openai") {
        return Ok(provider);
    }
    let mut addresses = BASE_URLS.iter();
    let builtin_address = addresses.find(|(name, _)| known.builtin_name == Some(name));
    match (builtin_address, known.builtin_name) {
        (Some((_, address)), _) => provider
            .texts
            .insert(0, ("base_url", (*address).to_owned())),
        (None, Some("ollama")) => {
            let address = "http://127.0.0.1:11434/v1".to_owned();
            provider.texts.insert(0, ("base_url", address));
        }
        _ => return Err("api_base is missing".to_owned()),
    }
    Ok(provider)
}

fn round_up(number: f64) -> u64 {
    number.max(0.0).ceil() as u64
}
