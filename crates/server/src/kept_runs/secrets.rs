//! Secrets in requests. They are never stored, so a request that has some cannot be kept.

use std::collections::HashMap;

use prowess_wire::raw::RawObject;
use serde::Deserialize;
use serde::de::IgnoredAny;

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
    // Most requests have no such tools.
    let tools = raw.get("tools").filter(|tools| tools.contains("\"mcp\""));
    let tools: Vec<RemoteTool> = tools.map(parse_list).unwrap_or_default();
    let has_token = |tool: &RemoteTool| {
        let has_headers = tool.headers.as_ref().is_some_and(|all| !all.is_empty());
        tool.kind.as_deref() == Some("mcp") && (tool.authorization.is_some() || has_headers)
    };
    let servers = raw.get("mcp_servers");
    let servers: Vec<RemoteServer> = servers.map(parse_list).unwrap_or_default();
    tools.iter().any(has_token)
        || servers
            .iter()
            .any(|server| server.authorization_token.is_some())
}

/// A list; empty if it is malformed, which is found later.
fn parse_list<'a, T: Deserialize<'a>>(json: &'a str) -> Vec<T> {
    serde_json::from_str(json).unwrap_or_default()
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
        ] {
            assert!(names(json), "{json}");
        }
        for json in [
            "{}",
            r#"{"tools":[{"type":"mcp","authorization":null,"headers":{}}]}"#,
            r#"{"tools":[{"type":"function","name":"mcp","headers":{"a":1}},{"type":"mcp"}]}"#,
            r#"{"tools":[{"type":"function","parameters":{"properties":{"authorization":{}}}}]}"#,
            r#"{"mcp_servers":[{"authorization_token":null}],"tools":"mcp"}"#,
        ] {
            assert!(!names(json), "{json}");
        }
    }
}
