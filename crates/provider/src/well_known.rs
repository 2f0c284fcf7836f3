//! Providers that need no configuration: setting their key variable is enough.

use crate::config::{
    AnthropicOptions, AzureOptions, BedrockOptions, GeminiOptions, OpenAiOptions, Policies,
    ProviderConfig, ProviderKind, VertexOptions,
};
use crate::env::Env;
use crate::key::KeySource;

/// A well-known provider.
#[derive(Debug)]
pub(crate) struct WellKnownProvider {
    /// Its name, as in `name/model`.
    pub(crate) name: &'static str,
    /// The variables that may contain its key, in order of preference.
    pub(crate) key_variables: &'static [&'static str],
    /// Prefixes of its model names, where they are unambiguous.
    model_prefixes: &'static [&'static str],
    kind: WellKnownKind,
}

#[derive(Debug, Clone, Copy)]
enum WellKnownKind {
    Anthropic,
    OpenAi,
    Compatible(&'static str),
    Ollama,
    Azure,
    Bedrock,
    Vertex,
    Gemini,
}

const fn well_known(
    name: &'static str,
    keys: &'static [&'static str],
    kind: WellKnownKind,
) -> WellKnownProvider {
    WellKnownProvider {
        name,
        key_variables: keys,
        model_prefixes: &[],
        kind,
    }
}

const fn openai_compatible(
    name: &'static str,
    keys: &'static [&'static str],
    base: &'static str,
) -> WellKnownProvider {
    well_known(name, keys, WellKnownKind::Compatible(base))
}

static WELL_KNOWN: [WellKnownProvider; 15] = [
    WellKnownProvider {
        model_prefixes: &["claude-"],
        ..well_known(
            "anthropic",
            &["ANTHROPIC_API_KEY"],
            WellKnownKind::Anthropic,
        )
    },
    WellKnownProvider {
        model_prefixes: &["gpt-", "chatgpt-", "codex-", "o1", "o3", "o4-"],
        ..well_known("openai", &["OPENAI_API_KEY"], WellKnownKind::OpenAi)
    },
    WellKnownProvider {
        model_prefixes: &["gemini-"],
        ..well_known(
            "gemini",
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            WellKnownKind::Gemini,
        )
    },
    well_known(
        "azure",
        &["AZURE_API_KEY", "AZURE_OPENAI_API_KEY"],
        WellKnownKind::Azure,
    ),
    well_known(
        "bedrock",
        &["AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"],
        WellKnownKind::Bedrock,
    ),
    well_known(
        "vertex_ai",
        &[
            "VERTEXAI_ACCESS_TOKEN",
            "GOOGLE_OAUTH_ACCESS_TOKEN",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ],
        WellKnownKind::Vertex,
    ),
    well_known("ollama", &[], WellKnownKind::Ollama),
    openai_compatible("groq", &["GROQ_API_KEY"], "https://api.groq.com/openai/v1"),
    openai_compatible("mistral", &["MISTRAL_API_KEY"], "https://api.mistral.ai/v1"),
    openai_compatible(
        "openrouter",
        &["OPENROUTER_API_KEY"],
        "https://openrouter.ai/api/v1",
    ),
    openai_compatible(
        "deepseek",
        &["DEEPSEEK_API_KEY"],
        "https://api.deepseek.com/v1",
    ),
    openai_compatible(
        "together_ai",
        &["TOGETHER_API_KEY", "TOGETHERAI_API_KEY"],
        "https://api.together.xyz/v1",
    ),
    openai_compatible(
        "fireworks_ai",
        &["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"],
        "https://api.fireworks.ai/inference/v1",
    ),
    openai_compatible("xai", &["XAI_API_KEY"], "https://api.x.ai/v1"),
    openai_compatible(
        "cerebras",
        &["CEREBRAS_API_KEY"],
        "https://api.cerebras.ai/v1",
    ),
];

/// All of them.
pub(crate) fn all() -> &'static [WellKnownProvider] {
    &WELL_KNOWN
}

/// The provider with this name.
pub(crate) fn by_name(name: &str) -> Option<&'static WellKnownProvider> {
    WELL_KNOWN.iter().find(|provider| provider.name == name)
}

/// The provider whose model names begin like this.
pub(crate) fn by_model(model: &str) -> Option<&'static WellKnownProvider> {
    WELL_KNOWN.iter().find(|provider| {
        let mut prefixes = provider.model_prefixes.iter();
        prefixes.any(|prefix| model.starts_with(prefix))
    })
}

impl WellKnownProvider {
    /// Whether it can be called: it needs no key, or its key is set.
    pub(crate) fn is_ready(&self, env: &Env) -> bool {
        self.key_variables.is_empty() || env.first(self.key_variables).is_some()
    }

    /// Its configuration.
    pub(crate) fn config(&self, env: &Env, policies: &Policies) -> ProviderConfig {
        let (kind, base_url) = match self.kind {
            WellKnownKind::Anthropic => {
                (ProviderKind::Anthropic(AnthropicOptions::default()), None)
            }
            WellKnownKind::OpenAi => (ProviderKind::OpenAi(OpenAiOptions::default()), None),
            WellKnownKind::Compatible(base) => (
                ProviderKind::OpenAi(OpenAiOptions::default()),
                Some(base.to_owned()),
            ),
            WellKnownKind::Ollama => (
                ProviderKind::OpenAi(OpenAiOptions::default()),
                Some(ollama_base_url(env)),
            ),
            WellKnownKind::Azure => (
                ProviderKind::Azure(AzureOptions {
                    api_version: env.get("AZURE_API_VERSION"),
                    bearer: false,
                }),
                None,
            ),
            WellKnownKind::Bedrock => (ProviderKind::Bedrock(BedrockOptions::default()), None),
            WellKnownKind::Vertex => (ProviderKind::Vertex(VertexOptions::default()), None),
            WellKnownKind::Gemini => (ProviderKind::Gemini(GeminiOptions::default()), None),
        };
        ProviderConfig {
            base_url,
            api_key: key_from_env(self.key_variables, env),
            policies: policies.clone(),
            ..ProviderConfig::new(self.name, kind)
        }
    }
}

/// The variables that contain the key of a kind.
pub(crate) fn key_variables(kind: &ProviderKind) -> &'static [&'static str] {
    let name = match kind {
        ProviderKind::Anthropic(_) => "anthropic",
        ProviderKind::OpenAi(_) => "openai",
        ProviderKind::Azure(_) => "azure",
        ProviderKind::Bedrock(_) => "bedrock",
        ProviderKind::Vertex(_) => "vertex_ai",
        ProviderKind::Gemini(_) => "gemini",
        ProviderKind::Scripted(_) => return &[],
    };
    by_name(name).map_or(&[], |provider| provider.key_variables)
}

/// Variables that are not keys, but a way to obtain or replace one.
const NOT_KEYS: [&str; 2] = ["AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS"];

/// The variable that contains the key. If none is set: the first one, for the error
/// message, or `None` where a key is not required.
pub(crate) fn key_from_env(keys: &[&str], env: &Env) -> Option<KeySource> {
    let mut holders = keys.iter().filter(|name| !NOT_KEYS.contains(name));
    let name = match holders.clone().find(|name| env.get(name).is_some()) {
        Some(name) => name,
        None if keys.iter().any(|name| NOT_KEYS.contains(name)) => return None,
        None => holders.next()?,
    };
    Some(KeySource::Env((*name).to_owned()))
}

/// Ollama's own variable may lack the scheme.
fn ollama_base_url(env: &Env) -> String {
    let host = env
        .get("OLLAMA_HOST")
        .unwrap_or_else(|| "127.0.0.1:11434".to_owned());
    let host = host.trim_end_matches('/');
    if host.contains("://") {
        format!("{host}/v1")
    } else {
        format!("http://{host}/v1")
    }
}
