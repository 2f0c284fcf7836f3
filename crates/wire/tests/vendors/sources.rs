//! Sources of texts: citations of web pages between OpenAI's two dialects, and what is named
//! where a dialect has no place for them.

use prowess_wire::neutral::{ResponseCollector, StreamEvent, replay};
use prowess_wire::{ClientDialect, Dialect, StreamWriter, read_response, write_response};
use serde_json::{Value, json};

use crate::{read, reply, sse, support, write_events};

const TEXT: &str = "Größe [1] und mehr.";

const ALL: [ClientDialect; 4] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
    ClientDialect::Gemini,
];

/// A citation as Responses has it.
fn flat(start: u64) -> Value {
    json!({"type": "url_citation", "start_index": start, "end_index": start + 3,
        "title": "A", "url": "https://a.test"})
}

/// A citation as Chat has it.
fn nested(start: u64) -> Value {
    json!({"type": "url_citation", "url_citation": {"start_index": start,
        "end_index": start + 3, "title": "A", "url": "https://a.test"}})
}

fn chat_answer(annotations: &Value) -> Value {
    json!({"id": "c1", "model": "m", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": TEXT, "annotations": annotations}}]})
}

fn chunk(delta: &Value, reason: Option<&str>) -> Value {
    json!({"id": "c1", "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
}

fn chat_stream(annotations: &Value) -> Vec<StreamEvent> {
    let chunks = [
        chunk(&json!({"role": "assistant", "content": "Größe [1]"}), None),
        chunk(&json!({"content": " und mehr."}), None),
        chunk(&json!({"annotations": annotations}), Some("stop")),
    ];
    read(Dialect::Chat, &sse(&chunks))
}

/// Two texts in one message; the second has a citation of a page and one of a file.
fn responses_item() -> Value {
    let file = json!({"type": "file_citation", "index": 1, "file_id": "f", "filename": "n"});
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [
            {"type": "output_text", "text": "Größe. ", "annotations": []},
            {"type": "output_text", "text": TEXT, "annotations": [flat(6), file]}]})
}

fn responses_answer() -> Value {
    json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m",
        "output": [responses_item()]})
}

fn responses_stream() -> Vec<StreamEvent> {
    let item = responses_item();
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "m"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item":
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress",
            "content": []}}),
    ];
    for (place, part) in item["content"].as_array().unwrap().iter().enumerate() {
        let place = json!({"item_id": "msg_1", "output_index": 0, "content_index": place});
        let event = |kind: &str, key: &str, value: &Value| {
            let mut event = place.clone();
            event["type"] = kind.into();
            event[key] = value.clone();
            event
        };
        events.push(event("response.output_text.delta", "delta", &part["text"]));
        for (number, annotation) in part["annotations"].as_array().unwrap().iter().enumerate() {
            let kind = "response.output_text.annotation.added";
            let mut added = event(kind, "annotation", annotation);
            added["annotation_index"] = number.into();
            events.push(added);
        }
        events.push(event("response.content_part.done", "part", part));
    }
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    events.push(json!({"type": "response.completed", "response": responses_answer()}));
    read(Dialect::Responses, &sse(&events))
}

/// A whole response for a client, and what is dropped.
fn whole(upstream: Dialect, answer: &Value, client: ClientDialect) -> (Value, Vec<String>) {
    let context = support::context();
    let response = read_response(upstream, answer.to_string().as_bytes(), &context).unwrap();
    let (body, dropped) = write_response(client, &response, &reply());
    (body, dropped.into_iter().map(|one| one.field).collect())
}

/// What of a stream is dropped.
fn dropped(events: &[StreamEvent], client: ClientDialect) -> Vec<String> {
    let mut writer = StreamWriter::new(client, reply());
    for event in events {
        writer.write(event, &mut Vec::new());
    }
    let dropped = writer.take_dropped().into_iter();
    dropped.map(|one| one.field).collect()
}

/// A stream as the whole response of a run.
fn collected(events: &[StreamEvent], client: ClientDialect) -> (Value, Vec<String>) {
    let mut collector = ResponseCollector::new(client.into());
    for event in events {
        collector.push(event.clone()).unwrap();
    }
    let (body, dropped) = write_response(client, &collector.finish().unwrap(), &reply());
    (body, dropped.into_iter().map(|one| one.field).collect())
}

fn event<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let found = events.iter().find(|event| event["type"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}: {events:?}"))
}

#[test]
fn citations_of_a_chat_server_are_those_of_a_responses_text() {
    let (client, none) = (ClientDialect::Responses, Vec::<String>::new());
    let answer = chat_answer(&json!([nested(6)]));
    let (body, names) = whole(Dialect::Chat, &answer, client);
    let part = &body["output"][0]["content"][0];
    assert_eq!(part["annotations"], json!([flat(6)]));
    assert_eq!(names, none);

    let context = support::context();
    let again = read_response(Dialect::Chat, answer.to_string().as_bytes(), &context).unwrap();
    for events in [chat_stream(&json!([nested(6)])), replay(again)] {
        let written = write_events(&events, client);
        let added = event(&written, "response.output_text.annotation.added");
        assert_eq!(added["annotation"], flat(6));
        for index in ["output_index", "content_index", "annotation_index"] {
            assert_eq!(added[index], 0, "{added}");
        }
        let end = &event(&written, "response.completed")["response"]["output"][0];
        assert_eq!(end["content"][0]["annotations"], json!([flat(6)]));
        assert_eq!(end["content"][0]["text"], TEXT);
        assert_eq!(added["item_id"], end["id"]);
        assert_eq!(dropped(&events, client), none);

        let (body, names) = collected(&events, client);
        let part = &body["output"][0]["content"][0];
        assert_eq!(part["annotations"], json!([flat(6)]));
        assert_eq!(names, none);
    }
}

#[test]
fn citations_of_a_responses_text_are_those_of_a_chat_message() {
    let before = u64::try_from("Größe. ".chars().count()).unwrap();
    let expected = json!([nested(before + 6)]);
    let lost = "content[1].annotations".to_owned();
    let (body, names) = whole(Dialect::Responses, &responses_answer(), ClientDialect::Chat);
    assert_eq!(body["choices"][0]["message"]["annotations"], expected);
    assert!(names.contains(&lost), "{names:?}");

    let events = responses_stream();
    let written = write_events(&events, ClientDialect::Chat);
    let deltas = written.iter().map(|chunk| &chunk["choices"][0]["delta"]);
    let lists: Vec<&Value> = deltas
        .filter_map(|delta| delta.get("annotations"))
        .collect();
    assert_eq!(lists, [&expected]);
    assert_eq!(
        dropped(&events, ClientDialect::Chat),
        std::slice::from_ref(&lost)
    );
    let (body, names) = collected(&events, ClientDialect::Chat);
    assert_eq!(body["choices"][0]["message"]["annotations"], expected);
    assert!(names.contains(&lost), "{names:?}");
}

#[test]
fn sources_of_the_same_dialect_are_as_they_were() {
    // Only Chat servers know what the last two mean.
    let annotations = json!([nested(6), {"type": "url_citation", "url_citation": {"url": "b"}},
        {"type": "file", "file": {"hash": "x"}}]);
    let client = ClientDialect::Chat;
    let (body, names) = whole(Dialect::Chat, &chat_answer(&annotations), client);
    assert_eq!(body["choices"][0]["message"]["annotations"], annotations);
    assert_eq!(names, Vec::<String>::new());
    let events = chat_stream(&annotations);
    let written = write_events(&events, client);
    let deltas = written.iter().map(|chunk| &chunk["choices"][0]["delta"]);
    let lists: Vec<&Value> = deltas
        .filter_map(|delta| delta.get("annotations"))
        .collect();
    assert_eq!(lists, [&annotations]);
    assert_eq!(dropped(&events, client), Vec::<String>::new());
    let (body, names) = collected(&events, client);
    assert_eq!(body["choices"][0]["message"]["annotations"], annotations);
    assert_eq!(names, Vec::<String>::new());

    let client = ClientDialect::Responses;
    let expected = &responses_item()["content"][1]["annotations"];
    let events = responses_stream();
    let written = write_events(&events, client);
    let added = written
        .iter()
        .filter(|event| event["type"] == "response.output_text.annotation.added");
    assert_eq!(added.count(), 2);
    let end = &event(&written, "response.completed")["response"]["output"][0];
    assert_eq!(&end["content"][1]["annotations"], expected);
    let (body, _) = collected(&events, client);
    let part = &body["output"][0]["content"][1];
    assert_eq!(&part["annotations"], expected);
}

#[test]
fn citations_without_a_place_in_the_only_text_are_named() {
    let client = ClientDialect::Responses;
    let lost = vec!["choices[0].message.annotations".to_owned()];
    let annotations = json!([nested(6), {"type": "url_citation", "url_citation": {"url": "b"}}]);
    let (body, names) = whole(Dialect::Chat, &chat_answer(&annotations), client);
    let part = &body["output"][0]["content"][0];
    assert_eq!(part["annotations"], json!([flat(6)]));
    assert_eq!(names, lost);
    assert_eq!(dropped(&chat_stream(&annotations), client), lost);

    // Text, a call, and then what was cited: the text has ended.
    let call = json!({"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "look", "arguments": "{}"}});
    let chunks = [
        chunk(&json!({"content": TEXT}), None),
        chunk(&json!({"tool_calls": [call]}), None),
        chunk(&json!({"annotations": [nested(6)]}), Some("tool_calls")),
    ];
    let events = read(Dialect::Chat, &sse(&chunks));
    assert_eq!(dropped(&events, client), lost);
}

#[test]
fn clients_without_such_citations_learn_that_they_are_lost() {
    for client in [ClientDialect::Messages, ClientDialect::Gemini] {
        let lost = "choices[0].message.annotations".to_owned();
        let annotations = json!([nested(6)]);
        let (body, names) = whole(Dialect::Chat, &chat_answer(&annotations), client);
        assert!(!body.to_string().contains("a.test"), "{body}");
        assert_eq!(names, std::slice::from_ref(&lost));
        assert_eq!(dropped(&chat_stream(&annotations), client), [lost]);

        // Anthropic refuses a text that comes back with annotations.
        let lost = "content[1].annotations".to_owned();
        let (body, names) = whole(Dialect::Responses, &responses_answer(), client);
        assert!(!body.to_string().contains("annotations"), "{body}");
        assert!(names.contains(&lost), "{client:?}: {names:?}");
        let events = responses_stream();
        let written = json!(write_events(&events, client)).to_string();
        assert!(!written.contains("annotations"), "{written}");
        assert_eq!(dropped(&events, client), [lost]);
    }
}

#[test]
fn lists_of_sources_reach_clients_of_their_dialect_and_are_named_to_others() {
    let mut answer = chat_answer(&json!([]));
    let mut last = chunk(&json!({}), Some("stop"));
    for body in [&mut answer, &mut last] {
        body["citations"] = json!(["https://a.test"]);
        body["search_results"] = json!([{"title": "A", "url": "https://a.test", "date": null}]);
    }
    let first = chunk(&json!({"content": TEXT}), None);
    let events = read(Dialect::Chat, &sse(&[first, last]));
    for client in ALL {
        let (body, names) = whole(Dialect::Chat, &answer, client);
        let streamed = json!(write_events(&events, client)).to_string();
        let is_own = client == ClientDialect::Chat;
        assert_eq!(body.to_string().contains("a.test"), is_own, "{client:?}");
        assert_eq!(streamed.contains("a.test"), is_own, "{client:?}");
        let lost: &[&str] = match is_own {
            true => &[],
            false => &["citations", "search_results"],
        };
        assert_eq!(names, lost, "{client:?}");
        assert_eq!(dropped(&events, client), lost, "{client:?}");
    }

    let grounded = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": TEXT}]},
        "finishReason": "STOP", "groundingMetadata": {"webSearchQueries": ["a"]}}]});
    let events = read(Dialect::Gemini, &sse(&[grounded]));
    for client in ALL {
        let lost: &[&str] = match client {
            ClientDialect::Gemini => &[],
            _ => &["candidates[0].groundingMetadata"],
        };
        assert_eq!(dropped(&events, client), lost, "{client:?}");
    }
}
