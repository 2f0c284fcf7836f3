//! Unsupported fields of requests and responses are reported by the client's names.

use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, MESSAGES};
use crate::gateway::{ClientResponse, Gateway, path};

const GEMINI: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Yes."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}"#;

async fn ask(
    gateway: &Gateway,
    client: ClientDialect,
    request: &Value,
    response: MockResponse,
) -> ClientResponse {
    gateway.upstream.respond(response);
    let answer = gateway.post(path(client), request.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer
}

#[tokio::test]
async fn a_chat_client_learns_of_its_own_unsupported_fields() {
    let gateway = Gateway::start().await;
    let mut request = json!({
        "model": "gem/m1", "parallel_tool_calls": false, "logit_bias": {"1": 2},
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello.", "reasoning_content": "A greeting."},
            {"role": "user", "content": "And now?", "name": "ann"}],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}],
    });
    let answer = ask(
        &gateway,
        ClientDialect::Chat,
        &request,
        MockResponse::json(200, GEMINI),
    )
    .await;
    assert_eq!(
        answer.header("prowess-dropped"),
        Some("messages[3].name, messages[2].reasoning_content, parallel_tool_calls, logit_bias")
    );
    request["model"] = "ant/m1".into();
    request["response_format"] = json!({"type": "json_object"});
    let answer = ask(
        &gateway,
        ClientDialect::Chat,
        &request,
        MockResponse::json(200, MESSAGES),
    )
    .await;
    assert_eq!(
        answer.header("prowess-dropped"),
        Some("messages[2].reasoning_content, messages[3].name, response_format, logit_bias")
    );
}

#[tokio::test]
async fn a_responses_client_learns_of_its_own_unsupported_fields() {
    let gateway = Gateway::start().await;
    let request = json!({
        "model": "gem/m1", "instructions": "Be kind.", "parallel_tool_calls": false,
        "store": false, "truncation": "auto",
        "input": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"},
                {"type": "input_image", "image_url": "https://e.com/a.png", "detail": "low"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "And now?"}],
        "tools": [{"type": "function", "name": "look", "parameters": {}, "strict": true}],
    });
    let answer = ask(
        &gateway,
        ClientDialect::Responses,
        &request,
        MockResponse::json(200, GEMINI),
    )
    .await;
    assert_eq!(
        answer.header("prowess-dropped"),
        Some(
            "input[1].content[1].detail, input[2], tools[0].strict, parallel_tool_calls, \
             truncation"
        )
    );
}

#[tokio::test]
async fn a_messages_client_learns_of_its_own_unsupported_fields() {
    let gateway = Gateway::start().await;
    let request = json!({
        "model": "oai/m1", "max_tokens": 9, "top_k": 5, "metadata": {"user_id": "u", "x": 1},
        "messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "A greeting.", "signature": "s"},
                {"type": "text", "text": "Hello.", "cache_control": {"type": "ephemeral"}}]},
            {"role": "user", "content": "And now?"}],
    });
    let answer = ask(
        &gateway,
        ClientDialect::Messages,
        &request,
        MockResponse::json(200, CHAT),
    )
    .await;
    assert_eq!(
        answer.header("prowess-dropped"),
        Some("messages[1].content[0], messages[1].content[1].cache_control, top_k, metadata.x")
    );
}

#[tokio::test]
async fn what_is_refused_is_named_as_the_client_sent_it() {
    let gateway = Gateway::start().await;
    let odd = json!({"type": "x_odd", "x": 1});
    for (client, model, request, field) in [
        (
            ClientDialect::Chat,
            "ant/m1",
            json!({"messages": [{"role": "system", "content": "Be kind."},
                {"role": "user", "content": [{"type": "text", "text": "Hi"}, odd]}]}),
            "messages[1].content[1]",
        ),
        (
            ClientDialect::Responses,
            "ant/m1",
            json!({"instructions": "Be kind.", "input": [{"role": "user", "content": "Hi"},
                {"role": "user", "content": [odd]}]}),
            "input[1].content[0]",
        ),
        (
            ClientDialect::Messages,
            "gem/m1",
            json!({"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"},
                {"role": "user", "content": [odd]}]}),
            "messages[1].content[0]",
        ),
        (
            ClientDialect::Chat,
            "gem/m1",
            json!({"response_format": {"type": "x_odd"},
                "messages": [{"role": "user", "content": "Hi"}]}),
            "response_format",
        ),
    ] {
        let mut request = request;
        request["model"] = model.into();
        let answer = gateway.post(path(client), request.to_string()).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
        let error = &answer.json()["error"];
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("{field}: ")), "{message}");
        if client != ClientDialect::Messages {
            assert_eq!(error["param"], field);
        }
    }
}

#[tokio::test]
async fn items_of_an_earlier_answer_are_not_counted_among_the_clients() {
    let gateway = Gateway::start().await;
    let first = json!({"model": "oai/m1", "input": "Weather?"});
    let first = ask(
        &gateway,
        ClientDialect::Responses,
        &first,
        MockResponse::json(200, CHAT),
    )
    .await;
    let id = first.json()["id"].as_str().unwrap().to_owned();
    let mut next = json!({"model": "gem/m1", "previous_response_id": id, "input": [
        {"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
        {"role": "user", "content": [{"type": "input_text", "text": "And?", "x": 1}]}]});
    let answer = ask(
        &gateway,
        ClientDialect::Responses,
        &next,
        MockResponse::json(200, GEMINI),
    )
    .await;
    assert_eq!(
        answer.header("prowess-dropped"),
        Some("input[1].content[0].x")
    );
    next["input"][1]["content"] = json!([{"type": "x_odd"}]);
    let refused = gateway.post("/v1/responses", next.to_string()).await;
    assert_eq!(refused.json()["error"]["param"], "input[1].content[0]");

    // The fields of the earlier request are named by the response that this one continues
    // from.
    let first = json!({"model": "rsp/m1", "input": [{"role": "user", "content": "Hi"},
        {"role": "user", "content": [{"type": "x_odd", "x": 1}]}]});
    let first = ask_with_stored_history(&gateway, &first).await;
    let next = json!({"model": "gem/m1", "previous_response_id": first, "input": "And?"});
    let refused = gateway.post("/v1/responses", next.to_string()).await;
    let error = &refused.json()["error"];
    assert_eq!(error["param"], "previous_response_id", "{}", refused.text());
}

/// A stored response to a request that only Responses can express.
async fn ask_with_stored_history(gateway: &Gateway, request: &Value) -> String {
    let store = gateway.app.store();
    let tenant = prowess_store::TenantId::new("default").unwrap();
    let conversation = request["input"].to_string();
    let new = prowess_store::NewResponse {
        id: "resp_kept",
        conversation: &conversation,
        response: r#"{"id":"resp_kept","output":[]}"#,
        items: &[],
        expires_in: std::time::Duration::from_secs(60),
    };
    store.save_response(&tenant, &new).await.unwrap();
    "resp_kept".to_owned()
}

const WITH_SEARCH: &str = r#"{"id":"msg_up","type":"message","role":"assistant","model":"m1","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},{"type":"text","text":"Found.","citations":[{"type":"x"}]}],"stop_reason":"end_turn","stop_sequence":null,"context_management":{"applied_edits":[1]},"usage":{"input_tokens":30,"output_tokens":10}}"#;

#[tokio::test]
async fn unsupported_fields_of_the_answer_are_named_too() {
    let gateway = Gateway::start().await;
    let request = json!({"model": "ant/m1", "logit_bias": {"1": 1},
        "messages": [{"role": "user", "content": "Search."}]});
    let answer = ask(
        &gateway,
        ClientDialect::Chat,
        &request,
        MockResponse::json(200, WITH_SEARCH),
    )
    .await;
    assert_eq!(
        answer.header("prowess-dropped"),
        Some(
            "logit_bias, response.content[0], response.content[1].citations, \
             response.context_management"
        )
    );
    let plain = json!({"model": "ant/m1", "messages": [{"role": "user", "content": "Hi"}]});
    let answer = ask(
        &gateway,
        ClientDialect::Chat,
        &plain,
        MockResponse::json(200, MESSAGES),
    )
    .await;
    assert_eq!(answer.header("prowess-dropped"), None);
}

const WITH_SEARCH_STREAM: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_up\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m1\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":30,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"server_tool_use\",\"id\":\"srvtoolu_1\",\"name\":\"web_search\",\"input\":{}}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Found.\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":10}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

#[tokio::test]
async fn a_stream_names_what_it_left_out_in_a_comment_before_its_end() {
    let gateway = Gateway::start().await;
    let request = json!({"model": "ant/m1", "stream": true, "logit_bias": {"1": 1},
        "messages": [{"role": "user", "content": "Search."}]});
    let response = MockResponse::sse(WITH_SEARCH_STREAM).in_chunks(50);
    let answer = ask(&gateway, ClientDialect::Chat, &request, response).await;
    assert_eq!(answer.header("prowess-dropped"), Some("logit_bias"));
    let comments: Vec<_> = answer
        .text()
        .split("\n\n")
        .filter(|event| event.starts_with(':'))
        .collect();
    assert_eq!(comments, [": prowess-dropped: response.content[0]"]);
    assert!(
        answer.text().ends_with("data: [DONE]\n\n"),
        "{}",
        answer.text()
    );
}
