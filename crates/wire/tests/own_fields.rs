//! Fields of a Chat response that only Chat has reach a Chat client through a run of
//! several turns, whole and streamed, and no other client.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod support;

use prowess_wire::neutral::{
    Map, Response, ResponseCollector, StreamEvent, TokenUsage, merge_dialect_fields, replay,
};
use prowess_wire::{
    ClientDialect, Dialect, ReplyContext, StreamReader, StreamWriter, read_response, write_response,
};
use serde_json::{Value, json};
use support::context;

fn turn(text: &str, cost: f64) -> Value {
    json!({"id": "c1", "object": "chat.completion", "created": 1, "model": "m",
        "provider": "Azure", "system_fingerprint": format!("fp_{text}"), "service_tier": "default",
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": false}}}],
        "choices": [{"index": 0, "finish_reason": "stop", "native_finish_reason": "stop",
            "content_filter_results": {"hate": {"filtered": false, "severity": "safe"}},
            "logprobs": {"content": [{"token": text, "logprob": -0.1}], "refusal": null},
            "message": {"role": "assistant", "content": text, "refusal": null,
                "annotations": [{"type": "url_citation", "url_citation": {"url": text}}]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "cost": cost,
            "is_byok": false, "cost_details": {"upstream_inference_cost": cost},
            "prompt_tokens_details": {"cached_tokens": 1, "audio_tokens": 4}}})
}

/// The same, in chunks.
fn chunks(turn: &Value) -> String {
    let choice = &turn["choices"][0];
    let mut head = turn.clone();
    head["object"] = "chat.completion.chunk".into();
    for key in ["choices", "usage", "prompt_filter_results"] {
        head.as_object_mut().unwrap().shift_remove(key);
    }
    let with = |key: &str, value: Value, choices: Value| {
        let mut chunk = head.clone();
        chunk[key] = value;
        chunk["choices"] = choices;
        format!("data: {chunk}\n\n")
    };
    let delta = json!({"role": "assistant", "content": choice["message"]["content"],
        "annotations": choice["message"]["annotations"]});
    let mut first = json!({"index": 0, "delta": delta, "finish_reason": null});
    first["logprobs"] = choice["logprobs"].clone();
    let last = json!({"index": 0, "delta": {}, "finish_reason": "stop", "logprobs": null,
        "native_finish_reason": "stop", "content_filter_results": choice["content_filter_results"]});
    with(
        "prompt_filter_results",
        turn["prompt_filter_results"].clone(),
        json!([]),
    ) + &with("service_tier", "default".into(), json!([first]))
        + &with("service_tier", "default".into(), json!([last]))
        + &with("usage", turn["usage"].clone(), json!([]))
        + "data: [DONE]\n\n"
}

fn read_turn(turn: &Value, stream: bool) -> Vec<StreamEvent> {
    if !stream {
        let body = turn.to_string();
        return replay(read_response(Dialect::Chat, body.as_bytes(), &context()).unwrap());
    }
    let mut reader = StreamReader::new(Dialect::Chat, context());
    let mut events = reader.push(chunks(turn).as_bytes());
    events.extend(reader.finish());
    events
}

fn collected(events: Vec<StreamEvent>) -> Response {
    let mut collector = ResponseCollector::new(Dialect::Chat);
    for event in events {
        collector.push(event).unwrap();
    }
    collector.finish().unwrap()
}

/// One response of two turns, as in a run.
fn run(stream: bool) -> Vec<StreamEvent> {
    let (first, last) = (
        read_turn(&turn("one", 0.25), stream),
        read_turn(&turn("two", 0.5), stream),
    );
    let mut own = Map::new();
    let mut used = TokenUsage::default();
    for events in [&first, &last] {
        let whole = collected(events.clone());
        merge_dialect_fields(&mut own, &whole.rest);
        used.add(&whole.usage);
    }
    let mut events = last;
    for event in &mut events {
        if let StreamEvent::MessageDelta { usage, rest, .. } = event {
            usage.clone_from(&used);
            rest.clone_from(&own);
        }
    }
    events
}

fn check(body: &Value, choice: &Value, message: &Value, usage: &Value) {
    assert_eq!(body["system_fingerprint"], "fp_two");
    assert_eq!(body["service_tier"], "default");
    assert_eq!(body["provider"], "Azure");
    assert_eq!(body["prompt_filter_results"].as_array().unwrap().len(), 1);
    assert_eq!(choice["content_filter_results"]["hate"]["severity"], "safe");
    assert_eq!(choice["logprobs"]["content"][0]["token"], "one");
    assert_eq!(choice["logprobs"]["content"][1]["token"], "two");
    assert_eq!(message["annotations"].as_array().unwrap().len(), 2);
    assert_eq!(usage["cost"], 0.75);
    assert_eq!(usage["cost_details"]["upstream_inference_cost"], 0.75);
    assert_eq!(usage["is_byok"], false);
    assert_eq!(
        usage["prompt_tokens_details"],
        json!({"cached_tokens": 2, "cache_write_tokens": 0, "audio_tokens": 8})
    );
    assert_eq!(usage["total_tokens"], 10);
}

#[test]
fn a_chat_client_gets_what_its_server_sent_beside_the_text() {
    for upstream_streams in [false, true] {
        let events = run(upstream_streams);
        let whole = collected(events.clone());
        let (body, dropped) = write_response(ClientDialect::Chat, &whole, &ReplyContext::default());
        let choice = &body["choices"][0];
        check(&body, choice, &choice["message"], &body["usage"]);
        assert_eq!(dropped, []);
        assert!(!body.to_string().contains("prowess_own"), "{body}");

        let mut reply = ReplyContext::default();
        reply.include_usage = true;
        let mut writer = StreamWriter::new(ClientDialect::Chat, reply);
        let mut out = Vec::new();
        for event in &events {
            writer.write(event, &mut out);
        }
        let text = String::from_utf8(out).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: {"));
        let chunks: Vec<Value> = data
            .map(|data| serde_json::from_str(&format!("{{{data}")).unwrap())
            .collect();
        let last = chunks
            .iter()
            .find(|c| c["choices"][0]["finish_reason"] == "stop")
            .unwrap();
        let message = chunks
            .iter()
            .map(|chunk| &chunk["choices"][0]["delta"])
            .find(|delta| delta.get("annotations").is_some())
            .unwrap();
        let usage = &chunks.last().unwrap()["usage"];
        check(last, &last["choices"][0], message, usage);
    }
}

#[test]
fn other_clients_get_nothing_of_it_and_it_is_named() {
    let body = turn("one", 0.25).to_string();
    let answer = read_response(Dialect::Chat, body.as_bytes(), &context()).unwrap();
    for client in [
        ClientDialect::Messages,
        ClientDialect::Responses,
        ClientDialect::Gemini,
    ] {
        let (body, dropped) = write_response(client, &answer, &ReplyContext::default());
        let text = body.to_string();
        for word in ["cost", "prowess_own", "content_filter", "fp_one"] {
            assert!(!text.contains(word), "{client:?} {word}: {text}");
        }
        let dropped: Vec<&str> = dropped.iter().map(|drop| drop.field.as_str()).collect();
        for field in [
            "usage.cost",
            "system_fingerprint",
            "choices[0].message.annotations",
        ] {
            assert!(dropped.contains(&field), "{client:?} {field}: {dropped:?}");
        }
        let mut writer = StreamWriter::new(client, ReplyContext::default());
        let mut out = Vec::new();
        for event in read_turn(&turn("one", 0.25), true) {
            writer.write(&event, &mut out);
        }
        let text = String::from_utf8(out).unwrap();
        assert!(
            !text.contains("cost") && !text.contains("prowess_own"),
            "{text}"
        );
    }
}
