//! Streams of MCP, when their key is not accepted any more.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use prowess_store::{KeyScope, TenantId};
use serde_json::json;
use tower::ServiceExt;

use crate::client::{Server, TestDialect::OpenAi};

#[tokio::test]
async fn a_stream_of_mcp_ends_with_its_key() {
    let server = Server::new().await;
    let key = server.key("one", &[KeyScope::Read]).await;
    let accepted = "application/json, text/event-stream";
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "tests", "version": "1" },
        },
    });
    let call = server.post(OpenAi, "/mcp").key(&key);
    let started = call.header("accept", accepted).json(&initialize).await;
    let session = started.header("mcp-session-id").unwrap();
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let call = server.post(OpenAi, "/mcp").key(&key);
    let call = call.header("mcp-session-id", session);
    let known = call.header("accept", accepted).json(&initialized).await;
    assert_eq!(known.status, StatusCode::ACCEPTED);
    let request = Request::builder()
        .uri("/mcp")
        .header("host", "localhost")
        .header("x-api-key", &key)
        .header("mcp-session-id", session)
        .header("accept", "text/event-stream")
        .body(Body::empty());
    let stream = server.front.clone().oneshot(request.unwrap()).await;
    let stream = stream.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);
    let store = server.app.store();
    let record = store.authenticate(&key).await.unwrap().unwrap();
    let tenant = TenantId::new("one").unwrap();
    store.revoke_key(&tenant, &record.id).await.unwrap();
    let read = to_bytes(stream.into_body(), usize::MAX);
    let ended = tokio::time::timeout(Duration::from_secs(30), read).await;
    ended.unwrap().unwrap();
}
