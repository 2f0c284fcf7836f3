//! Input items that only name an item of an earlier response.

use prowess_store::{KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, CHAT_STREAM, MESSAGES, MESSAGES_STREAM, question};
use crate::gateway::{Gateway, masked};

const PATH: &str = "/v1/responses";

/// The response in the last event of a stream.
fn last_response(text: &str) -> Value {
    let data = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("data: "));
    let event: Value = serde_json::from_str(data.unwrap()).unwrap();
    event["response"].clone()
}

fn reference(id: &Value) -> Value {
    json!({"type": "item_reference", "id": id})
}

/// The second step of a loop as the Vercel AI SDK sends it: the model's message and call by
/// reference, and the call's result.
fn second_step(model: &str, output: &Value) -> Value {
    let mut input = vec![json!({"role": "user", "content": "Weather in Bern?"})];
    input.extend(
        output
            .as_array()
            .unwrap()
            .iter()
            .map(|item| reference(&item["id"])),
    );
    let call_id = &output[1]["call_id"];
    input.push(json!({"type": "function_call_output", "call_id": call_id, "output": "sunny"}));
    json!({"model": model, "input": input})
}

async fn sent(gateway: &Gateway) -> Value {
    serde_json::from_str(gateway.upstream.next_request().await.text()).unwrap()
}

#[tokio::test]
async fn a_loop_by_reference_goes_on_whole_and_streamed_with_each_vendor() {
    for (model, whole, stream) in [
        ("ant/m1", MESSAGES, MESSAGES_STREAM),
        ("oai/m1", CHAT, CHAT_STREAM),
    ] {
        for streamed in [false, true] {
            let gateway = Gateway::start().await;
            gateway.upstream.respond(if streamed {
                MockResponse::sse(stream)
            } else {
                MockResponse::json(200, whole)
            });
            let request = question(ClientDialect::Responses, model, streamed).to_string();
            let first = gateway.post(PATH, request).await;
            let first = if streamed {
                last_response(first.text())
            } else {
                first.json()
            };
            gateway.upstream.next_request().await;
            gateway.upstream.respond(MockResponse::json(200, whole));
            let on = second_step(model, &first["output"]);
            let second = gateway.post(PATH, on.to_string()).await;
            assert_eq!(second.status, 200, "{model}: {}", second.text());
            let sent = sent(&gateway).await;
            let name = format!("by_reference_{}", &model[..3]);
            insta::assert_json_snapshot!(name, sent["messages"]);
        }
    }
}

#[tokio::test]
async fn an_id_alone_is_a_reference_too() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, CHAT));
    let request = question(ClientDialect::Responses, "oai/m1", false).to_string();
    let first = gateway.post(PATH, request).await.json();
    sent(&gateway).await;
    let mut on = second_step("oai/m1", &first["output"]);
    on["input"][1] = json!({"id": first["output"][0]["id"]});
    on["input"][2] = json!({"id": first["output"][1]["id"], "type": null});
    let second = gateway.post(PATH, on.to_string()).await;
    assert_eq!(second.status, 200, "{}", second.text());
    let messages = &sent(&gateway).await["messages"];
    assert_eq!(messages[1]["content"], "Looking.");
    assert_eq!(messages[1]["tool_calls"][0]["id"], "call_1");
}

#[tokio::test]
async fn an_unknown_reference_is_a_404_that_names_its_place() {
    let gateway = Gateway::start().await;
    let mut request = json!({
        "model": "oai/m1",
        "input": [{"role": "user", "content": "hi"}, {"type": "item_reference", "id": "msg_x"}],
    });
    let answer = gateway.post(PATH, request.to_string()).await;
    insta::assert_snapshot!("unknown_reference", masked(&answer.render()));
    request["store"] = false.into();
    let answer = gateway.post(PATH, request.to_string()).await;
    assert_eq!(answer.status, 404);
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("`store` is set to false"), "{message}");
    assert!(gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn an_item_of_an_answer_that_was_not_stored_is_not_found() {
    let gateway = Gateway::start().await;
    let request = json!({"model": "stage/hero", "input": "Hello", "store": false});
    let answer = gateway.post(PATH, request.to_string()).await.json();
    let input = json!([reference(&answer["output"][0]["id"])]);
    let on = json!({"model": "stage/hero", "input": input, "store": false});
    let answer = gateway.post(PATH, on.to_string()).await;
    assert_eq!(answer.status, 404, "{}", answer.text());
    assert_eq!(answer.json()["error"]["param"], "input[0]");
}

#[tokio::test]
async fn an_item_of_another_tenant_is_not_found() {
    let gateway = Gateway::start().await;
    let one = gateway
        .key("one", KeyScope::Use, &KeyLimits::default())
        .await;
    let two = gateway
        .key("two", KeyScope::Use, &KeyLimits::default())
        .await;
    let request = json!({"model": "stage/hero", "input": "Hello"}).to_string();
    let first = gateway.send(PATH, &[("x-api-key", &one)], request).await;
    let input = json!([
        reference(&first.json()["output"][0]["id"]),
        {"role": "user", "content": "And?"},
    ]);
    let on = json!({"model": "stage/hero", "input": input}).to_string();
    let theirs = gateway.send(PATH, &[("x-api-key", &two)], on.clone()).await;
    assert_eq!(theirs.status, 404, "{}", theirs.text());
    let own = gateway.send(PATH, &[("x-api-key", &one)], on).await;
    assert_eq!(own.status, 200, "{}", own.text());
}

#[tokio::test]
async fn an_upstream_that_keeps_its_own_gets_its_references_untouched_and_ours_as_items() {
    let gateway = Gateway::start().await;
    let body = r#"{"id":"resp_up","object":"response","output":[]}"#;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, body));
    let theirs = json!({
        "model": "rsp/m1",
        "input": [{"type": "item_reference", "id": "msg_theirs"}, {"id": "rs_theirs"}],
    });
    let answer = gateway.post(PATH, theirs.to_string()).await;
    assert_eq!(answer.text(), body);
    let passed = gateway.upstream.next_request().await;
    assert_eq!(passed.text(), theirs.to_string().replace("rsp/m1", "m1"));

    let request = json!({"model": "stage/hero", "input": "Hello"}).to_string();
    let ours = gateway.post(PATH, request).await.json();
    let mut mixed = theirs;
    let ours = reference(&ours["output"][0]["id"]);
    mixed["input"].as_array_mut().unwrap().push(ours);
    gateway.post(PATH, mixed.to_string()).await;
    let sent = sent(&gateway).await;
    assert_eq!(sent["input"][0]["id"], "msg_theirs");
    assert_eq!(sent["input"][1]["id"], "rs_theirs");
    assert_eq!(sent["input"][2]["content"][0]["text"], "You said: Hello");
    assert_eq!(sent["input"][2].get("id"), None);
}

#[tokio::test]
async fn a_deleted_answer_takes_its_items_along() {
    let gateway = Gateway::start().await;
    let request = json!({"model": "stage/hero", "input": "Hello"}).to_string();
    let first = gateway.post(PATH, request).await.json();
    let path = format!("{PATH}/{}", first["id"].as_str().unwrap());
    assert_eq!(gateway.delete(&path, &[]).await.status, 200);
    let on = json!({"model": "stage/hero", "input": [reference(&first["output"][0]["id"])]});
    assert_eq!(gateway.post(PATH, on.to_string()).await.status, 404);
}

#[tokio::test]
async fn references_are_bounded() {
    let gateway = Gateway::start().await;
    let input = vec![json!({"id": "msg_x"}); 2_001];
    let request = json!({"model": "stage/hero", "input": input}).to_string();
    let answer = gateway.post(PATH, request).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(answer.json()["error"]["param"], "input");
}
