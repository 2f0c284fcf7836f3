//! Secrets in requests. They are never stored, so a request that has some cannot be kept.

use std::collections::HashMap;

use prowess_wire::raw::RawObject;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;

/// A server that the provider calls, as a tool in OpenAI's API.
#[derive(Deserialize)]
struct RemoteTool {
    #[serde(rename = "type")]
    kind: Option<String>,
    authorization: Option<IgnoredAny>,
    headers: Option<HashMap<String, IgnoredAny>>,
}

/// The same in Anthropic's API.
#[derive(Deserialize)]
struct RemoteServer {
    authorization_token: Option<IgnoredAny>,
}

/// Whether a request has secrets for domains, or for MCP servers that its provider calls.
pub(crate) fn names_secrets(body: &[u8], raw: &RawObject<'_>) -> bool {
    prowess_engine::names_secrets(body) || has_remote_tokens(raw)
}

fn has_remote_tokens(raw: &RawObject<'_>) -> bool {
    // Most requests have no such tools. A type may be written with escapes.
    let may_be_remote = |tools: &&str| tools.contains("\"mcp\"") || tools.contains("\\u00");
    let tools = raw.get("tools").filter(may_be_remote);
    let has_token = |tool: RemoteTool| {
        let has_headers = tool.headers.is_some_and(|all| !all.is_empty());
        tool.kind.as_deref() == Some("mcp") && (tool.authorization.is_some() || has_headers)
    };
    let has_server_token = |server: RemoteServer| server.authorization_token.is_some();
    tools.is_some_and(|tools| any_item(tools, has_token))
        || raw
            .get("mcp_servers")
            .is_some_and(|servers| any_item(servers, has_server_token))
}

/// Whether an item of a list has a secret. One that is malformed may have one, and hides none of the
/// others. That the list itself is malformed is found later.
fn any_item<T: DeserializeOwned>(list: &str, has_secret: impl Fn(T) -> bool) -> bool {
    let items: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    items
        .iter()
        .any(|item| match serde_json::from_str(item.get()) {
            Ok(item) => has_secret(item),
            Err(_) => true,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_remote_servers_are_secrets() {
        let names = |json: &str| {
            names_secrets(json.as_bytes(), &RawObject::parse(json.as_bytes()).unwrap())
        };
        for json in [
            r#"{"tools":[{"type":"mcp","server_url":"https://a.test","authorization":"x"}]}"#,
            r#"{"tools":[{"type":"function"},{"type":"mcp","headers":{"x-key":"x"}}]}"#,
            r#"{"mcp_servers":[{"url":"https://a.test"},{"authorization_token":"x"}]}"#,
            r#"{"tools":[{"network_policy":{"domain_secrets":[]}}]}"#,
            // In other spellings.
            r#"{"a":"\\","tools":[{"network_policy":{"domain\u005fsecret\u0073":[]}}]}"#,
            r#"{"tools":[{"type":"\u006Dcp","authorization":"x"}]}"#,
            // Beside one that is malformed, or in it.
            r#"{"tools":[{"type":"mcp","authorization":"x"},{"type":7}]}"#,
            r#"{"tools":[{"type":"mcp","type":"mcp","authorization":"x"}]}"#,
            r#"{"mcp_servers":[{"authorization_token":"x"},"y"]}"#,
        ] {
            assert!(names(json), "{json}");
        }
        for json in [
            "{}",
            r#"{"tools":[{"type":"mcp","authorization":null,"headers":{}}]}"#,
            r#"{"tools":[{"type":"function","name":"mcp","headers":{"a":1}},{"type":"mcp"}]}"#,
            r#"{"tools":[{"type":"function","parameters":{"properties":{"authorization":{}}}}]}"#,
            r#"{"mcp_servers":[{"authorization_token":null}],"tools":"mcp"}"#,
            r#"{"input":"\u0022domain\u005fsecrets\" \\u005f","tools":[{"type":"function"}]}"#,
        ] {
            assert!(!names(json), "{json}");
        }
    }
}
