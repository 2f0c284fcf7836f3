//! Token counts as vendors give them.

use prowess_wire::neutral::{ServiceTier, StreamEvent, TokenUsage};
use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};

use crate::{read, sse, whole, write_events};

fn answer(usage: &Value) -> Value {
    let message = json!({"role": "assistant", "content": "Hi"});
    json!({"id": "c1", "model": "m", "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
}

fn chunk(delta: &Value, reason: Option<&str>) -> Value {
    json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
}

fn streamed(chunks: &[Value]) -> TokenUsage {
    let events = read(Dialect::Chat, &sse(chunks));
    let usage = events.into_iter().find_map(|event| match event {
        StreamEvent::MessageDelta { usage, .. } => Some(usage),
        _ => None,
    });
    usage.unwrap()
}

#[test]
fn groks_thoughts_are_output_in_every_dialect() {
    let usage = json!({"prompt_tokens": 12, "completion_tokens": 2, "total_tokens": 354,
        "completion_tokens_details": {"reasoning_tokens": 340}});
    let messages = whole(Dialect::Chat, &answer(&usage), ClientDialect::Messages);
    assert_eq!(messages["usage"]["output_tokens"], 342);
    assert_eq!(
        messages["usage"]["output_tokens_details"]["thinking_tokens"],
        340
    );
    let responses = whole(Dialect::Chat, &answer(&usage), ClientDialect::Responses);
    assert_eq!(responses["usage"]["output_tokens"], 342);
    assert_eq!(responses["usage"]["total_tokens"], 354);
    let mut last = chunk(&json!({}), Some("stop"));
    last["usage"] = usage;
    let usage = streamed(&[chunk(&json!({"content": "Hi"}), None), last]);
    assert_eq!((usage.output_tokens, usage.thinking_tokens), (342, 340));
}

#[test]
fn vendors_own_counts_of_cached_input_are_cache_reads() {
    for cached in [
        json!({"num_cached_tokens": 8}),
        json!({"cached_tokens": 8}),
        json!({"prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2}),
    ] {
        let mut usage = json!({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13});
        usage
            .as_object_mut()
            .unwrap()
            .extend(cached.as_object().unwrap().clone());
        let body = whole(Dialect::Chat, &answer(&usage), ClientDialect::Messages);
        assert_eq!(body["usage"]["cache_read_input_tokens"], 8, "{usage}");
        assert_eq!(body["usage"]["input_tokens"], 2, "{usage}");
        let body = whole(Dialect::Chat, &answer(&usage), ClientDialect::Responses);
        assert_eq!(
            body["usage"]["input_tokens_details"]["cached_tokens"], 8,
            "{usage}"
        );
        assert_eq!(body["usage"]["input_tokens"], 10, "{usage}");
    }
}

#[test]
fn groqs_and_moonshots_counts_are_found_where_they_stand() {
    let usage =
        json!({"queue_time": 0.1, "prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8});
    let mut last = chunk(&json!({}), Some("stop"));
    last["x_groq"] = json!({"id": "req_1", "usage": usage});
    let mut first = chunk(&json!({"role": "assistant", "content": "Hi"}), None);
    first["x_groq"] = json!({"id": "req_1"});
    let found = streamed(&[first, last]);
    assert_eq!((found.input_tokens, found.output_tokens), (5, 3));

    let mut last = chunk(&json!({}), Some("stop"));
    last["choices"][0]["usage"] = usage;
    let found = streamed(&[chunk(&json!({"content": "Hi"}), None), last]);
    assert_eq!((found.input_tokens, found.output_tokens), (5, 3));
}

#[test]
fn odd_counts_do_not_spoil_an_answer() {
    let usage = json!({"prompt_tokens": "5", "completion_tokens": -1, "total_tokens": null,
        "completion_tokens_details": []});
    let body = whole(Dialect::Chat, &answer(&usage), ClientDialect::Messages);
    assert_eq!(body["content"][0]["text"], "Hi");
    assert_eq!(body["usage"]["output_tokens"], 0);
}

#[test]
fn a_later_count_of_anthropics_replaces_what_it_names_and_nothing_else() {
    let start = json!({"type": "message_start", "message": {"id": "msg_1", "usage": {
        "input_tokens": 90, "output_tokens": 1, "cache_read_input_tokens": 70,
        "cache_creation_input_tokens": 5}}});
    let delta = |usage: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
    let stop = json!({"type": "message_stop"});
    let last = |usage: Value| {
        let events = read(
            Dialect::Messages,
            &sse(&[start.clone(), delta(usage), stop.clone()]),
        );
        let events_out = write_events(&events, ClientDialect::Messages);
        events_out[1]["usage"].clone()
    };
    let usage = last(json!({"input_tokens": 20, "output_tokens": 9, "cache_read_input_tokens": 0}));
    assert_eq!(usage["input_tokens"], 20);
    assert_eq!(usage["cache_read_input_tokens"], 0);
    assert_eq!(usage["cache_creation_input_tokens"], 5);
    assert_eq!(usage["output_tokens"], 9);
    let usage = last(json!({"output_tokens": 9, "cache_read_input_tokens": null}));
    assert_eq!(usage["input_tokens"], 90);
    assert_eq!(usage["cache_read_input_tokens"], 70);
}

#[test]
fn compactions_are_used_tokens_that_a_messages_client_finds_where_anthropic_has_them() {
    let iterations = json!([
        {"type": "compaction", "input_tokens": 50, "output_tokens": 5},
        {"type": "message", "input_tokens": 20, "output_tokens": 9},
    ]);
    let usage = json!({"input_tokens": 20, "output_tokens": 9, "iterations": iterations});
    let answer = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [], "stop_reason": "end_turn", "usage": usage});
    let start = json!({"type": "message_start",
        "message": {"id": "msg_1", "usage": {"input_tokens": 70, "output_tokens": 1}}});
    let delta =
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
    let events = [start, delta, json!({"type": "message_stop"})];
    let events = read(Dialect::Messages, &sse(&events));
    let streamed = |client| {
        let events = write_events(&events, client);
        let usage = events.into_iter().rev().find_map(|event| {
            let usage = event.get("usage").or(event.get("response")?.get("usage"));
            usage.filter(|usage| !usage.is_null()).cloned()
        });
        usage.unwrap()
    };
    for usage in [
        whole(Dialect::Messages, &answer, ClientDialect::Responses)["usage"].clone(),
        streamed(ClientDialect::Responses),
    ] {
        assert_eq!(usage["input_tokens"], 70);
        assert_eq!(usage["output_tokens"], 14);
    }
    for usage in [
        whole(Dialect::Messages, &answer, ClientDialect::Messages)["usage"].clone(),
        write_events(&events, ClientDialect::Messages)[1]["usage"].clone(),
    ] {
        assert_eq!(usage["input_tokens"], 20);
        assert_eq!(usage["output_tokens"], 9);
        assert_eq!(usage["iterations"], iterations);
    }
}

#[test]
fn what_decides_about_the_cost_of_a_stream_is_read_from_all_of_its_events() {
    let start = json!({"type": "message_start", "message": {"id": "msg_1", "usage": {
        "input_tokens": 9, "output_tokens": 1, "cache_creation_input_tokens": 5,
        "cache_creation": {"ephemeral_1h_input_tokens": 5}, "speed": "fast"}}});
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 9, "server_tool_use": {"web_search_requests": 2}}});
    let events = read(
        Dialect::Messages,
        &sse(&[start, delta, json!({"type": "message_stop"})]),
    );
    let last = events.into_iter().find_map(|event| match event {
        StreamEvent::MessageDelta { usage, .. } => usage.details,
        _ => None,
    });
    let details = last.unwrap();
    assert_eq!(details.cache_creation_1h_tokens, 5);
    assert_eq!(details.web_searches, 2);
    assert_eq!(details.tier, Some(ServiceTier::Fast));
}

#[test]
fn tier_and_searches_of_openais_streams_are_counted_once() {
    let mut first = chunk(&json!({"content": "Hi"}), None);
    first["service_tier"] = json!("flex");
    let usage = streamed(&[first, chunk(&json!({}), Some("stop"))]);
    assert_eq!(usage.tier(), Some(ServiceTier::Flex));

    let search = json!({"id": "ws_1", "type": "web_search_call", "status": "completed",
        "action": {"type": "search", "query": "bern"}});
    let event = |kind: &str| json!({"type": kind, "output_index": 0, "item": search});
    let whole = json!({"id": "resp_1", "model": "m", "status": "completed",
        "service_tier": "priority", "output": [search]});
    let created = json!({"type": "response.created", "response": {"id": "resp_1", "model": "m"}});
    let completed = json!({"type": "response.completed", "response": whole});
    let added = event("response.output_item.added");
    let done = event("response.output_item.done");
    for events in [
        vec![created.clone(), added, done, completed.clone()],
        // Some servers send nothing but the end.
        vec![created, completed],
    ] {
        let events = read(Dialect::Responses, &sse(&events));
        let usage = events.into_iter().find_map(|event| match event {
            StreamEvent::MessageDelta { usage, .. } => Some(usage),
            _ => None,
        });
        let usage = usage.unwrap();
        assert_eq!(usage.tier(), Some(ServiceTier::Priority));
        assert_eq!(usage.details.unwrap().web_searches, 1);
    }
}

#[test]
fn more_cached_tokens_than_input_are_not_more_input() {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 160}});
    let body = whole(Dialect::Chat, &answer(&usage), ClientDialect::Messages);
    assert_eq!(body["usage"]["cache_read_input_tokens"], 10);
    assert_eq!(body["usage"]["input_tokens"], 0);
    let body = whole(Dialect::Chat, &answer(&usage), ClientDialect::Responses);
    assert_eq!(body["usage"]["input_tokens"], 10);
    assert_eq!(body["usage"]["total_tokens"], 13);
}

#[test]
fn more_thoughts_than_output_are_not_more_output() {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30,
        "completion_tokens_details": {"reasoning_tokens": 25}});
    let body = whole(Dialect::Chat, &answer(&usage), ClientDialect::Gemini);
    assert_eq!(body["usageMetadata"]["thoughtsTokenCount"], 20);
    assert_eq!(body["usageMetadata"]["candidatesTokenCount"], 0);
    assert_eq!(body["usageMetadata"]["totalTokenCount"], 30);
}
