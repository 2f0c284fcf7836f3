//! A server's reasoning state comes back to it with the next request, in every client
//! dialect, and goes to no other server.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

use prowess_wire::neutral::{Message, Request, Response, ResponseCollector, Role};
use prowess_wire::{
    ClientDialect, Dialect, ReadContext, ReplyContext, StreamReader, StreamWriter, WriteOptions,
    read_request, read_response, write_request, write_response,
};
use serde_json::{Value, json};

const PLACEHOLDER_SIGNATURE: &str = "skip_thought_signature_validator";

/// A model at a server, and how it is called.
struct Model {
    dialect: Dialect,
    name: &'static str,
    host: &'static str,
}

const DEEPSEEK: Model = chat("deepseek-v4-pro", "api.deepseek.com");
const UNKNOWN: Model = chat("some-model", "llm.example");
const ROUTER: Model = chat("google/gemini-3-pro", "openrouter.ai");
const GEMINI: Model = Model {
    dialect: Dialect::Gemini,
    name: "gemini-3-pro-preview",
    host: "generativelanguage.googleapis.com",
};

const fn chat(name: &'static str, host: &'static str) -> Model {
    Model {
        dialect: Dialect::Chat,
        name,
        host,
    }
}

impl Model {
    fn options(&self) -> WriteOptions {
        WriteOptions::default().for_model(self.name, Some(self.host))
    }

    fn write(&self, request: &Request) -> prowess_wire::EncodedRequest {
        write_request(self.dialect, request, &self.options()).unwrap()
    }

    /// The context in which its responses are read.
    fn context(&self) -> ReadContext {
        let mut request = Request::new(Dialect::Messages, self.name);
        request.messages.push(Message::user("Hi"));
        self.write(&request).context.with_id("msg_1")
    }

    fn whole(&self, answer: &Value) -> Response {
        let answer = answer.to_string();
        read_response(self.dialect, answer.as_bytes(), &self.context()).unwrap()
    }

    /// What a request of a client is sent as.
    fn sends(&self, client: ClientDialect, body: &Value) -> Value {
        let request = read_request(client, body.to_string().as_bytes()).unwrap();
        self.write(&request).body
    }
}

/// A chat server's response of one message.
fn answer(message: Value) -> Value {
    json!({"id": "c1", "model": "m", "choices": [
        {"index": 0, "message": message, "finish_reason": "tool_calls"}]})
}

fn call() -> Value {
    json!({"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}})
}

/// A client's next request after a response with one call: the response's message
/// unchanged, and the call's result.
fn next_request(client: ClientDialect, response: &Value) -> Value {
    let hi = json!({"role": "user", "content": "Hi"});
    match client {
        ClientDialect::Messages => {
            let call = response["content"].as_array().unwrap().iter();
            let mut ids = call.filter_map(|block| block["id"].as_str());
            let id = ids.next().unwrap();
            json!({"model": "m", "max_tokens": 99, "messages": [hi,
                {"role": "assistant", "content": response["content"]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": id, "content": "ok"}]}]})
        }
        ClientDialect::Chat => {
            let message = &response["choices"][0]["message"];
            let id = &message["tool_calls"][0]["id"];
            json!({"model": "m", "messages": [hi, message,
                {"role": "tool", "tool_call_id": id, "content": "ok"}]})
        }
        _ => {
            let mut input = vec![hi];
            let output = response["output"].as_array().unwrap();
            input.extend(output.iter().cloned());
            let mut ids = output.iter().filter_map(|item| item["call_id"].as_str());
            let id = ids.next().unwrap();
            input.push(json!({"type": "function_call_output", "call_id": id, "output": "ok"}));
            json!({"model": "m", "input": input})
        }
    }
}

const CLIENTS: [ClientDialect; 3] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
];

/// What the model gets of its own response from each client's next request.
fn second_turns(model: &Model, first: &Response) -> Vec<Value> {
    let turns = CLIENTS.iter().map(|client| {
        let (response, _) = write_response(*client, first, &ReplyContext::default());
        model.sends(*client, &next_request(*client, &response))
    });
    turns.collect()
}

/// The assistant's message of a request to a chat server.
fn assistant(body: &Value) -> Value {
    let messages = body["messages"].as_array().unwrap();
    let found = messages.iter().find(|m| m["role"] == "assistant");
    found.unwrap().clone()
}

/// What a chat server streams.
fn streamed(deltas: &[Value]) -> Vec<u8> {
    let mut text = String::new();
    for delta in deltas {
        let chunk = json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta}]});
        text.push_str(&format!("data: {chunk}\n\n"));
    }
    let last = json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    text.push_str(&format!("data: {last}\n\ndata: [DONE]\n\n"));
    text.into_bytes()
}

fn collected(model: &Model, bytes: &[u8]) -> Response {
    let mut reader = StreamReader::new(model.dialect, model.context());
    let mut collector = ResponseCollector::new(model.dialect);
    // One byte at a time: chunks are cut anywhere.
    for byte in bytes.chunks(1) {
        for event in reader.push(byte) {
            collector.push(event).unwrap();
        }
    }
    for event in reader.finish() {
        collector.push(event).unwrap();
    }
    collector.finish().unwrap()
}

/// What a Chat client is streamed, added up as its SDK does.
fn stream_to_chat(model: &Model, bytes: &[u8]) -> (Value, Vec<Value>) {
    let mut reader = StreamReader::new(model.dialect, model.context());
    let mut writer = StreamWriter::new(ClientDialect::Chat, ReplyContext::default());
    let mut out = Vec::new();
    let mut events = reader.push(bytes);
    events.extend(reader.finish());
    for event in events {
        writer.write(&event, &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = lines.filter(|data| *data != "[DONE]");
    let deltas: Vec<Value> = chunks
        .map(|data| serde_json::from_str::<Value>(data).unwrap()["choices"][0]["delta"].clone())
        .collect();
    let mut calls: Vec<Value> = Vec::new();
    for call in deltas
        .iter()
        .filter_map(|delta| delta["tool_calls"].as_array())
        .flatten()
    {
        if call["id"].is_string() {
            calls.push(call.clone());
        } else if let Some(last) = calls.last_mut() {
            let more = call["function"]["arguments"].as_str().unwrap();
            let known = last["function"]["arguments"].as_str().unwrap();
            last["function"]["arguments"] = format!("{known}{more}").into();
        }
    }
    for call in &mut calls {
        call.as_object_mut().unwrap().remove("index");
    }
    (calls.into(), deltas)
}

/// A run's own loop: the response goes back as it was read.
fn in_a_loop(model: &Model, first: &Response) -> Value {
    let mut request = Request::new(Dialect::Chat, "m");
    request.messages.push(Message::user("Hi"));
    let content = first.content.clone();
    request
        .messages
        .push(Message::new(Role::Assistant, content));
    request.messages.push(Message::new(
        Role::User,
        vec![prowess_wire::neutral::Block::tool_result("call_1", "ok")],
    ));
    model.write(&request).body
}

#[test]
fn reasoning_content_goes_back_to_the_server_that_gave_it() {
    for (model, field) in [
        (&DEEPSEEK, "reasoning_content"),
        (&UNKNOWN, "reasoning_content"),
        (&UNKNOWN, "reasoning"),
    ] {
        let mut message = json!({"role": "assistant", "content": "", "tool_calls": [call()]});
        message[field] = json!("hm");
        let first = model.whole(&answer(message.clone()));
        assert_eq!(assistant(&in_a_loop(model, &first))[field], "hm");
        for body in second_turns(model, &first) {
            assert_eq!(assistant(&body)[field], "hm", "{body}");
        }
        let first = collected(
            model,
            &streamed(&[
                json!({"role": "assistant", "content": null, field: ""}),
                json!({field: "h"}),
                json!({field: "m"}),
                json!({"tool_calls": [with_index(call())]}),
            ]),
        );
        assert_eq!(assistant(&in_a_loop(model, &first))[field], "hm");
    }
}

fn with_index(mut call: Value) -> Value {
    call["index"] = json!(0);
    call
}

#[test]
fn reasoning_content_goes_to_no_other_server() {
    let message = json!({"role": "assistant", "content": "", "reasoning_content": "hm",
        "tool_calls": [call()]});
    let first = UNKNOWN.whole(&answer(message));
    let others = [
        chat("some-model", "other.example"),
        chat("gpt-4o", "api.openai.com"),
        chat("vendor/some-model", "llm.example"),
    ];
    for other in &others {
        let body = in_a_loop(other, &first);
        assert_eq!(assistant(&body).get("reasoning_content"), None);
        assert!(!body.to_string().contains("v1.chat"), "{body}");
    }
    let anthropic = Model {
        dialect: Dialect::Messages,
        name: "claude-opus-4-7",
        host: "api.anthropic.com",
    };
    let text = in_a_loop(&anthropic, &first).to_string();
    assert!(
        !text.contains("v1.chat") && !text.contains("thinking"),
        "{text}"
    );
}

#[test]
fn an_answer_without_calls_keeps_its_thought_to_itself_unless_all_are_required() {
    let message = json!({"role": "assistant", "content": "Hello", "reasoning_content": "hm"});
    for (model, expected) in [(&UNKNOWN, None), (&DEEPSEEK, Some("hm"))] {
        let first = model.whole(&answer(message.clone()));
        let mut request = Request::new(Dialect::Messages, "m");
        request.messages.push(Message::user("Hi"));
        request
            .messages
            .push(Message::new(Role::Assistant, first.content));
        request.messages.push(Message::user("Again"));
        let sent = model.write(&request);
        let thought = &assistant(&sent.body)["reasoning_content"];
        assert_eq!(thought.as_str(), expected);
        assert_eq!(sent.dropped.is_empty(), expected.is_some());
    }
}

#[test]
fn calls_of_other_models_get_a_blank_thought_where_none_is_refused() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"},
        {"role": "assistant", "content": null, "tool_calls": [call()]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
        {"role": "assistant", "content": "Done"}, {"role": "user", "content": "Thanks"}]});
    let sent = DEEPSEEK.sends(ClientDialect::Chat, &body);
    assert_eq!(sent["messages"][1]["reasoning_content"], " ");
    assert_eq!(sent["messages"][3].get("reasoning_content"), None);
    let elsewhere = UNKNOWN.sends(ClientDialect::Chat, &body);
    assert_eq!(elsewhere["messages"][1].get("reasoning_content"), None);
}

/// Details as OpenRouter gives them for Gemini 3.
fn details(id: &str) -> Value {
    json!([
        {"type": "reasoning.text", "text": "Look first.", "format": "google-gemini-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": "QUJD", "id": id, "format": "google-gemini-v1",
            "index": 0},
    ])
}

#[test]
fn reasoning_details_go_back_as_they_were() {
    let message = json!({"role": "assistant", "content": null, "reasoning": "Look first.",
        "reasoning_details": details("call_1"), "tool_calls": [call()]});
    let first = ROUTER.whole(&answer(message));
    for body in second_turns(&ROUTER, &first) {
        assert_eq!(
            assistant(&body)["reasoning_details"],
            details("call_1"),
            "{body}"
        );
        assert_eq!(assistant(&body)["reasoning"], "Look first.");
    }
    let other = chat("anthropic/claude-opus-5", "openrouter.ai");
    let body = in_a_loop(&other, &first);
    assert_eq!(assistant(&body).get("reasoning_details"), None);
}

#[test]
fn an_answer_of_nothing_but_details_has_a_thought() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call()],
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "QUJD", "index": 0}]});
    let first = ROUTER.whole(&answer(message.clone()));
    assert_eq!(first.content[0].content.kind(), "thinking");
    for body in second_turns(&ROUTER, &first) {
        let back = &assistant(&body)["reasoning_details"];
        assert_eq!(*back, message["reasoning_details"], "{body}");
    }
    let texts = json!({"role": "assistant", "content": "Hi",
        "reasoning_details": [{"type": "reasoning.summary", "summary": "Greet.", "index": 0}]});
    let (response, _) = write_response(
        ClientDialect::Messages,
        &ROUTER.whole(&answer(texts)),
        &ReplyContext::default(),
    );
    assert_eq!(response["content"][0]["thinking"], "Greet.");
}

#[test]
fn details_name_the_calls_by_the_ids_they_have_now() {
    let message = json!({"role": "assistant", "content": null, "reasoning": "Look first.",
        "reasoning_details": details("call_1"), "tool_calls": [call()]});
    let mut first = ROUTER.whole(&answer(message));
    for block in &mut first.content {
        if let prowess_wire::neutral::Content::ToolUse { id, .. } = &mut block.content {
            *id = "srvtoolu_ours".to_owned();
        }
    }
    let body = in_a_loop(&ROUTER, &first);
    let message = assistant(&body);
    assert_eq!(message["tool_calls"][0]["id"], "srvtoolu_ours");
    assert_eq!(message["reasoning_details"][1]["id"], "srvtoolu_ours");
}

#[test]
fn streamed_details_are_put_together_wherever_they_come() {
    let text = |text: &str| json!([{"type": "reasoning.text", "text": text, "format": "google-gemini-v1", "index": 0}]);
    let all = details("call_1");
    let encrypted = json!([all[1]]);
    let call = json!({"tool_calls": [with_index(call())]});
    let before = vec![json!({"reasoning_details": encrypted}), call.clone()];
    let with = vec![{
        let mut delta = call.clone();
        delta["reasoning_details"] = encrypted.clone();
        delta
    }];
    let after = vec![call, json!({"reasoning_details": encrypted})];
    for rest in [before, with, after] {
        let mut deltas = vec![
            json!({"role": "assistant", "reasoning": "Look", "reasoning_details": text("Look")}),
            json!({"reasoning": " first.", "reasoning_details": text(" first.")}),
        ];
        deltas.extend(rest);
        let first = collected(&ROUTER, &streamed(&deltas));
        let message = assistant(&in_a_loop(&ROUTER, &first));
        assert_eq!(message["reasoning_details"], all);
        assert_eq!(message["reasoning"], "Look first.");
        let kinds: Vec<_> = first.content.iter().map(|b| b.content.kind()).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == "tool_use").count(), 1);
        for body in second_turns(&ROUTER, &first) {
            assert_eq!(assistant(&body)["reasoning_details"], all, "{body}");
        }
        let (_, chunks) = stream_to_chat(&ROUTER, &streamed(&deltas));
        let lists = chunks
            .iter()
            .filter_map(|delta| delta["reasoning_details"].as_array());
        let merged: Vec<_> = lists.flatten().cloned().collect();
        assert_eq!(Value::from(merged), all);
    }
}

#[test]
fn details_that_a_client_brings_alone_go_to_servers_that_take_them() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"},
        {"role": "assistant", "content": null, "reasoning_details": details("call_1"),
            "tool_calls": [call()]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"}]});
    let sent = ROUTER.sends(ClientDialect::Chat, &body);
    assert_eq!(assistant(&sent)["reasoning_details"], details("call_1"));
    let other = UNKNOWN.sends(ClientDialect::Chat, &body);
    assert_eq!(assistant(&other).get("reasoning_details"), None);
}

#[test]
fn a_signature_in_extra_content_goes_back_with_its_call() {
    let google = chat("gemini-3-pro-preview", "generativelanguage.googleapis.com");
    let extra = json!({"google": {"thought_signature": "R1NJRw=="}});
    let mut signed = call();
    signed["extra_content"] = extra.clone();
    let message = json!({"role": "assistant", "content": null, "tool_calls": [signed.clone()]});
    let whole = google.whole(&answer(message));
    let stream = collected(
        &google,
        &streamed(&[json!({"tool_calls": [with_index(signed)]})]),
    );
    for first in [whole, stream] {
        assert_eq!(
            assistant(&in_a_loop(&google, &first))["tool_calls"][0]["extra_content"],
            extra
        );
        for body in second_turns(&google, &first) {
            assert_eq!(
                assistant(&body)["tool_calls"][0]["extra_content"],
                extra,
                "{body}"
            );
        }
        // The same signature means the same to Google's own API, and nothing elsewhere.
        let native = in_a_loop(&GEMINI, &first);
        assert_eq!(
            native["contents"][1]["parts"][0]["thoughtSignature"],
            "R1NJRw=="
        );
        let other = in_a_loop(&UNKNOWN, &first).to_string();
        assert!(!other.contains("extra_content"), "{other}");
    }
}

#[test]
fn other_extra_content_goes_back_to_its_server_alone() {
    let extra = json!({"vendor": {"state": [1, 2]}});
    let mut marked = call();
    marked["extra_content"] = extra.clone();
    let message = json!({"role": "assistant", "content": null, "tool_calls": [marked]});
    let first = UNKNOWN.whole(&answer(message));
    for body in second_turns(&UNKNOWN, &first) {
        assert_eq!(
            assistant(&body)["tool_calls"][0]["extra_content"],
            extra,
            "{body}"
        );
    }
    let other = in_a_loop(&DEEPSEEK, &first);
    assert_eq!(
        assistant(&other)["tool_calls"][0].get("extra_content"),
        None
    );
}

/// Gemini 3's response with a signed call.
fn signed_call() -> Value {
    json!({"responseId": "r1", "candidates": [{"content": {"role": "model", "parts": [
        {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "R1NJRw=="}]},
        "finishReason": "STOP"}]})
}

/// The part of Gemini's call in a request.
fn call_part(body: &Value) -> &Value {
    let parts = body["contents"][1]["parts"].as_array().unwrap();
    let found = parts.iter().find(|part| part.get("functionCall").is_some());
    found.unwrap_or_else(|| panic!("no call in {body}"))
}

#[test]
fn a_chat_client_that_rebuilds_its_message_keeps_geminis_signature() {
    let first = GEMINI.whole(&signed_call());
    let (response, _) = write_response(ClientDialect::Chat, &first, &ReplyContext::default());
    let calls = &response["choices"][0]["message"]["tool_calls"];
    assert_eq!(
        calls[0]["extra_content"],
        json!({"google": {"thought_signature": "R1NJRw=="}})
    );
    let rebuilt = |calls: &Value| {
        json!({"model": "m", "messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Let me see.", "tool_calls": calls},
            {"role": "tool", "tool_call_id": calls[0]["id"], "content": "ok"}]})
    };
    let sent = GEMINI.sends(ClientDialect::Chat, &rebuilt(calls));
    assert_eq!(call_part(&sent)["thoughtSignature"], "R1NJRw==");

    let stream = format!("data: {}\n\n", signed_call());
    let (calls, _) = stream_to_chat(&GEMINI, stream.as_bytes());
    let sent = GEMINI.sends(ClientDialect::Chat, &rebuilt(&calls));
    assert_eq!(call_part(&sent)["thoughtSignature"], "R1NJRw==");
}

#[test]
fn every_client_that_goes_on_brings_geminis_signature_back_once() {
    let first = GEMINI.whole(&signed_call());
    for body in second_turns(&GEMINI, &first) {
        assert_eq!(call_part(&body)["thoughtSignature"], "R1NJRw==", "{body}");
        assert_eq!(body.to_string().matches("R1NJRw==").count(), 1, "{body}");
    }
}

#[test]
fn calls_without_a_signature_get_the_stand_in_from_gemini_3_on() {
    let bare = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"},
        {"role": "assistant", "tool_calls": [call()]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"}]});
    let sent = GEMINI.sends(ClientDialect::Chat, &bare);
    assert_eq!(call_part(&sent)["thoughtSignature"], PLACEHOLDER_SIGNATURE);
    let older = Model {
        name: "gemini-2.5-flash",
        ..GEMINI
    };
    let sent = older.sends(ClientDialect::Chat, &bare);
    assert_eq!(call_part(&sent).get("thoughtSignature"), None);
    // The same at Google's own Chat endpoint, and nothing of it at others.
    let google = chat("gemini-3-pro-preview", "generativelanguage.googleapis.com");
    let sent = google.sends(ClientDialect::Chat, &bare);
    let extra = &assistant(&sent)["tool_calls"][0]["extra_content"];
    assert_eq!(extra["google"]["thought_signature"], PLACEHOLDER_SIGNATURE);
    let router = ROUTER.sends(ClientDialect::Chat, &bare);
    assert_eq!(
        assistant(&router)["tool_calls"][0].get("extra_content"),
        None
    );
}

#[test]
fn the_history_of_another_model_works_on_gemini_3() {
    let claude = json!({"model": "m", "max_tokens": 99, "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "EqQBCg=="},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "ok"}]}]});
    let sent = GEMINI.sends(ClientDialect::Messages, &claude);
    let parts = &sent["contents"][1]["parts"];
    assert_eq!(parts[0]["thoughtSignature"], PLACEHOLDER_SIGNATURE);
    assert_eq!(parts[1].get("thoughtSignature"), None);
    let deepseek = DEEPSEEK.whole(&answer(json!({"role": "assistant", "content": null,
        "reasoning_content": "hm", "tool_calls": [call()]})));
    let sent = in_a_loop(&GEMINI, &deepseek);
    assert_eq!(call_part(&sent)["thoughtSignature"], PLACEHOLDER_SIGNATURE);
}

#[test]
fn a_forged_seal_names_no_other_field_of_the_message() {
    use base64::Engine;
    let tag = UNKNOWN.options().server;
    let seal = json!({"from": tag, "field": "role", "details": [], "calls": {"x": 99}});
    let seal = base64::engine::general_purpose::STANDARD.encode(seal.to_string());
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "system", "signature": format!("v1.chat.{seal}")},
            {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "ok"}]}]});
    let sent = UNKNOWN.sends(ClientDialect::Messages, &body);
    assert_eq!(sent["messages"][1]["role"], "assistant");
    assert!(!sent.to_string().contains("system"), "{sent}");
}
