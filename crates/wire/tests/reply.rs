//! What has to be remembered from a request to its response is remembered.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use prowess_wire::{
    ClientDialect, Dialect, ReplyContext, StreamReader, StreamWriter, WriteOptions, read_request,
    read_response, write_request, write_response,
};
use serde_json::{Value, json};
use support::file;

/// The response a client gets, whole, to its request and an upstream's response.
fn whole(client: ClientDialect, request: &[u8], upstream: Dialect, answer: &Value) -> Value {
    let request = read_request(client, request).unwrap();
    let sent = write_request(upstream, &request, &WriteOptions::default()).unwrap();
    let context = sent.context.with_id("msg_1");
    let response = read_response(upstream, answer.to_string().as_bytes(), &context).unwrap();
    write_response(client, &response, &ReplyContext::for_request(&request, 7)).0
}

/// The same, streamed: the data of every event.
fn streamed(client: ClientDialect, request: &[u8], upstream: Dialect, answer: &str) -> Vec<Value> {
    let request = read_request(client, request).unwrap();
    let sent = write_request(upstream, &request, &WriteOptions::default()).unwrap();
    let mut reader = StreamReader::new(upstream, sent.context.with_id("msg_1"));
    let mut writer = StreamWriter::new(client, ReplyContext::for_request(&request, 7));
    let mut out = Vec::new();
    let mut events = reader.push(answer.as_bytes());
    events.extend(reader.finish());
    for event in events {
        writer.write(&event, &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    text.lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect()
}

#[test]
fn a_tool_gets_its_own_name_back() {
    let request = file("requests/messages/odd_names.json");
    let call = json!({"name": "t_files_read_all_18936d67", "args": {}});
    let answer = json!({"candidates": [{"content": {"parts": [{"functionCall": call}]}, "finishReason": "STOP"}]});
    let body = whole(ClientDialect::Messages, &request, Dialect::Gemini, &answer);
    assert_eq!(body["content"][0]["name"], "files/read.all");
    let events = streamed(
        ClientDialect::Messages,
        &request,
        Dialect::Gemini,
        &format!("data: {answer}\n\n"),
    );
    assert_eq!(events[1]["content_block"]["name"], "files/read.all");
}

#[test]
fn a_free_form_tool_is_called_with_text_whatever_model_answers() {
    let request = file("requests/responses/free_form_tool.json");
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "apply_patch", "input": {"input": "+x"}});
    let answer =
        json!({"id": "msg_1", "model": "c", "content": [block], "stop_reason": "tool_use"});
    let body = whole(
        ClientDialect::Responses,
        &request,
        Dialect::Messages,
        &answer,
    );
    let item = &body["output"][0];
    assert_eq!(
        (&item["type"], &item["call_id"], &item["input"]),
        (&json!("custom_tool_call"), &json!("toolu_1"), &json!("+x"))
    );

    let request = file("requests/chat/free_form_tool.json");
    let stream = String::from_utf8(file("streams/chat/free_form_call.sse")).unwrap();
    let chunks = streamed(ClientDialect::Chat, &request, Dialect::Chat, &stream);
    let delta = |at: usize| &chunks[at]["choices"][0]["delta"]["tool_calls"][0]["custom"];
    assert_eq!(delta(1), &json!({"name": "apply_patch", "input": ""}));
    assert_eq!(delta(2), &json!({"input": "*** \"B\n+x"}));
}

#[test]
fn a_response_repeats_the_settings_of_its_request() {
    let request = file("requests/responses/every_setting.json");
    let answer = json!({"id": "chatcmpl-1", "model": "other", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]});
    let body = whole(ClientDialect::Responses, &request, Dialect::Chat, &answer);
    let sent: Value = serde_json::from_slice(&request).unwrap();
    for same in [
        "model",
        "instructions",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "metadata",
        "store",
        "reasoning",
        "text",
        "temperature",
        "top_p",
        "truncation",
        "max_output_tokens",
        "user",
    ] {
        assert_eq!(body[same], sent[same], "{same}");
    }
    assert_eq!(body["created_at"], 7);
    assert_eq!(body["id"], "resp_chatcmpl-1");
}

#[test]
fn a_chat_stream_reports_its_usage_only_on_request() {
    let stream = String::from_utf8(file("streams/chat/text.sse")).unwrap();
    for include_usage in [false, true] {
        let request = json!({"model": "m", "stream": true, "messages": [], "stream_options": {"include_usage": include_usage}});
        let request = request.to_string();
        let chunks = streamed(
            ClientDialect::Chat,
            request.as_bytes(),
            Dialect::Chat,
            &stream,
        );
        let has_usage = chunks.iter().any(|chunk| chunk["usage"].is_object());
        assert_eq!(has_usage, include_usage);
    }
}

#[test]
fn stop_sequences_work_where_the_upstream_has_none() {
    let request = br#"{"model":"m","max_tokens":9,"stop_sequences":["STOP"],"messages":[{"role":"user","content":"x"}]}"#;
    let text = json!({"type": "output_text", "text": "abSTOPcd"});
    let answer = json!({"id": "resp_1", "status": "completed", "usage": {"output_tokens": 5},
        "output": [{"type": "message", "role": "assistant", "content": [text]}]});
    let body = whole(
        ClientDialect::Messages,
        request,
        Dialect::Responses,
        &answer,
    );
    assert_eq!(body["content"], json!([{"type": "text", "text": "ab"}]));
    assert_eq!(
        (&body["stop_reason"], &body["stop_sequence"]),
        (&json!("stop_sequence"), &json!("STOP"))
    );

    let delta = |text: &str| {
        let event = json!({"type": "response.output_text.delta", "delta": text});
        format!("data: {event}\n\n")
    };
    let done = json!({"type": "response.completed", "response": answer});
    let start = json!({"type": "response.created", "response": {"id": "resp_1"}});
    let stream = format!(
        "data: {start}\n\n{}{}{}data: {done}\n\n",
        delta("abS"),
        delta("TO"),
        delta("Pcd")
    );
    let events = streamed(
        ClientDialect::Messages,
        request,
        Dialect::Responses,
        &stream,
    );
    let text: String = events
        .iter()
        .filter_map(|event| event["delta"]["text"].as_str())
        .collect();
    assert_eq!(text, "ab");
    let last = &events[events.len() - 2];
    assert_eq!(last["delta"]["stop_sequence"], "STOP");
    assert_eq!(last["usage"]["output_tokens"], 5);
}

#[test]
fn calls_are_to_be_answered_whatever_geminis_word_for_the_end() {
    let request = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}"#;
    let parts = json!([{"functionCall": {"name": "f", "args": {}}}]);
    let answer =
        json!({"candidates": [{"content": {"parts": parts}, "finishReason": "FUNCTION_CALL"}]});
    let body = whole(ClientDialect::Messages, request, Dialect::Gemini, &answer);
    assert_eq!(body["stop_reason"], "tool_use");
    let sse = format!("data: {answer}\n\n");
    let events = streamed(ClientDialect::Chat, request, Dialect::Gemini, &sse);
    let reasons = events
        .iter()
        .filter_map(|event| event["choices"][0]["finish_reason"].as_str());
    assert_eq!(reasons.collect::<Vec<_>>(), ["tool_calls"]);
}

#[test]
fn signed_reasoning_travels_through_every_client_and_comes_back() {
    let answer = json!({"responseId": "r1", "candidates": [{"finishReason": "STOP", "content": {"parts": [
        {"functionCall": {"id": "fc1", "name": "f", "args": {}}, "thoughtSignature": "c2ln"}]}}]});
    let ask = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}"#;
    let chat = whole(ClientDialect::Chat, ask, Dialect::Gemini, &answer);
    let responses = whole(
        ClientDialect::Responses,
        br#"{"model":"m","input":"x"}"#,
        Dialect::Gemini,
        &answer,
    );
    let messages = whole(ClientDialect::Messages, ask, Dialect::Gemini, &answer);

    let user = json!({"role": "user", "content": "x"});
    let content = &messages["content"];
    let result = json!({"type": "tool_result", "tool_use_id": "fc1", "content": "1"});
    let again = [
        (
            ClientDialect::Messages,
            json!({"model": "m", "messages": [user,
            {"role": "assistant", "content": content}, {"role": "user", "content": [result]}]}),
        ),
        (
            ClientDialect::Chat,
            json!({"model": "m", "messages": [user, chat["choices"][0]["message"],
            {"role": "tool", "tool_call_id": "fc1", "content": "1"}]}),
        ),
        (
            ClientDialect::Responses,
            json!({"model": "m", "input": [user, responses["output"][0], responses["output"][1],
            {"type": "function_call_output", "call_id": "fc1", "output": "1"}]}),
        ),
    ];
    for (client, body) in again {
        let request = read_request(client, body.to_string().as_bytes()).unwrap();
        let sent = write_request(Dialect::Gemini, &request, &WriteOptions::default()).unwrap();
        let part = &sent.body["contents"][1]["parts"][0];
        assert_eq!(part["thoughtSignature"], "c2ln", "{client:?}");
        assert_eq!(part["functionCall"]["id"], "fc1", "{client:?}");
    }
}
