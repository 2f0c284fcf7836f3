//! The memory of responses over MCP: a client that reads none of them does not fill it.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::response::Response;
use prowess_server::ServerSettings;
use prowess_store::KeyScope;
use prowess_testkit::SkillFixture;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::client::{Form, Server, TestDialect};

/// A server whose tenants have 2 MiB of memory for bodies, and the key of one.
async fn start() -> (Server, String) {
    let mut settings = ServerSettings {
        body_bytes_in_flight: 4 << 20,
        request_bytes: 1 << 20,
        ..ServerSettings::default()
    };
    settings.skill_limits.total_bytes = 1 << 20;
    settings.skill_limits.archive_bytes = 1 << 20;
    let server = Server::with(settings).await;
    let key = server.key("one", &[KeyScope::Publish]).await;
    (server, key)
}

async fn upload(server: &Server, key: &str, skill: &SkillFixture) {
    let call = server.post(TestDialect::OpenAi, "/v1/skills").key(key);
    call.form(&Form::skill(skill)).await.ok();
}

/// Sends a message of a client without sessions. The response has begun, and nothing of it was
/// read.
async fn send(server: &Server, key: &str, method: &str, mut params: Value) -> Response {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("x-api-key", key)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = params["name"].as_str() {
        request = request.header("mcp-name", name);
    }
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = request.body(Body::from(message.to_string())).unwrap();
    server.front.clone().oneshot(request).await.unwrap()
}

/// The result in a response, which is one event.
async fn result(response: Response) -> Value {
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let data = lines.find(|data| !data.trim().is_empty());
    let mut message: Value = serde_json::from_str(data.unwrap_or(&text)).unwrap();
    assert!(message["result"].is_object(), "{message}");
    message["result"].take()
}

#[tokio::test]
async fn files_that_tools_return_count_until_they_were_read() {
    let (server, key) = start().await;
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    picture.resize(300_000, 0xff);
    let skill = SkillFixture::new("picture").file("big.png", picture);
    upload(&server, &key, &skill).await;
    let other = server.key("other", &[KeyScope::Publish]).await;
    upload(&server, &other, &skill).await;
    let call = async |key: &str| {
        let arguments = json!({ "name": "picture", "path": "big.png" });
        let params = json!({ "name": "load_skill", "arguments": arguments });
        send(&server, key, "tools/call", params).await
    };
    let unread = call(&key).await;
    let refused = result(call(&key).await).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("No memory is left"), "{text}");
    let others = result(call(&other).await).await;
    assert_eq!(others["content"][0]["type"], "image");
    drop(unread);
    let read = result(call(&key).await).await;
    assert_eq!(read["content"][0]["type"], "image");
}

#[tokio::test]
async fn a_page_of_a_list_is_small_whatever_a_frontmatter_has() {
    let (server, key) = start().await;
    let long = "x".repeat(125_000);
    for name in ["a", "b", "c", "d", "e"] {
        let skill = SkillFixture::new(name).field("license", &long);
        upload(&server, &key, &skill.field("argument-hint", &long)).await;
    }
    let mut sizes = Vec::new();
    let mut params = json!({});
    loop {
        let page = result(send(&server, &key, "skills/list", params).await).await;
        sizes.push(page["skills"].as_array().unwrap().len());
        let Some(next) = page["nextCursor"].as_str() else {
            break;
        };
        params = json!({ "cursor": next });
    }
    assert_eq!(sizes, [3, 2]);
    let listed = result(send(&server, &key, "prompts/list", json!({})).await).await;
    let prompts = listed["prompts"].as_array().unwrap();
    assert_eq!(prompts.len(), 5);
    let hint = prompts[0]["arguments"][0]["description"].as_str().unwrap();
    assert!(hint.len() < 2_000 && hint.ends_with('…'), "{}", hint.len());
}
