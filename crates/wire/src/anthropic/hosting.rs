//! Messages bodies for Bedrock's InvokeModel and for Vertex.
//!
//! Both expect the Messages body without `model` (it is in the path) and with an
//! `anthropic_version`; Bedrock expects no `stream` (it is in the path) and the beta names
//! in the body. Both refuse betas and fields for Anthropic's own servers: `host_betas` and
//! `host_fields` have what they accept.

use serde_json::Value;

use super::host_fields::accepted_body;
use crate::raw::{Edit, RawObject};

pub use super::host::AnthropicHost;

/// The field of the betas.
const BETAS: &str = "anthropic_beta";

/// The body for a host. Values keep their bytes, unless there are fields that it refuses. An
/// existing version is not replaced.
pub fn hosted_body(
    raw: &RawObject<'_>,
    host: AnthropicHost,
    version: &str,
    betas: &[&str],
) -> Vec<u8> {
    let version = Value::from(version).to_string();
    let mut edits = vec![Edit::Remove("model")];
    if raw.get("anthropic_version").is_none() {
        edits.push(Edit::Set("anthropic_version", &version));
    }
    if host == AnthropicHost::Bedrock {
        edits.push(Edit::Remove("stream"));
    }
    let betas = match host {
        AnthropicHost::Bedrock => changed_betas(raw, host, betas),
        AnthropicHost::Vertex => changed_betas(raw, host, &[]),
    };
    edits.extend(betas_edit(betas.as_deref()));
    edited(raw, host, &edits)
}

/// The body for Vertex' counter of tokens, which takes the model from it.
pub fn counted_body(raw: &RawObject<'_>, version: &str) -> Vec<u8> {
    let version = Value::from(version).to_string();
    let mut edits = vec![Edit::Set("anthropic_version", &version)];
    let betas = changed_betas(raw, AnthropicHost::Vertex, &[]);
    edits.extend(betas_edit(betas.as_deref()));
    edited(raw, AnthropicHost::Vertex, &edits)
}

/// As JSON: the betas that a client has named in the body, without those that the host refuses,
/// and these. `None` if that is what the body has.
fn changed_betas(raw: &RawObject<'_>, host: AnthropicHost, more: &[&str]) -> Option<String> {
    let sent: Vec<String> = match raw.get(BETAS).map(serde_json::from_str) {
        Some(Ok(sent)) => sent,
        // No list of names: the host says what is wrong with it.
        Some(Err(_)) if more.is_empty() => return None,
        Some(Err(_)) | None => Vec::new(),
    };
    let known = sent.iter().filter_map(|beta| host.accepted_beta(beta));
    let known = known.map(str::to_owned);
    let mut accepted: Vec<String> = Vec::new();
    for beta in known.chain(more.iter().map(|beta| (*beta).to_owned())) {
        if !accepted.contains(&beta) {
            accepted.push(beta);
        }
    }
    (accepted != sent).then(|| Value::from(accepted).to_string())
}

fn betas_edit(betas: Option<&str>) -> Option<Edit<'_>> {
    match betas? {
        "[]" => Some(Edit::Remove(BETAS)),
        betas => Some(Edit::Set(BETAS, betas)),
    }
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
    fn betas_of_the_body_are_those_that_the_host_accepts() {
        let body = |betas: &str| format!(r#"{{"anthropic_version":"v","anthropic_beta":{betas}}}"#);
        let sent = r#"["claude-code-20250219","context-1m-2025-08-07"]"#;
        let accepted = body(r#"["context-1m-2025-08-07"]"#);
        let both = body(r#"["context-1m-2025-08-07","compact-2026-01-12"]"#);
        let none = r#"{"anthropic_version":"v"}"#.to_owned();
        let header = ["compact-2026-01-12"];
        let no: [&str; 0] = [];
        for (host, betas, more, expected) in [
            (AnthropicHost::Bedrock, sent, &no[..], &accepted),
            (AnthropicHost::Vertex, sent, &no[..], &accepted),
            (AnthropicHost::Bedrock, sent, &header[..], &both),
            (
                AnthropicHost::Bedrock,
                r#"["claude-code-20250219"]"#,
                &no[..],
                &none,
            ),
            // Its form stays as it is, and what is no list is for the host to refuse.
            (
                AnthropicHost::Bedrock,
                r#"[ "compact-2026-01-12" ]"#,
                &header[..],
                &body(r#"[ "compact-2026-01-12" ]"#),
            ),
            (AnthropicHost::Vertex, "3", &no[..], &body("3")),
        ] {
            let text = body(betas);
            let raw = RawObject::parse(text.as_bytes()).unwrap();
            let hosted = hosted_body(&raw, host, "v", more);
            assert_eq!(&String::from_utf8(hosted).unwrap(), expected, "{betas}");
        }
        let text = body(sent);
        let raw = RawObject::parse(text.as_bytes()).unwrap();
        let counted = String::from_utf8(counted_body(&raw, "v")).unwrap();
        assert_eq!(counted, accepted);
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
