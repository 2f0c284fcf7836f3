//! The kinds of provider and what is particular to each.

use std::path::PathBuf;

use crate::key::KeySource;

/// The words for the kinds, as configuration files spell them.
pub const PROVIDER_KIND_NAMES: [&str; 7] = [
    "anthropic",
    "openai",
    "azure",
    "bedrock",
    "vertex",
    "gemini",
    "scripted",
];

/// What kind of server a provider is.
#[derive(Debug, Clone)]
pub enum ProviderKind {
    /// Anthropic's API.
    Anthropic(AnthropicOptions),
    /// OpenAI's API, or any server compatible with it.
    OpenAi(OpenAiOptions),
    /// OpenAI models on Azure.
    Azure(AzureOptions),
    /// AWS Bedrock.
    Bedrock(BedrockOptions),
    /// Google Vertex AI: Anthropic's and Google's models.
    Vertex(VertexOptions),
    /// Google's Gemini API.
    Gemini(GeminiOptions),
    /// A model that follows a script; see [`crate::scripted`].
    Scripted(ScriptedOptions),
}

impl ProviderKind {
    /// The word configuration files use.
    pub fn as_str(&self) -> &'static str {
        match self {
            ProviderKind::Anthropic(_) => "anthropic",
            ProviderKind::OpenAi(_) => "openai",
            ProviderKind::Azure(_) => "azure",
            ProviderKind::Bedrock(_) => "bedrock",
            ProviderKind::Vertex(_) => "vertex",
            ProviderKind::Gemini(_) => "gemini",
            ProviderKind::Scripted(_) => "scripted",
        }
    }
}

/// What is particular to Anthropic.
#[derive(Debug, Clone)]
pub struct AnthropicOptions {
    /// The API version sent when the caller names none.
    pub version: String,
}

impl Default for AnthropicOptions {
    fn default() -> Self {
        AnthropicOptions {
            version: "2023-06-01".to_owned(),
        }
    }
}

/// What is particular to a server compatible with OpenAI's.
#[derive(Debug, Clone, Default)]
pub struct OpenAiOptions {
    /// Whether it has `/responses`. Unset: only OpenAI itself does.
    pub responses: Option<bool>,
}

/// What is particular to Azure.
#[derive(Debug, Clone, Default)]
pub struct AzureOptions {
    /// The `api-version` of the classic paths with the deployment in them; without it
    /// the newer `/openai/v1` paths are used.
    pub api_version: Option<String>,
    /// Whether the key is an Entra ID token, sent as `Authorization: Bearer`.
    pub bearer: bool,
}

/// What is particular to Bedrock. An `api_key` is a Bedrock bearer token; without one,
/// requests are signed with AWS keys.
#[derive(Debug, Clone, Default)]
pub struct BedrockOptions {
    /// The region; else `AWS_REGION` or `AWS_DEFAULT_REGION`.
    pub region: Option<String>,
    /// AWS keys; else the usual `AWS_…` variables.
    pub keys: Option<AwsKeys>,
    /// Which of its two APIs to use.
    pub api: BedrockApi,
    /// `anthropic_version` in the body of InvokeModel.
    pub anthropic_version: Option<String>,
}

/// AWS keys.
#[derive(Debug, Clone)]
pub struct AwsKeys {
    /// The access key id.
    pub access_key_id: KeySource,
    /// The secret access key.
    pub secret_access_key: KeySource,
    /// The token of a temporary session.
    pub session_token: Option<KeySource>,
}

/// Bedrock's two ways to call a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BedrockApi {
    /// InvokeModel for Anthropic's models, which loses nothing; Converse for all others.
    #[default]
    Auto,
    /// InvokeModel with Anthropic's body.
    Invoke,
    /// Converse.
    Converse,
}

/// What is particular to Vertex AI. An `api_key` is an OAuth access token (from a file,
/// say, that something else keeps fresh); without one, tokens are fetched with a file of
/// credentials.
#[derive(Debug, Clone, Default)]
pub struct VertexOptions {
    /// A service account's key or a user's credentials, as `gcloud` writes them; else
    /// the file `GOOGLE_APPLICATION_CREDENTIALS` names. Google's metadata server and
    /// workload identity are not asked.
    pub credentials: Option<PathBuf>,
    /// The project; else `VERTEXAI_PROJECT` or `GOOGLE_CLOUD_PROJECT`.
    pub project: Option<String>,
    /// The location; else `VERTEXAI_LOCATION` or `GOOGLE_CLOUD_LOCATION`, else `global`.
    pub location: Option<String>,
    /// `anthropic_version` in the body for Anthropic's models.
    pub anthropic_version: Option<String>,
}

/// What is particular to Gemini.
#[derive(Debug, Clone)]
pub struct GeminiOptions {
    /// The version in the path.
    pub api_version: String,
}

impl Default for GeminiOptions {
    fn default() -> Self {
        GeminiOptions {
            api_version: "v1beta".to_owned(),
        }
    }
}

/// The script of a scripted model.
#[derive(Debug, Clone)]
pub enum ScriptedOptions {
    /// In a file.
    File(PathBuf),
    /// Given as text.
    Text(String),
}
