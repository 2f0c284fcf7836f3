//! Tool results without a call: refused before a model is called, except those that pass
//! unchanged.

use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, question};
use crate::gateway::{ClientResponse, Gateway, path};

const PATH: &str = "/v1/responses";

fn output(call_id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": call_id, "output": "sunny"})
}

fn assert_refused(answer: &ClientResponse, call_id: &str) {
    assert_eq!(answer.status, 400, "{}", answer.text());
    let expected = json!({"error": {
        "message": format!("No tool call found for function call output with call_id {call_id}."),
        "type": "invalid_request_error",
        "param": "input",
        "code": "tool-call-not-found",
    }});
    assert_eq!(answer.json(), expected);
}

#[tokio::test]
async fn an_output_without_a_call_is_refused_before_a_model_is_called() {
    let gateway = Gateway::start().await;
    for model in ["oai/m1", "ant/m1", "gem/m1", "stage/hero"] {
        let request = json!({"model": model, "input": [output("call_1")]});
        assert_refused(&gateway.post(PATH, request.to_string()).await, "call_1");
    }
    assert!(gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn an_upstream_of_the_clients_dialect_judges_for_itself() {
    let gateway = Gateway::start().await;
    let tool = json!([{"role": "tool", "tool_call_id": "c", "content": "1"}]);
    let block = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c", "content": "1"}]}]);
    for (client, request) in [
        (
            ClientDialect::Responses,
            json!({"model": "rsp/m1", "input": [output("c")]}),
        ),
        (
            ClientDialect::Chat,
            json!({"model": "oai/m1", "messages": tool}),
        ),
        (
            ClientDialect::Messages,
            json!({"model": "ant/m1", "max_tokens": 9, "messages": block}),
        ),
    ] {
        gateway.upstream.respond(MockResponse::json(200, "{}"));
        gateway.post(path(client), request.to_string()).await;
        let sent: Value =
            serde_json::from_str(gateway.upstream.next_request().await.text()).unwrap();
        for key in ["input", "messages"] {
            assert_eq!(sent.get(key), request.get(key), "{client:?}");
        }
    }
}

#[tokio::test]
async fn a_call_of_the_previous_response_or_conversation_is_found_and_another_is_not() {
    for in_conversation in [false, true] {
        let gateway = Gateway::start().await;
        gateway
            .upstream
            .respond_always(MockResponse::json(200, CHAT));
        let mut request = question(ClientDialect::Responses, "oai/m1", false);
        if in_conversation {
            let conversation = gateway.post("/v1/conversations", "{}").await.json();
            request["conversation"] = conversation["id"].clone();
        }
        let first = gateway.post(PATH, request.to_string()).await.json();
        let mut on = json!({"model": "ant/m1"});
        if in_conversation {
            on["conversation"] = request["conversation"].clone()
        } else {
            on["previous_response_id"] = first["id"].clone()
        }
        gateway.upstream.requests().await;
        on["input"] = json!([output("call_2")]);
        assert_refused(&gateway.post(PATH, on.to_string()).await, "call_2");
        assert!(gateway.upstream.requests().await.is_empty());
        on["model"] = "oai/m1".into();
        on["input"] = json!([output("call_1")]);
        let answer = gateway.post(PATH, on.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

#[tokio::test]
async fn other_dialects_are_refused_in_their_words() {
    let gateway = Gateway::start().await;
    let tool = json!({"model": "ant/m1", "messages": [
        {"role": "tool", "tool_call_id": "c", "content": "1"}]});
    let answer = gateway
        .post(path(ClientDialect::Chat), tool.to_string())
        .await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(answer.json()["error"]["param"], "messages[0].tool_call_id");
    let block = json!({"model": "oai/m1", "max_tokens": 9, "messages": [{"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "1"}]}]});
    let answer = gateway
        .post(path(ClientDialect::Messages), block.to_string())
        .await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
    assert!(gateway.upstream.requests().await.is_empty());
}
