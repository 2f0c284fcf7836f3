//! Compacted conversations, and continuing from them.

use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, question};
use crate::gateway::{Gateway, masked};

const PATH: &str = "/v1/responses/compact";

#[tokio::test]
async fn a_conversation_is_summarised_and_the_summary_read_by_any_provider() {
    let gateway = Gateway::start().await;
    let summary = CHAT.replace("Looking.", "They talked about Bern.");
    gateway.upstream.respond(MockResponse::json(200, &summary));
    let request = json!({
        "model": "oai/m1", "instructions": "Be kind.",
        "input": [
            {"role": "user", "content": "Weather in Bern?"},
            {"type": "function_call", "call_id": "c", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "sunny"},
        ],
    });
    let compacted = gateway.post(PATH, request.to_string()).await;
    let mut shown = compacted.json();
    let encoded = shown["output"][1]["encrypted_content"].take();
    insta::assert_snapshot!(
        "compacted",
        masked(&serde_json::to_string_pretty(&shown).unwrap())
    );
    assert!(!encoded.as_str().unwrap().contains("Bern"));
    let sent: Value = serde_json::from_str(gateway.upstream.next_request().await.text()).unwrap();
    insta::assert_json_snapshot!("summary_request", sent["messages"][1]);
    assert_eq!(sent.get("tools"), None);

    let mut input = compacted.json()["output"].as_array().unwrap().clone();
    input.push(json!({"role": "user", "content": "And tomorrow?"}));
    for model in ["oai/m1", "ant/m1", "rsp/m1"] {
        gateway.upstream.respond(MockResponse::json(200, CHAT));
        let on = json!({"model": model, "input": input}).to_string();
        gateway.post("/v1/responses", on).await;
        let sent = gateway.upstream.next_request().await;
        let sent = sent.text();
        assert!(sent.contains("They talked about Bern."), "{model}: {sent}");
        assert!(!sent.contains("compaction"), "{model}: {sent}");
    }
}

#[tokio::test]
async fn what_goes_on_from_a_stored_answer_is_compacted_with_it() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, CHAT));
    let request = question(ClientDialect::Responses, "oai/m1", false).to_string();
    let first = gateway.post("/v1/responses", request).await.json();
    gateway.upstream.next_request().await;
    let on = json!({"model": "oai/m1", "previous_response_id": first["id"]});
    let compacted = gateway.post(PATH, on.to_string()).await;
    assert_eq!(compacted.status, 200, "{}", compacted.text());
    let sent = gateway.upstream.next_request().await;
    assert!(sent.text().contains("Weather in Bern?"));
    assert!(sent.text().contains("Looking."));
}

#[tokio::test]
async fn a_compaction_without_anything_to_compact_is_refused() {
    let gateway = Gateway::start().await;
    let answer = gateway.post(PATH, r#"{"model":"oai/m1"}"#).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    let unknown = json!({"model": "oai/m1", "previous_response_id": "resp_none"});
    let answer = gateway.post(PATH, unknown.to_string()).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    gateway
        .upstream
        .respond_always(MockResponse::json(500, "{}"));
    let request = json!({"model": "oai/m1", "input": "Hi"}).to_string();
    assert!(gateway.post(PATH, request).await.status.is_server_error());
}

#[tokio::test]
async fn a_compaction_is_counted_as_what_it_used() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, CHAT));
    let request = json!({"model": "oai/m1", "input": "Hi"}).to_string();
    let compacted = gateway.post(PATH, request).await.json();
    assert_eq!(compacted["usage"]["input_tokens"], 30);
    gateway.app.flush().await;
    let usage = gateway.get("/v1/usage?since=1d", &[]).await;
    assert!(usage.text().contains("30"), "{}", usage.text());
}
