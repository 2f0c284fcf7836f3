//! Providers that need no configuration: their key variable is enough.

use crate::config::{
    AnthropicOptions, AzureOptions, BedrockOptions, GeminiOptions, Kind, OpenAiOptions, Policies,
    ProviderConfig, VertexOptions,
};
use crate::env::Env;
use crate::key::KeySource;

/// A provider everybody knows.
#[derive(Debug)]
pub(crate) struct Usual {
    /// Its name, as in `name/model`.
    pub(crate) name: &'static str,
    /// The variables that may hold its key, best first.
    pub(crate) keys: &'static [&'static str],
    /// How the names of its models begin, where that is unmistakable.
    prefixes: &'static [&'static str],
    kind: UsualKind,
}

#[derive(Debug, Clone, Copy)]
enum UsualKind {
    Anthropic,
    OpenAi,
    Compatible(&'static str),
    Ollama,
    Azure,
    Bedrock,
    Vertex,
    Gemini,
}

const fn usual(name: &'static str, keys: &'static [&'static str], kind: UsualKind) -> Usual {
    Usual {
        name,
        keys,
        prefixes: &[],
        kind,
    }
}

const fn compatible(
    name: &'static str,
    keys: &'static [&'static str],
    base: &'static str,
) -> Usual {
    usual(name, keys, UsualKind::Compatible(base))
}

static USUAL: [Usual; 15] = [
    Usual {
        prefixes: &["claude-"],
        ..usual("anthropic", &["ANTHROPIC_API_KEY"], UsualKind::Anthropic)
    },
    Usual {
        prefixes: &["gpt-", "chatgpt-", "codex-", "o1", "o3", "o4-"],
        ..usual("openai", &["OPENAI_API_KEY"], UsualKind::OpenAi)
    },
    Usual {
        prefixes: &["gemini-"],
        ..usual(
            "gemini",
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            UsualKind::Gemini,
        )
    },
    usual(
        "azure",
        &["AZURE_API_KEY", "AZURE_OPENAI_API_KEY"],
        UsualKind::Azure,
    ),
    usual(
        "bedrock",
        &["AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"],
        UsualKind::Bedrock,
    ),
    usual(
        "vertex_ai",
        &[
            "VERTEXAI_ACCESS_TOKEN",
            "GOOGLE_OAUTH_ACCESS_TOKEN",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ],
        UsualKind::Vertex,
    ),
    usual("ollama", &[], UsualKind::Ollama),
    compatible("groq", &["GROQ_API_KEY"], "https://api.groq.com/openai/v1"),
    compatible("mistral", &["MISTRAL_API_KEY"], "https://api.mistral.ai/v1"),
    compatible(
        "openrouter",
        &["OPENROUTER_API_KEY"],
        "https://openrouter.ai/api/v1",
    ),
    compatible(
        "deepseek",
        &["DEEPSEEK_API_KEY"],
        "https://api.deepseek.com/v1",
    ),
    compatible(
        "together_ai",
        &["TOGETHER_API_KEY", "TOGETHERAI_API_KEY"],
        "https://api.together.xyz/v1",
    ),
    compatible(
        "fireworks_ai",
        &["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"],
        "https://api.fireworks.ai/inference/v1",
    ),
    compatible("xai", &["XAI_API_KEY"], "https://api.x.ai/v1"),
    compatible(
        "cerebras",
        &["CEREBRAS_API_KEY"],
        "https://api.cerebras.ai/v1",
    ),
];

/// All of them.
pub(crate) fn all() -> &'static [Usual] {
    &USUAL
}

/// The one of this name.
pub(crate) fn by_name(name: &str) -> Option<&'static Usual> {
    USUAL.iter().find(|usual| usual.name == name)
}

/// The one whose models are called like this.
pub(crate) fn by_model(model: &str) -> Option<&'static Usual> {
    USUAL.iter().find(|usual| {
        let mut prefixes = usual.prefixes.iter();
        prefixes.any(|prefix| model.starts_with(prefix))
    })
}

impl Usual {
    /// Whether it can be called here: it needs no key, or its key is set.
    pub(crate) fn is_ready(&self, env: &Env) -> bool {
        self.keys.is_empty() || env.first(self.keys).is_some()
    }

    /// Its configuration.
    pub(crate) fn config(&self, env: &Env, policies: &Policies) -> ProviderConfig {
        let (kind, base_url) = match self.kind {
            UsualKind::Anthropic => (Kind::Anthropic(AnthropicOptions::default()), None),
            UsualKind::OpenAi => (Kind::OpenAi(OpenAiOptions::default()), None),
            UsualKind::Compatible(base) => (
                Kind::OpenAi(OpenAiOptions::default()),
                Some(base.to_owned()),
            ),
            UsualKind::Ollama => (Kind::OpenAi(OpenAiOptions::default()), Some(ollama(env))),
            UsualKind::Azure => (
                Kind::Azure(AzureOptions {
                    api_version: env.get("AZURE_API_VERSION"),
                    bearer: false,
                }),
                None,
            ),
            UsualKind::Bedrock => (Kind::Bedrock(BedrockOptions::default()), None),
            UsualKind::Vertex => (Kind::Vertex(VertexOptions::default()), None),
            UsualKind::Gemini => (Kind::Gemini(GeminiOptions::default()), None),
        };
        ProviderConfig {
            base_url,
            api_key: usual_key(self.keys, env),
            policies: policies.clone(),
            ..ProviderConfig::new(self.name, kind)
        }
    }
}

/// The variables that usually hold the key of a kind.
pub(crate) fn keys_of(kind: &Kind) -> &'static [&'static str] {
    let name = match kind {
        Kind::Anthropic(_) => "anthropic",
        Kind::OpenAi(_) => "openai",
        Kind::Azure(_) => "azure",
        Kind::Bedrock(_) => "bedrock",
        Kind::Vertex(_) => "vertex_ai",
        Kind::Gemini(_) => "gemini",
        Kind::Scripted(_) => return &[],
    };
    by_name(name).map_or(&[], |usual| usual.keys)
}

/// Variables that say how to get or replace a key, and hold none.
const NO_KEYS: [&str; 2] = ["AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS"];

/// The variable that holds the key. When none is set: the first one, for the message, or
/// nothing, where it also works without a key.
pub(crate) fn usual_key(keys: &[&str], env: &Env) -> Option<KeySource> {
    let mut holders = keys.iter().filter(|name| !NO_KEYS.contains(name));
    let name = match holders.clone().find(|name| env.get(name).is_some()) {
        Some(name) => name,
        None if keys.iter().any(|name| NO_KEYS.contains(name)) => return None,
        None => holders.next()?,
    };
    Some(KeySource::Env((*name).to_owned()))
}

/// Ollama's own variable may lack the scheme.
fn ollama(env: &Env) -> String {
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
