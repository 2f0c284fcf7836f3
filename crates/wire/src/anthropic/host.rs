//! The hosts of Anthropic's models besides Anthropic.

/// Where an Anthropic model is hosted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnthropicHost {
    /// Bedrock's InvokeModel.
    Bedrock,
    /// Vertex' rawPredict.
    Vertex,
}

impl AnthropicHost {
    /// The version both SDKs sent before the dated API versions.
    pub fn classic_version(self) -> &'static str {
        match self {
            AnthropicHost::Bedrock => "bedrock-2023-05-31",
            AnthropicHost::Vertex => "vertex-2023-10-16",
        }
    }
}
