//! Calls whose arguments Gemini streams in pieces.

use prowess_wire::neutral::{Content, ResponseCollector, StreamEvent};
use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};

use crate::{broken, read, sse, write_events};

fn fragment(part: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": [part]}}], "responseId": "r1"})
}

fn piece(path: &str, text: &str, goes_on: bool) -> Value {
    let place = json!({"jsonPath": path, "stringValue": text, "willContinue": goes_on});
    json!({"functionCall": {"partialArgs": [place], "willContinue": true}})
}

fn begin(name: &str) -> Value {
    json!({"functionCall": {"name": name, "willContinue": true}})
}

fn stream(parts: &[Value]) -> Vec<Value> {
    let mut fragments: Vec<Value> = parts.iter().map(fragment).collect();
    fragments.push(json!({"candidates": [{"content": {"parts": [{"text": ""}]},
        "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3,
        "candidatesTokenCount": 4, "totalTokenCount": 7}}));
    fragments
}

fn calls(events: Vec<StreamEvent>) -> Vec<(String, Value)> {
    let mut collector = ResponseCollector::new(Dialect::Gemini);
    for event in events {
        collector.push(event).unwrap();
    }
    let content = collector.finish().unwrap().content;
    let calls = content.into_iter().filter_map(|block| match block.content {
        Content::ToolUse { name, input, .. } => Some((name, input)),
        _ => None,
    });
    calls.collect()
}

#[test]
fn a_call_in_pieces_is_one_call_with_all_its_arguments() {
    let end = json!({"functionCall": {}});
    let mut first = begin("look");
    first["thoughtSignature"] = "c2lnbmVk".into();
    let parts = [
        first,
        piece("$.places[0].city", "Be", true),
        json!({"text": ""}),
        piece("$.places[0].city", "rn", false),
        json!({"functionCall": {"willContinue": true}}),
        piece("$.places[1].city", "Basel", false),
        end.clone(),
        begin("look"),
        piece("$.unit", "C", true),
        piece("$.unit", "", false),
        end,
        json!({"functionCall": {"name": "time"}}),
    ];
    let events = read(Dialect::Gemini, &sse(&stream(&parts)));
    assert!(events.iter().any(|event| matches!(
        event,
        StreamEvent::MessageDelta {
            stop_reason: Some(prowess_wire::neutral::StopReason::ToolUse),
            ..
        }
    )));
    let chat = write_events(&events, ClientDialect::Chat);
    let names = chat.iter().filter_map(|event| {
        event
            .pointer("/choices/0/delta/tool_calls/0/function/name")?
            .as_str()
    });
    assert_eq!(names.collect::<Vec<_>>(), ["look", "look", "time"]);
    assert_eq!(
        calls(events),
        [
            (
                "look".to_owned(),
                json!({"places": [{"city": "Bern"}, {"city": "Basel"}]})
            ),
            ("look".to_owned(), json!({"unit": "C"})),
            ("time".to_owned(), json!({})),
        ]
    );
}

#[test]
fn a_call_is_signed_by_any_of_its_pieces_once() {
    for signed in [&[0_usize][..], &[1], &[2], &[0, 2]] {
        let end = json!({"functionCall": {}});
        let mut parts = [begin("look"), piece("$.city", "Bern", false), end];
        for at in signed {
            parts[*at]["thoughtSignature"] = "c2lnbmVk".into();
        }
        let events = read(Dialect::Gemini, &sse(&stream(&parts)));
        let shown = write_events(&events, ClientDialect::Gemini);
        let text = serde_json::to_string(&shown).unwrap();
        assert_eq!(text.matches("c2lnbmVk").count(), 1, "{signed:?} {text}");
        let expected = ("look".to_owned(), json!({"city": "Bern"}));
        assert_eq!(calls(events), [expected]);
    }
}

#[test]
fn a_call_in_pieces_ends_with_the_next_call_and_with_the_stream() {
    let parts = [
        begin("look"),
        piece("$.city", "Bern", false),
        begin("look"),
        piece("$.city", "Basel", false),
    ];
    let events = read(Dialect::Gemini, &sse(&stream(&parts)));
    assert_eq!(
        calls(events),
        [
            ("look".to_owned(), json!({"city": "Bern"})),
            ("look".to_owned(), json!({"city": "Basel"})),
        ]
    );
}

#[test]
fn arguments_of_no_call_and_without_a_place_break_the_stream() {
    let stray = [piece("$.city", "Bern", false)];
    let error = broken(Dialect::Gemini, &sse(&stream(&stray)));
    assert!(error.message.contains("no tool call"), "{}", error.message);
    let lost = [begin("look"), piece("city", "Bern", false)];
    let error = broken(Dialect::Gemini, &sse(&stream(&lost)));
    assert!(error.message.contains("place"), "{}", error.message);
}
