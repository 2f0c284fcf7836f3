//! The kinds of provider and the options of each.

use std::path::PathBuf;

use crate::key::KeySource;

/// The names of the kinds in configuration files.
pub const PROVIDER_KIND_NAMES: [&str; 7] = [
    "anthropic",
    "openai",
    "azure",
    "bedrock",
    "vertex",
    "gemini",
    "scripted",
];

/// The kind of server a provider is.
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
    /// A scripted model; see [`crate::scripted`].
    Scripted(ScriptedOptions),
}

impl ProviderKind {
    /// The name in configuration files.
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

/// Options of Anthropic.
#[derive(Debug, Clone)]
pub struct AnthropicOptions {
    /// The API version sent when the client names none.
    pub version: String,
}

impl Default for AnthropicOptions {
    fn default() -> Self {
        AnthropicOptions {
            version: "2023-06-01".to_owned(),
        }
    }
}

/// Options of a server compatible with OpenAI's.
#[derive(Debug, Clone, Default)]
pub struct OpenAiOptions {
    /// Whether it has `/responses`. Default: only OpenAI itself does.
    pub responses: Option<bool>,
}

/// Options of Azure.
#[derive(Debug, Clone, Default)]
pub struct AzureOptions {
    /// The `api-version` of the classic paths, which contain the deployment; without it
    /// the newer `/openai/v1` paths are used.
    pub api_version: Option<String>,
    /// Whether the key is an Entra ID token, sent as `Authorization: Bearer`.
    pub bearer: bool,
}

/// Options of Bedrock. An `api_key` is a Bedrock bearer token; without one, requests are
/// signed with AWS keys.
#[derive(Debug, Clone, Default)]
pub struct BedrockOptions {
    /// The region. Default: `AWS_REGION` or `AWS_DEFAULT_REGION`.
    pub region: Option<String>,
    /// AWS keys. Default: the standard `AWS_…` variables.
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

/// Bedrock's two APIs.
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

/// Options of Vertex AI. An `api_key` is an OAuth access token (for example from a file
/// that another process refreshes); without one, tokens are fetched with a credentials
/// file.
#[derive(Debug, Clone, Default)]
pub struct VertexOptions {
    /// A service account key or user credentials, as `gcloud` writes them. Default: the
    /// file named by `GOOGLE_APPLICATION_CREDENTIALS`. Google's metadata server and
    /// workload identity are not supported.
    pub credentials: Option<PathBuf>,
    /// The project. Default: `VERTEXAI_PROJECT` or `GOOGLE_CLOUD_PROJECT`.
    pub project: Option<String>,
    /// The location. Default: `VERTEXAI_LOCATION` or `GOOGLE_CLOUD_LOCATION`, else
    /// `global`.
    pub location: Option<String>,
    /// `anthropic_version` in the body for Anthropic's models.
    pub anthropic_version: Option<String>,
}

/// Options of Gemini.
#[derive(Debug, Clone)]
pub struct GeminiOptions {
    /// The API version in the path.
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
    /// As text.
    Text(String),
}
