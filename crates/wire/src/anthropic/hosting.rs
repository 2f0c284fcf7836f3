//! Messages bodies for Bedrock's InvokeModel and for Vertex.
//!
//! Both expect the Messages body without `model` (it is in the path) and with an
//! `anthropic_version`; Bedrock expects no `stream` (it is in the path) and the beta names
//! in the body. Both refuse betas and fields for Anthropic's own servers: `host_betas` and
//! `host_fields` have what they accept.

use super::host_fields::accepted_body;
use crate::raw::{Edit, RawObject};

pub use super::host::AnthropicHost;

/// The body for a host. Values keep their bytes, unless there are fields that it refuses. An
/// existing version is not replaced.
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
    edited(raw, host, &edits)
}

/// The body for Vertex' counter of tokens, which takes the model from it.
pub fn counted_body(raw: &RawObject<'_>, version: &str) -> Vec<u8> {
    let version = serde_json::Value::from(version).to_string();
    let edits = [Edit::Set("anthropic_version", &version)];
    edited(raw, AnthropicHost::Vertex, &edits)
}

fn edited(raw: &RawObject<'_>, host: AnthropicHost, edits: &[Edit<'_>]) -> Vec<u8> {
    let accepted = accepted_body(raw, host);
    match accepted.as_deref().map(RawObject::parse) {
        Some(Ok(accepted)) => accepted.with_edits(edits),
        _ => raw.with_edits(edits),
    }
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
    fn a_mark_that_is_refused_is_changed_for_every_request() {
        let scoped = br#"{"model":"m","system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","scope":"global"}}]}"#;
        let raw = RawObject::parse(scoped).unwrap();
        let (host, version) = (AnthropicHost::Vertex, "v");
        for body in [
            hosted_body(&raw, host, version, &[]),
            counted_body(&raw, version),
        ] {
            let body = String::from_utf8(body).unwrap();
            assert!(!body.contains("scope"), "{body}");
            assert!(body.contains("\"anthropic_version\":\"v\""), "{body}");
        }
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
