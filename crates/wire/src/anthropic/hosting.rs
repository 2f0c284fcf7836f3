//! Messages bodies for Bedrock's InvokeModel and for Vertex.
//!
//! Both expect the Messages body without `model` (it is in the path) and with an
//! `anthropic_version`; Bedrock expects no `stream` (it is in the path) and the beta names
//! in the body.

use crate::raw::{Edit, RawObject};

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

/// The body for a host. Values keep their bytes. An existing version is not replaced.
pub fn hosted_body(
    raw: &RawObject<'_>,
    host: AnthropicHost,
    version: &str,
    betas: &[&str],
) -> Vec<u8> {
    let version = serde_json::Value::from(version).to_string();
    let betas_json = serde_json::Value::from(betas).to_string();
    let mut edits = vec![Edit::Remove("model")];
    if raw.get("anthropic_version").is_none() {
        edits.push(Edit::Set("anthropic_version", &version));
    }
    if host == AnthropicHost::Bedrock {
        edits.push(Edit::Remove("stream"));
        if !betas.is_empty() {
            edits.push(Edit::Set("anthropic_beta", &betas_json));
        }
    }
    raw.with_edits(&edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"model":"m","max_tokens":5,"messages":[],"stream":true}"#;

    fn check(host: AnthropicHost, betas: &[&str], expected: &str) {
        let raw = RawObject::parse(BODY).unwrap();
        let body = hosted_body(&raw, host, host.classic_version(), betas);
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }

    #[test]
    fn bedrock_has_no_model_and_no_stream_but_betas() {
        check(
            AnthropicHost::Bedrock,
            &["a", "b"],
            r#"{"max_tokens":5,"messages":[],"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["a","b"]}"#,
        );
    }

    #[test]
    fn vertex_has_no_model_and_keeps_stream() {
        check(
            AnthropicHost::Vertex,
            &["a"],
            r#"{"max_tokens":5,"messages":[],"stream":true,"anthropic_version":"vertex-2023-10-16"}"#,
        );
    }
}
