//! How responses end: filtered, refused, failed, or for a vendor-specific reason.

use prowess_wire::neutral::{Block, Content, ErrorKind, ResponseCollector};
use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};

use crate::{broken, failed, read, reply, sse, whole, write_events};

/// The words that the official types of each dialect know.
const MESSAGES: [&str; 7] = [
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
];
const CHAT: [&str; 4] = ["stop", "length", "tool_calls", "content_filter"];

/// The stop reason for each client: Messages, Chat, and Responses with its details.
fn ends(upstream: Dialect, answer: &Value) -> [String; 3] {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = text(&whole(upstream, answer, ClientDialect::Messages)["stop_reason"]);
    let chat = text(&whole(upstream, answer, ClientDialect::Chat)["choices"][0]["finish_reason"]);
    let response = whole(upstream, answer, ClientDialect::Responses);
    let reason = &response["incomplete_details"]["reason"];
    let responses = reason
        .as_str()
        .map_or_else(|| text(&response["status"]), str::to_owned);
    assert!(MESSAGES.contains(&messages.as_str()), "{messages}");
    assert!(CHAT.contains(&chat.as_str()), "{chat}");
    [messages, chat, responses]
}

/// The same of a stream.
fn stream_ends(upstream: Dialect, sse: &str) -> [String; 3] {
    let events = read(upstream, sse);
    let find = |client, path: &str| {
        let events_out = write_events(&events, client);
        let found = events_out
            .iter()
            .rev()
            .find_map(|event| event.pointer(path)?.as_str());
        found.map(str::to_owned)
    };
    let messages = find(ClientDialect::Messages, "/delta/stop_reason").unwrap();
    let chat = find(ClientDialect::Chat, "/choices/0/finish_reason").unwrap();
    let responses = find(
        ClientDialect::Responses,
        "/response/incomplete_details/reason",
    );
    let responses = responses.or_else(|| find(ClientDialect::Responses, "/response/status"));
    [messages, chat, responses.unwrap()]
}

fn gemini(text: Option<&str>, reason: &str) -> Value {
    let parts: Vec<_> = text.map(|text| json!({"text": text})).into_iter().collect();
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}]})
}

#[test]
fn every_finish_reason_of_geminis_has_its_word_in_every_dialect() {
    let refusals = [
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "ESCALATION",
        "PUP_LIMITED_DISABLED",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_OTHER",
    ];
    for reason in refusals {
        let answer = gemini(Some("So far"), reason);
        let filtered = ["refusal", "content_filter", "content_filter"];
        assert_eq!(ends(Dialect::Gemini, &answer), filtered, "{reason}");
        assert_eq!(
            stream_ends(Dialect::Gemini, &sse(&[answer])),
            filtered,
            "{reason}"
        );
        // Without content, the refusal itself is the response.
        let refused = ["refusal", "stop", "completed"];
        assert_eq!(
            ends(Dialect::Gemini, &gemini(None, reason)),
            refused,
            "{reason}"
        );
        let streamed = stream_ends(Dialect::Gemini, &sse(&[gemini(None, reason)]));
        assert_eq!(streamed, refused, "{reason}");
    }
    for reason in [
        "STOP",
        "FINISH_REASON_UNSPECIFIED",
        "OTHER",
        "NO_IMAGE",
        "SOMETHING_NEW",
    ] {
        let answer = gemini(Some("Hi"), reason);
        let stopped = ["end_turn", "stop", "completed"];
        assert_eq!(ends(Dialect::Gemini, &answer), stopped, "{reason}");
        assert_eq!(
            stream_ends(Dialect::Gemini, &sse(&[answer])),
            stopped,
            "{reason}"
        );
    }
    let cut = ["max_tokens", "length", "max_output_tokens"];
    for reason in ["MAX_TOKENS", "CONTINUATION"] {
        let answer = gemini(Some("Hi"), reason);
        assert_eq!(ends(Dialect::Gemini, &answer), cut, "{reason}");
        let streamed = stream_ends(Dialect::Gemini, &sse(&[answer]));
        assert_eq!(streamed, cut, "{reason}");
    }
}

#[test]
fn an_unknown_reason_without_an_answer_is_a_refusal_that_names_it() {
    for reason in ["OTHER", "NO_IMAGE", "SOMETHING_NEW"] {
        let answer = gemini(None, reason);
        let body = whole(Dialect::Gemini, &answer, ClientDialect::Messages);
        assert_eq!(body["stop_reason"], "refusal");
        assert_eq!(body["stop_details"]["explanation"], reason);
        let body = whole(Dialect::Gemini, &answer, ClientDialect::Chat);
        assert_eq!(body["choices"][0]["message"]["refusal"], reason);
        let streamed = stream_ends(Dialect::Gemini, &sse(&[answer]));
        assert_eq!(streamed, ["refusal", "stop", "completed"]);
    }
}

#[test]
fn geminis_failures_are_errors_whole_and_streamed() {
    for (reason, status) in [
        ("MALFORMED_FUNCTION_CALL", 502),
        ("MALFORMED_RESPONSE", 502),
        ("UNEXPECTED_TOOL_CALL", 502),
        ("TOO_MANY_TOOL_CALLS", 502),
        ("MISSING_THOUGHT_SIGNATURE", 400),
    ] {
        let answer = gemini(Some("Hi"), reason);
        let error = failed(Dialect::Gemini, &answer);
        assert_eq!(error.status, status, "{reason}");
        assert!(error.message.contains(reason), "{error}");
        assert_eq!(broken(Dialect::Gemini, &sse(&[answer])), error);
    }
}

fn choice(message: Option<Value>, reason: &str) -> Value {
    let mut choice = json!({"index": 0, "finish_reason": reason});
    if let Some(message) = message {
        choice["message"] = message;
    }
    json!({"id": "c1", "model": "m", "choices": [choice]})
}

#[test]
fn an_answer_that_azure_filtered_away_is_a_refusal() {
    let mut answer = choice(None, "content_filter");
    answer["choices"][0]["content_filter_results"] =
        json!({"hate": {"filtered": true, "severity": "high"}});
    let filtered = ["refusal", "content_filter", "content_filter"];
    assert_eq!(ends(Dialect::Chat, &answer), filtered);
    answer["choices"][0]["message"] = Value::Null;
    assert_eq!(ends(Dialect::Chat, &answer), filtered);
    let chunk = json!({"id": "c1", "choices": [{"index": 0, "finish_reason": "content_filter"}]});
    assert_eq!(stream_ends(Dialect::Chat, &sse(&[chunk])), filtered);
    // Neither a response nor a reason: an error.
    let error = failed(Dialect::Chat, &json!({"choices": [{"index": 0}]}));
    assert_eq!(error.status, 502);
}

#[test]
fn every_chat_servers_reason_has_its_word_in_every_dialect() {
    let message = json!({"role": "assistant", "content": "Hi"});
    for (reason, expected) in [
        ("stop", ["end_turn", "stop", "completed"]),
        ("eos", ["end_turn", "stop", "completed"]),
        ("COMPLETE", ["end_turn", "stop", "completed"]),
        ("something_new", ["end_turn", "stop", "completed"]),
        (
            "model_length",
            ["max_tokens", "length", "max_output_tokens"],
        ),
        ("max_tokens", ["max_tokens", "length", "max_output_tokens"]),
        ("sensitive", ["refusal", "content_filter", "content_filter"]),
        ("SAFETY", ["refusal", "content_filter", "content_filter"]),
        (
            "content_filter: PROHIBITED_CONTENT",
            ["refusal", "content_filter", "content_filter"],
        ),
    ] {
        let answer = choice(Some(message.clone()), reason);
        assert_eq!(ends(Dialect::Chat, &answer), expected, "{reason}");
        let mut chunk = answer;
        chunk["choices"][0]["delta"] = chunk["choices"][0]["message"].take();
        assert_eq!(
            stream_ends(Dialect::Chat, &sse(&[chunk])),
            expected,
            "{reason}"
        );
    }
}

#[test]
fn a_chat_server_that_gave_up_has_not_answered() {
    let message = json!({"role": "assistant", "content": "Hi"});
    for (reason, kind) in [
        ("error", ErrorKind::Api),
        ("network_error", ErrorKind::Api),
        ("insufficient_system_resource", ErrorKind::Overloaded),
    ] {
        let answer = choice(Some(message.clone()), reason);
        let error = failed(Dialect::Chat, &answer);
        assert_eq!(error.kind, kind);
        assert!(error.message.ends_with(reason), "{error}");
        let mut chunk = answer;
        chunk["choices"][0]["delta"] = chunk["choices"][0]["message"].take();
        assert_eq!(broken(Dialect::Chat, &sse(&[chunk])), error);
    }
}

#[test]
fn unusable_output_of_gemini_is_the_same_error_by_its_chat_endpoint() {
    for (reason, own) in [
        (
            "function_call_filter: MALFORMED_FUNCTION_CALL",
            "MALFORMED_FUNCTION_CALL",
        ),
        (
            "function_call_filter: UNEXPECTED_TOOL_CALL",
            "UNEXPECTED_TOOL_CALL",
        ),
        ("malformed_function_call", "MALFORMED_FUNCTION_CALL"),
    ] {
        let message = json!({"role": "assistant", "extra_content": {"google": {}}});
        let answer = choice(Some(message), reason);
        let error = failed(Dialect::Chat, &answer);
        assert_eq!(error, failed(Dialect::Gemini, &gemini(None, own)));
        let mut chunk = answer;
        chunk["choices"][0]["delta"] = chunk["choices"][0]["message"].take();
        assert_eq!(broken(Dialect::Chat, &sse(&[chunk])), error, "{reason}");
    }
}

#[test]
fn unknown_ends_of_converse_and_responses_are_known_to_every_client() {
    let content = json!([{"text": "Hi"}]);
    let answer = json!({"output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "something_new", "usage": {"inputTokens": 1, "outputTokens": 1}});
    assert_eq!(
        ends(Dialect::Converse, &answer),
        ["end_turn", "stop", "completed"]
    );
    let item = json!({"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi"}]});
    let answer = json!({"id": "resp_1", "status": "incomplete", "output": [item],
        "incomplete_details": {"reason": "max_messages"}});
    assert_eq!(
        ends(Dialect::Responses, &answer)[..2],
        ["pause_turn", "length"]
    );
}

#[test]
fn an_error_in_the_place_of_an_answer_keeps_its_reason() {
    let error = json!({"message": "Upstream is busy", "code": 503});
    let found = failed(Dialect::Chat, &json!({"id": "gen-1", "error": error}));
    assert_eq!(
        (found.status, found.message.as_str()),
        (503, "Upstream is busy")
    );
    let found = failed(Dialect::Chat, &json!({"error": error, "choices": []}));
    assert_eq!(found.message, "Upstream is busy");
    let mut answer = choice(Some(json!({"role": "assistant", "content": ""})), "error");
    answer["choices"][0]["error"] = error.clone();
    assert_eq!(failed(Dialect::Chat, &answer).message, "Upstream is busy");
    let anthropic =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}});
    let found = failed(Dialect::Messages, &anthropic);
    assert_eq!(
        (found.kind, found.message.as_str()),
        (ErrorKind::Overloaded, "Busy")
    );
    // A response beside an empty error is a response.
    let mut answer = choice(Some(json!({"role": "assistant", "content": "Hi"})), "stop");
    answer["error"] = Value::Null;
    answer["choices"][0]["error"] = json!({});
    assert_eq!(ends(Dialect::Chat, &answer)[0], "end_turn");
    for empty in [json!({}), json!(""), json!(false)] {
        answer["error"] = empty;
        assert_eq!(
            stream_ends(Dialect::Chat, &sse(&[answer.clone()]))[0],
            "end_turn"
        );
    }
}

#[test]
fn an_error_inside_a_stream_keeps_its_reason_in_any_form() {
    let first = json!({"id": "c1", "choices": [{"index": 0, "delta": {"content": "Hi"}}]});
    let error = json!({"code": 500, "message": "slot is gone", "type": "server_error"});
    let ends = [
        format!("error: {error}\n\n"),
        format!("error: {error}"),
        format!("event: error\ndata: {error}\n\n"),
        format!("data: {}\n\n", json!({"error": error})),
        format!("event: error\ndata: {}\n\n", json!({"error": error})),
        format!("{}\n\n", json!({"error": error})),
        format!(
            "data: {}\n\n",
            json!({"choices": [{"index": 0, "delta": {},
            "finish_reason": "error", "error": error}]})
        ),
        format!(
            "data: {}\n\n",
            json!({"choices": [], "x_groq": {"error": "slot is gone"}})
        ),
        "event: error\ndata: slot is gone\n\n".to_owned(),
    ];
    for end in &ends {
        let error = broken(Dialect::Chat, &format!("data: {first}\n\n{end}"));
        assert_eq!(error.message, "slot is gone", "{end}");
        assert_eq!(error.status, 500, "{end}");
    }
    for client in [
        ClientDialect::Messages,
        ClientDialect::Chat,
        ClientDialect::Responses,
    ] {
        let events = read(Dialect::Chat, &format!("data: {first}\n\n{}", ends[0]));
        let events_out = write_events(&events, client);
        assert!(
            events_out
                .iter()
                .any(|event| event.to_string().contains("slot is gone"))
        );
    }
}

#[test]
fn an_error_event_without_its_dialects_form_keeps_its_reason() {
    let error = json!({"error": {"message": "slot is gone", "type": "overloaded_error"}});
    for upstream in [
        Dialect::Messages,
        Dialect::Responses,
        Dialect::Gemini,
        Dialect::Chat,
    ] {
        for text in [
            format!("data: {error}\n\n"),
            format!("event: error\ndata: {error}\n\n"),
            format!("error: {}\n\n", error["error"]),
        ] {
            let error = broken(upstream, &text);
            assert_eq!(error.message, "slot is gone", "{upstream:?} {text}");
        }
    }
    let own = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}});
    let error = broken(Dialect::Messages, &format!("event: error\ndata: {own}\n\n"));
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Overloaded, "Busy")
    );
}

#[test]
fn an_error_without_a_status_is_of_the_kind_that_its_code_or_type_names() {
    for (error, kind, status) in [
        (
            json!({"code": "context_length_exceeded"}),
            ErrorKind::InvalidRequest,
            400,
        ),
        (
            json!({"code": "invalid_prompt"}),
            ErrorKind::InvalidRequest,
            400,
        ),
        (
            json!({"type": "invalid_request_error"}),
            ErrorKind::InvalidRequest,
            400,
        ),
        (
            json!({"code": "insufficient_quota"}),
            ErrorKind::Billing,
            402,
        ),
        (
            json!({"code": "rate_limit_exceeded"}),
            ErrorKind::RateLimit,
            429,
        ),
        (
            json!({"code": "server_is_overloaded"}),
            ErrorKind::Overloaded,
            529,
        ),
        (
            json!({"code": "invalid_api_key"}),
            ErrorKind::Authentication,
            401,
        ),
        (json!({"type": "not_found_error"}), ErrorKind::NotFound, 404),
        (
            json!({"type": "None", "code": "429"}),
            ErrorKind::RateLimit,
            429,
        ),
        (json!({"code": "server_error"}), ErrorKind::Api, 500),
        // The same again would end the same.
        (
            json!({"code": "bio_policy"}),
            ErrorKind::InvalidRequest,
            400,
        ),
        (
            json!({"code": "misalignment_policy_violation"}),
            ErrorKind::InvalidRequest,
            400,
        ),
        // A status is more exact than a type that many errors have.
        (
            json!({"type": "invalid_request_error", "code": 413}),
            ErrorKind::TooLarge,
            413,
        ),
    ] {
        let mut error = error;
        error["message"] = "no".into();
        let in_stream = broken(Dialect::Chat, &sse(&[json!({"error": error})]));
        assert_eq!(
            (in_stream.kind, in_stream.status),
            (kind, status),
            "{error}"
        );
        let response = json!({"id": "r", "status": "failed", "error": error, "output": []});
        let in_response = failed(Dialect::Responses, &response);
        assert_eq!(
            (in_response.kind, in_response.status),
            (kind, status),
            "{error}"
        );
        let event = json!({"type": "response.failed", "response": response});
        assert_eq!(broken(Dialect::Responses, &sse(&[event])), in_response);
    }
    let error = json!({"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED"}});
    let error = failed(Dialect::Gemini, &error);
    assert_eq!((error.kind, error.status), (ErrorKind::RateLimit, 429));
}

#[test]
fn a_failed_response_keeps_a_code_that_its_clients_know() {
    for (code, expected) in [
        ("context_length_exceeded", "context_length_exceeded"),
        ("insufficient_quota", "insufficient_quota"),
        ("server_is_overloaded", "server_is_overloaded"),
        ("rate_limit_exceeded", "rate_limit_exceeded"),
        ("image_too_large", "image_too_large"),
        ("bio_policy", "bio_policy"),
        (
            "misalignment_policy_violation",
            "misalignment_policy_violation",
        ),
        ("data_residency_mismatch", "data_residency_mismatch"),
        ("something_new", "server_error"),
    ] {
        let created = json!({"type": "response.created", "response": {"id": "r", "model": "m"}});
        let error = json!({"code": code, "message": "no"});
        let response = json!({"id": "r", "status": "failed", "error": error, "output": []});
        let event = json!({"type": "response.failed", "response": response});
        let events = read(Dialect::Responses, &sse(&[created, event]));
        let events_out = write_events(&events, ClientDialect::Responses);
        let last = events_out.last().unwrap();
        assert_eq!(last["response"]["error"]["code"], expected);
    }
    let paid = json!({"type": "error", "error": {"type": "billing_error", "message": "no"}});
    let error = failed(Dialect::Messages, &paid);
    let failed = prowess_wire::ResponseStatus::Failed;
    let body = prowess_wire::unfinished_response("m", &reply(), failed, Some(&error));
    assert_eq!(body["error"]["code"], "insufficient_quota");
}

#[test]
fn a_failed_response_is_shown_to_clients_of_responses_with_all_that_openai_sent() {
    let misalignment = json!({"error_type": "other", "review_target": "rt_1",
        "steer": {"message": "Ask first."}});
    let error = json!({"code": "misalignment_policy_violation", "message": "no",
        "param": "input", "type": "policy_error", "misalignment": misalignment});
    let created = json!({"type": "response.created", "response": {"id": "r", "model": "m"}});
    let response = json!({"id": "r", "status": "failed", "error": error, "output": []});
    let event = json!({"type": "response.failed", "response": response});
    let events = read(Dialect::Responses, &sse(&[created, event]));
    let shown = write_events(&events, ClientDialect::Responses);
    let [.., event, last] = &shown[..] else {
        panic!("no error: {shown:?}");
    };
    assert_eq!(last["response"]["error"], error);
    assert_eq!(event["error"]["misalignment"], misalignment);
    assert_eq!(event["error"]["type"], "policy_error");
    assert_eq!(event["error"].get("details"), None);
    let kept = failed(Dialect::Responses, &response);
    let status = prowess_wire::ResponseStatus::Failed;
    let body = prowess_wire::unfinished_response("m", &reply(), status, Some(&kept));
    assert_eq!(body["error"], error);
    let others = write_events(&events, ClientDialect::Messages);
    let details = &others.last().unwrap()["error"]["details"];
    assert_eq!(details["openai"]["misalignment"], misalignment);
}

/// The blocks of a stream: the kind and the text of each.
fn blocks(upstream: Dialect, events: &[Value]) -> Vec<(&'static str, String)> {
    let mut collector = ResponseCollector::new(upstream);
    for event in read(upstream, &sse(events)) {
        collector.push(event).unwrap();
    }
    let content = collector.finish().unwrap().content;
    let block = |block: Block| match block.content {
        Content::Text(text) => ("text", text),
        Content::Thinking { thinking, .. } => ("thinking", thinking),
        Content::ToolUse { input, name, .. } => ("call", format!("{name} {input}")),
        other => panic!("{other:?}"),
    };
    content.into_iter().map(block).collect()
}

fn expected(list: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let own = list.iter().map(|(kind, text)| (*kind, (*text).to_owned()));
    own.collect()
}

/// A stream of llama.cpp, which ends all items after the last one, and numbers none of them
/// unless this says so.
fn items_that_end_late(numbered: bool) -> Vec<Value> {
    let added = |item: Value| json!({"type": "response.output_item.added", "item": item});
    let done = |item: Value| json!({"type": "response.output_item.done", "item": item});
    let delta = |kind: &str, id: &str, text: &str| {
        let kind = format!("response.{kind}.delta");
        json!({"type": kind, "item_id": id, "delta": text})
    };
    let call = |n: u8, arguments: &str| {
        json!({"type": "function_call", "call_id": format!("fc_{n}"), "name": format!("f{n}"),
            "arguments": arguments})
    };
    let part = |text: &str| json!([{"type": "output_text", "text": text, "annotations": []}]);
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        added(
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": [],
            "encrypted_content": ""}),
        ),
        delta("reasoning_text", "rs_1", "Hm"),
        delta("reasoning_text", "rs_1", "."),
        added(json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []})),
        delta("output_text", "msg_1", "Hi"),
        delta("output_text", "msg_1", "!"),
        added(call(1, "")),
        delta("function_call_arguments", "fc_1", "{\"a\":"),
        delta("function_call_arguments", "fc_1", "1}"),
        added(call(2, "")),
        delta("function_call_arguments", "fc_2", "{}"),
        done(
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "",
            "content": [{"type": "reasoning_text", "text": "Hm."}]}),
        ),
        json!({"type": "response.content_part.done", "item_id": "msg_1", "part": part("Hi!")[0]}),
        done(
            json!({"type": "message", "id": "msg_1", "role": "assistant", "content": part("Hi!")}),
        ),
        done(call(1, "{\"a\":1}")),
        done(call(2, "{}")),
    ];
    if numbered {
        let number = |event: &Value| {
            let text = event.to_string();
            let names = ["rs_1", "msg_1", "fc_1", "fc_2"];
            names.iter().position(|name| text.contains(name))
        };
        for event in &mut events {
            if let Some(n) = number(event) {
                event["output_index"] = n.into();
            }
        }
    }
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let response = json!({"id": "resp_1", "status": "completed", "usage": usage, "output": []});
    events.push(json!({"type": "response.completed", "response": response}));
    events
}

#[test]
fn items_that_end_after_all_content_are_read_once() {
    for numbered in [false, true] {
        let events = items_that_end_late(numbered);
        assert_eq!(
            blocks(Dialect::Responses, &events),
            expected(&[
                ("thinking", "Hm."),
                ("text", "Hi!"),
                ("call", "f1 {\"a\":1}"),
                ("call", "f2 {}")
            ]),
            "{numbered}"
        );
        // Without calls, and with nothing but a thought and a text.
        let plain = events.into_iter().filter(|event| {
            let text = event.to_string();
            !text.contains("fc_")
        });
        let plain: Vec<Value> = plain.collect();
        assert_eq!(
            blocks(Dialect::Responses, &plain),
            expected(&[("thinking", "Hm."), ("text", "Hi!")]),
            "{numbered}"
        );
    }
}

#[test]
fn items_without_deltas_are_read_from_their_ends_beside_others() {
    let text = |id: &str, text: &str| {
        json!({"type": "message", "id": id, "role": "assistant",
            "content": [{"type": "output_text", "text": text}]})
    };
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.output_text.delta", "item_id": "a", "output_index": 0,
            "delta": "One"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": text("a", "One")}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": text("b", "Two")}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}}),
    ];
    assert_eq!(
        blocks(Dialect::Responses, &events),
        expected(&[("text", "One"), ("text", "Two")])
    );
}

#[test]
fn a_response_of_which_only_the_end_is_sent_is_read_whole() {
    let output = json!([
        {"type": "message", "id": "a", "role": "assistant",
            "content": [{"type": "output_text", "text": "One"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\":1}"},
    ]);
    let end = json!({"id": "resp_1", "status": "completed", "output": output});
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.output_text.done", "text": "One"}),
        json!({"type": "response.completed", "response": end}),
    ];
    let all = [("text", "One"), ("call", "f {\"a\":1}")];
    assert_eq!(blocks(Dialect::Responses, &events), expected(&all));
}

fn messages_stream(events: &[Value]) -> Vec<Value> {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let start = json!({"type": "message_start", "message": {"id": "m1", "usage": usage}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let mut all = vec![start];
    all.extend(events.iter().cloned());
    all.extend([end, json!({"type": "message_stop"})]);
    all
}

fn block_start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn block_delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

#[test]
fn blocks_that_end_after_all_content_are_read_once() {
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    for signature in ["", "c2ln"] {
        let signed = json!({"type": "signature_delta", "signature": signature});
        let events = messages_stream(&[
            block_start(0, json!({"type": "thinking", "thinking": ""})),
            block_delta(0, json!({"type": "thinking_delta", "thinking": "Hm."})),
            block_start(1, json!({"type": "text", "text": ""})),
            block_delta(1, json!({"type": "text_delta", "text": "Hi"})),
            block_delta(0, signed),
            stop(0),
            block_delta(1, json!({"type": "text_delta", "text": "!"})),
            block_start(2, json!({"type": "tool_use", "id": "t", "name": "f"})),
            block_delta(
                2,
                json!({"type": "input_json_delta", "partial_json": "{\"a\":1}"}),
            ),
            stop(1),
            stop(2),
        ]);
        assert_eq!(
            blocks(Dialect::Messages, &events),
            expected(&[
                ("thinking", "Hm."),
                ("text", "Hi!"),
                ("call", "f {\"a\":1}")
            ])
        );
    }
    // Content of a block that has ended cannot be put anywhere.
    let lost = messages_stream(&[
        block_start(0, json!({"type": "text", "text": ""})),
        stop(0),
        block_delta(0, json!({"type": "text_delta", "text": "Hi"})),
    ]);
    let error = broken(Dialect::Messages, &sse(&lost));
    assert!(error.message.contains("not open"), "{error}");
}

#[test]
fn a_streamed_call_may_begin_without_its_input() {
    for block in [
        json!({"type": "tool_use", "id": "t", "name": "f"}),
        json!({"type": "tool_use", "id": "t", "name": "f", "input": null}),
        json!({"type": "tool_use", "id": "t", "name": "f", "input": ""}),
    ] {
        let grows = block_delta(
            0,
            json!({"type": "input_json_delta", "partial_json": "{\"a\":1}"}),
        );
        for (deltas, input) in [(vec![grows], "f {\"a\":1}"), (vec![], "f {}")] {
            let mut events = vec![block_start(0, block.clone())];
            events.extend(deltas);
            assert_eq!(
                blocks(Dialect::Messages, &messages_stream(&events)),
                expected(&[("call", input)])
            );
        }
    }
}

#[test]
fn content_at_the_start_of_a_block_is_content_for_every_client() {
    let input = json!({"a": 1});
    let whole = json!({"type": "tool_use", "id": "t", "name": "f", "input": input});
    let repeated = json!({"type": "input_json_delta", "partial_json": "{\"a\":1}"});
    let mut events = vec![
        block_start(0, json!({"type": "thinking", "thinking": "Hm"})),
        block_delta(0, json!({"type": "thinking_delta", "thinking": "."})),
        block_start(1, json!({"type": "text", "text": "H"})),
        block_delta(1, json!({"type": "text_delta", "text": "i"})),
        block_start(2, whole),
    ];
    let all = expected(&[("thinking", "Hm."), ("text", "Hi"), ("call", "f {\"a\":1}")]);
    assert_eq!(blocks(Dialect::Messages, &messages_stream(&events)), all);
    events.push(block_delta(2, repeated));
    let events = messages_stream(&events);
    assert_eq!(blocks(Dialect::Messages, &events), all);
    let read = read(Dialect::Messages, &sse(&events));
    let written = write_events(&read, ClientDialect::Responses);
    let output = &written.last().unwrap()["response"]["output"];
    assert_eq!(output[0]["summary"][0]["text"], "Hm.");
    assert_eq!(output[1]["content"][0]["text"], "Hi");
    assert_eq!(output[2]["arguments"], "{\"a\":1}");
}

#[test]
fn a_delta_of_another_kind_than_its_block_is_a_block_of_its_own() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let input = json!({"type": "input_json_delta", "partial_json": "{\"a\":1}"});
    let text = |text: &str| json!({"type": "text_delta", "text": text});
    for (between, middle) in [("\n", None), ("Then:", Some(("text", "Then:")))] {
        let events = messages_stream(&[
            block_start(0, call("t1")),
            block_delta(0, input.clone()),
            block_delta(0, text(between)),
            json!({"type": "content_block_stop", "index": 0}),
            block_start(1, call("t2")),
            block_delta(1, input.clone()),
            json!({"type": "content_block_stop", "index": 1}),
        ]);
        let call = ("call", "f {\"a\":1}");
        let all: Vec<_> = [Some(call), middle, Some(call)]
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(blocks(Dialect::Messages, &events), expected(&all));
    }
    let arguments = messages_stream(&[
        block_start(0, json!({"type": "text", "text": ""})),
        block_delta(0, input),
    ]);
    let error = broken(Dialect::Messages, &sse(&arguments));
    assert!(error.message.contains("no call"), "{error}");
}
