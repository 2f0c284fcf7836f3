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

/// What a client of Chat sent before there were tools.
fn request_with_functions() -> Value {
    json!({"model": "m", "function_call": {"name": "look"}, "functions": [
    {"name": "look", "description": "Looks.", "parameters": {"type": "object",
        "properties": {"at": {"type": "string"}}}},
    {"name": "wait"}],
    "messages": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": null,
            "function_call": {"name": "look", "arguments": "{\"at\":\"a\"}"}},
        {"role": "function", "name": "look", "content": "one"},
        {"role": "assistant", "content": null,
            "function_call": {"name": "look", "arguments": "{\"at\":\"b\"}"}},
        {"role": "function", "name": "look", "content": "two"},
    ]})
}

#[test]
fn functions_of_a_chat_client_are_tools_and_their_results_have_calls() {
    let body = request_with_functions().to_string();
    let request = read_request(ClientDialect::Chat, body.as_bytes()).unwrap();
    let sent = write_request(Dialect::Messages, &request, &WriteOptions::default()).unwrap();
    assert!(sent.dropped.is_empty(), "{:?}", sent.dropped);
    let tools = sent.body["tools"].as_array().unwrap();
    assert_eq!(tools[0]["name"], "look");
    assert_eq!(tools[0]["description"], "Looks.");
    assert!(tools[0]["input_schema"]["properties"]["at"].is_object());
    assert_eq!(tools[1]["input_schema"]["type"], "object");
    assert_eq!(
        sent.body["tool_choice"],
        json!({"type": "tool", "name": "look", "disable_parallel_tool_use": true})
    );
    let messages = sent.body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 5, "{messages:?}");
    let call = |n: usize| &messages[n]["content"][0];
    assert_eq!(call(1)["input"], json!({"at": "a"}));
    assert_eq!(call(3)["input"], json!({"at": "b"}));
    assert_ne!(call(1)["id"], call(3)["id"]);
    for (n, text) in [(2, "one"), (4, "two")] {
        assert_eq!(call(n)["tool_use_id"], call(n - 1)["id"]);
        assert!(call(n)["content"].to_string().contains(text));
    }
    // A server of the client's own dialect has them in the newer form too.
    let chat = write_request(Dialect::Chat, &request, &WriteOptions::default()).unwrap();
    assert_eq!(chat.body["tools"][0]["function"]["name"], "look");
    assert_eq!(chat.body["tool_choice"]["function"]["name"], "look");
    assert_eq!(chat.body["messages"][2]["role"], "tool");
}

#[test]
fn a_client_with_functions_gets_one_function_call() {
    let request = request_with_functions().to_string();
    let call = |id: &str, at: &str| {
        let input = json!({"at": at});
        json!({"type": "tool_use", "id": id, "name": "look", "input": input})
    };
    let answer = json!({"id": "msg_1", "model": "c", "stop_reason": "tool_use",
        "content": [call("toolu_1", "c"), call("toolu_2", "d")]});
    let neutral = read_request(ClientDialect::Chat, request.as_bytes()).unwrap();
    let sent = write_request(Dialect::Messages, &neutral, &WriteOptions::default()).unwrap();
    let answer = answer.to_string();
    let response = read_response(Dialect::Messages, answer.as_bytes(), &sent.context).unwrap();
    let context = ReplyContext::for_request(&neutral, 7);
    let (body, dropped) = write_response(ClientDialect::Chat, &response, &context);
    let choice = &body["choices"][0];
    assert_eq!(choice["finish_reason"], "function_call");
    assert_eq!(
        choice["message"]["function_call"],
        json!({"name": "look", "arguments": "{\"at\":\"c\"}"})
    );
    assert!(choice["message"].get("tool_calls").is_none());
    let dropped: Vec<&str> = dropped.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(dropped, ["content[1]"]);

    let events = prowess_wire::neutral::replay(response);
    let mut writer = StreamWriter::new(ClientDialect::Chat, context);
    let mut out = Vec::new();
    for event in events {
        writer.write(&event, &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    let chunks: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect();
    let choice = |chunk: &Value| chunk["choices"][0].clone();
    let calls = chunks
        .iter()
        .map(|chunk| choice(chunk)["delta"]["function_call"].clone())
        .filter(Value::is_object);
    let calls: Vec<Value> = calls.collect();
    assert_eq!(calls[0], json!({"name": "look", "arguments": ""}));
    let arguments: String = calls
        .iter()
        .filter_map(|call| call["arguments"].as_str())
        .collect();
    assert_eq!(arguments, "{\"at\":\"c\"}");
    assert!(!text.contains("tool_calls"), "{text}");
    let reasons = chunks
        .iter()
        .filter_map(|chunk| Some(choice(chunk)["finish_reason"].as_str()?.to_owned()));
    assert_eq!(reasons.collect::<Vec<_>>(), ["function_call"]);
}

#[test]
fn a_function_without_a_call_and_functions_beside_tools_are_named() {
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": "Go."},
        {"role": "function", "name": "look", "content": "one"}]});
    let error = read_request(ClientDialect::Chat, body.to_string().as_bytes()).unwrap_err();
    assert_eq!(error.field(), Some("messages[1].name"));

    let tool = json!({"type": "function", "function": {"name": "look"}});
    let body = json!({"model": "m", "tools": [tool], "functions": [{"name": "look"}],
        "function_call": "none", "messages": [{"role": "user", "content": "Go."}]});
    let request = read_request(ClientDialect::Chat, body.to_string().as_bytes()).unwrap();
    let sent = write_request(Dialect::Messages, &request, &WriteOptions::default()).unwrap();
    assert_eq!(sent.body["tools"].as_array().unwrap().len(), 1);
    let dropped: Vec<&str> = sent.dropped.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(dropped, ["functions", "function_call"]);
    let answer = json!({"id": "msg_1", "model": "c", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]});
    let reply = whole(
        ClientDialect::Chat,
        body.to_string().as_bytes(),
        Dialect::Messages,
        &answer,
    );
    assert_eq!(reply["choices"][0]["finish_reason"], "tool_calls");
}
