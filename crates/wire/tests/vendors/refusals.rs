//! Refusals of OpenAI's models, which have a field of their own in both of its dialects.

use prowess_wire::neutral::{StreamEvent, replay};
use prowess_wire::{ClientDialect, Dialect, read_response};
use serde_json::{Value, json};

use crate::{read, sse, support, whole, write_events};

const TEXT: &str = "I cannot.";

/// A refusal in the stream of a Chat server.
fn chat_stream() -> String {
    let chunk = |delta: Value, reason: Option<&str>| {
        json!({"id": "c1", "model": "m", "choices": [
            {"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let first = json!({"role": "assistant", "content": "", "refusal": null});
    sse(&[
        chunk(first, None),
        chunk(json!({"refusal": "I "}), None),
        chunk(json!({"refusal": "cannot."}), None),
        chunk(json!({}), Some("stop")),
    ])
}

/// A refusal in a Responses stream, with or without deltas.
fn responses_stream(with_deltas: bool) -> String {
    let event = |kind: &str, key: &str, value: Value| {
        json!({"type": kind, "output_index": 0, "content_index": 0, "item_id": "msg_1",
            key: value})
    };
    let item = |content: Value| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": content})
    };
    let part = |text: &str| json!({"type": "refusal", "refusal": text});
    let whole = item(json!([part(TEXT)]));
    let response = json!({"id": "resp_1", "model": "m", "status": "completed", "output": [whole]});
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "m"}}),
        event("response.output_item.done", "item", whole),
        json!({"type": "response.completed", "response": response}),
    ];
    if with_deltas {
        let deltas = [
            event("response.output_item.added", "item", item(json!([]))),
            event("response.content_part.added", "part", part("")),
            event("response.refusal.delta", "delta", "I ".into()),
            event("response.refusal.delta", "delta", "cannot.".into()),
            event("response.refusal.done", "refusal", TEXT.into()),
            event("response.content_part.done", "part", part(TEXT)),
        ];
        drop(events.splice(1..1, deltas));
    }
    sse(&events)
}

#[test]
fn a_streamed_refusal_is_one_in_both_dialects() {
    for (upstream, stream) in [
        (Dialect::Chat, chat_stream()),
        (Dialect::Responses, responses_stream(true)),
        (Dialect::Responses, responses_stream(false)),
    ] {
        let events = read(upstream, &stream);
        let chat = write_events(&events, ClientDialect::Chat);
        let added = |key: &str| -> String {
            let deltas = chat.iter().map(|chunk| &chunk["choices"][0]["delta"]);
            deltas.filter_map(|delta| delta[key].as_str()).collect()
        };
        assert_eq!(added("refusal"), TEXT, "{stream}");
        assert_eq!(added("content"), "", "{stream}");
        let reasons = chat.iter().map(|chunk| &chunk["choices"][0]);
        let mut reasons = reasons.filter_map(|choice| choice["finish_reason"].as_str());
        assert_eq!(reasons.next(), Some("stop"), "{stream}");

        let responses = write_events(&events, ClientDialect::Responses);
        let deltas = responses
            .iter()
            .filter(|event| event["type"] == "response.refusal.delta");
        let deltas = deltas.filter_map(|event| event["delta"].as_str());
        assert_eq!(deltas.collect::<String>(), TEXT, "{stream}");
        let response = &responses.last().unwrap()["response"];
        assert_eq!(response["status"], "completed", "{stream}");
        let parts = json!([{"type": "refusal", "refusal": TEXT}]);
        assert_eq!(response["output"][0]["content"], parts, "{stream}");

        let messages = write_events(&events, ClientDialect::Messages);
        let mut starts = messages
            .iter()
            .filter_map(|event| event.get("content_block"));
        assert_eq!(starts.next(), Some(&json!({"type": "text", "text": ""})));
        let reason = messages
            .iter()
            .find_map(|event| event["delta"]["stop_reason"].as_str());
        assert_eq!(reason, Some("refusal"), "{stream}");
    }
}

/// The text that a Chat client gets in a field, and the reason at the end.
fn chat_text(events: &[StreamEvent], field: &str) -> (String, String) {
    let chunks = write_events(events, ClientDialect::Chat);
    let choices = || chunks.iter().map(|chunk| &chunk["choices"][0]);
    let texts = choices().filter_map(|choice| choice["delta"][field].as_str());
    let reasons = choices().filter_map(|choice| choice["finish_reason"].as_str());
    (texts.collect(), reasons.collect())
}

#[test]
fn a_refusal_between_the_fragments_of_a_call_is_one() {
    let chunk = |delta: Value, reason: Option<&str>| {
        json!({"id": "c1", "model": "m", "choices": [
            {"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let call = |arguments: &str| {
        let function = json!({"name": "look", "arguments": arguments});
        json!({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]})
    };
    let stream = sse(&[
        chunk(call("{\"at\":"), None),
        chunk(json!({"content": "Well. "}), None),
        chunk(json!({"refusal": "I "}), None),
        chunk(json!({"refusal": "cannot."}), None),
        chunk(call("1}"), None),
        chunk(json!({}), Some("stop")),
    ]);
    let events = read(Dialect::Chat, &stream);
    let (refusal, reason) = chat_text(&events, "refusal");
    assert_eq!((refusal.as_str(), reason.as_str()), (TEXT, "stop"));
    assert_eq!(chat_text(&events, "content").0, "Well. ");
}

#[test]
fn text_after_a_refusal_is_no_part_of_it() {
    let chunk = |delta: Value, reason: Option<&str>| {
        json!({"id": "c1", "model": "m", "choices": [
            {"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let stream = sse(&[
        chunk(json!({"refusal": TEXT}), None),
        chunk(json!({"content": "But this."}), None),
        chunk(json!({}), Some("stop")),
    ]);
    let events = read(Dialect::Chat, &stream);
    assert_eq!(chat_text(&events, "refusal").0, TEXT);
    assert_eq!(chat_text(&events, "content").0, "But this.");
}

#[test]
fn a_whole_refusal_is_one_as_a_stream_too() {
    let message = json!({"role": "assistant", "content": null, "refusal": TEXT});
    let chat = json!({"id": "c1", "model": "m", "choices": [
        {"index": 0, "message": message, "finish_reason": "stop"}]});
    let item = json!({"id": "msg_1", "type": "message", "role": "assistant",
        "status": "completed", "content": [{"type": "refusal", "refusal": TEXT}]});
    let responses = json!({"id": "resp_1", "model": "m", "status": "completed", "output": [item]});
    for (upstream, answer) in [(Dialect::Chat, chat), (Dialect::Responses, responses)] {
        let context = support::context();
        let answer = answer.to_string();
        let events = replay(read_response(upstream, answer.as_bytes(), &context).unwrap());
        let (refusal, reason) = chat_text(&events, "refusal");
        assert_eq!((refusal.as_str(), reason.as_str()), (TEXT, "stop"));
        assert_eq!(chat_text(&events, "content").0, "");

        let written = write_events(&events, ClientDialect::Responses);
        let deltas = written.iter();
        let deltas = deltas.filter(|event| event["type"] == "response.refusal.delta");
        let deltas = deltas.filter_map(|event| event["delta"].as_str());
        assert_eq!(deltas.collect::<String>(), TEXT);
        let output = &written.last().unwrap()["response"]["output"];
        let parts = json!([{"type": "refusal", "refusal": TEXT}]);
        assert_eq!(output[0]["content"], parts);
    }
}

#[test]
fn text_before_a_refusal_is_no_part_of_it_whole_or_streamed() {
    let message = json!({"role": "assistant", "content": "Well. ", "refusal": TEXT});
    let answer = json!({"id": "c1", "model": "m", "choices": [
        {"index": 0, "message": message, "finish_reason": "stop"}]});
    let body = whole(Dialect::Chat, &answer, ClientDialect::Chat);
    let choice = &body["choices"][0];
    assert_eq!(choice["message"]["content"], "Well. ");
    assert_eq!(choice["message"]["refusal"], TEXT);
    assert_eq!(choice["finish_reason"], "stop");

    let context = support::context();
    let read = read_response(Dialect::Chat, answer.to_string().as_bytes(), &context);
    let events = replay(read.unwrap());
    let (refusal, reason) = chat_text(&events, "refusal");
    assert_eq!((refusal.as_str(), reason.as_str()), (TEXT, "stop"));
    assert_eq!(chat_text(&events, "content").0, "Well. ");

    let written = write_events(&events, ClientDialect::Responses);
    for response in [
        &whole(Dialect::Chat, &answer, ClientDialect::Responses),
        &written.last().unwrap()["response"],
    ] {
        assert_eq!(response["status"], "completed");
        let output = &response["output"];
        assert_eq!(output[0]["content"][0]["text"], "Well. ");
        let refusal = json!([{"type": "refusal", "refusal": TEXT}]);
        assert_eq!(output[1]["content"], refusal);
    }
}
