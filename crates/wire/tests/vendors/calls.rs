//! Tool calls that are not as OpenAI's: without numbers, or without valid arguments.

use prowess_wire::neutral::{Content, ResponseCollector};
use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};

use crate::{read, sse, whole};

/// The names and arguments of the calls in a stream of these fragments, each with an id of its
/// own.
fn calls(fragments: &[Value]) -> Vec<(String, Value)> {
    let chunk = |call: &Value| {
        let delta = json!({"tool_calls": [call]});
        json!({"id": "c1", "choices": [{"index": 0, "delta": delta}]})
    };
    let mut chunks: Vec<Value> = fragments.iter().map(chunk).collect();
    chunks.push(json!({"id": "c1", "choices": [
        {"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}));
    let mut collector = ResponseCollector::new(Dialect::Chat);
    for event in read(Dialect::Chat, &sse(&chunks)) {
        collector.push(event).unwrap();
    }
    let content = collector.finish().unwrap().content;
    let mut ids = std::collections::HashSet::new();
    let calls = content.into_iter().filter_map(|block| match block.content {
        Content::ToolUse { id, name, input } => {
            assert!(ids.insert(id.clone()), "{id} twice");
            Some((name, input))
        }
        _ => None,
    });
    calls.collect()
}

fn fragment(name: Option<&str>, arguments: &str) -> Value {
    json!({"index": 0, "function": {"name": name, "arguments": arguments}})
}

#[test]
fn calls_of_one_number_without_ids_end_with_their_arguments() {
    let both = [
        ("look".to_owned(), json!({"city": "Bern", "of": {"a": 1}})),
        ("look".to_owned(), json!({"city": "Basel"})),
    ];
    // Each whole, as from Gemini by Google's endpoint for OpenAI's clients.
    let whole = [
        fragment(Some("look"), r#"{"city":"Bern","of":{"a":1}}"#),
        fragment(Some("look"), r#"{"city":"Basel"}"#),
    ];
    assert_eq!(calls(&whole), both);
    let with_empty_ids = whole.map(|mut call| {
        call["id"] = "".into();
        call
    });
    assert_eq!(calls(&with_empty_ids), both);
    // In pieces, with the name and the id of the first only.
    let mut first = fragment(Some("look"), "");
    first["id"] = "call_1".into();
    let pieces = [
        first,
        fragment(None, r#"{"city":"Bern","of":"#),
        fragment(Some(""), r#"{"a":1}"#),
        fragment(None, "}"),
        fragment(None, r#"{"city":"#),
        fragment(None, r#""Basel"}"#),
    ];
    assert_eq!(calls(&pieces), both);
}

#[test]
fn another_name_begins_another_call() {
    let fragments = [
        fragment(Some("look"), r#"{"city":"Bern"}"#),
        fragment(Some("wait"), ""),
        fragment(None, "{}"),
    ];
    let expected = [
        ("look".to_owned(), json!({"city": "Bern"})),
        ("wait".to_owned(), json!({})),
    ];
    assert_eq!(calls(&fragments), expected);
}

#[test]
fn a_name_or_an_end_that_is_repeated_begins_no_call() {
    let fragments = [
        fragment(Some("look"), r#"{"text":"}"#),
        fragment(Some("look"), r#"{"}"#),
        fragment(Some("look"), ""),
        fragment(None, "\n"),
    ];
    let expected = [("look".to_owned(), json!({"text": "}{"}))];
    assert_eq!(calls(&fragments), expected);
}

#[test]
fn arguments_that_are_no_object_are_one_for_messages_clients() {
    for (arguments, expected) in [
        (r#"{"city": "#, json!({"input": r#"{"city": "#})),
        ("[1]", json!({"input": [1]})),
        (r#"{"city":"Bern"}"#, json!({"city": "Bern"})),
        ("", json!({})),
    ] {
        let call = json!({"id": "call_1", "type": "function",
            "function": {"name": "look", "arguments": arguments}});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        let answer = json!({"id": "c1", "model": "m", "choices": [
            {"index": 0, "message": message, "finish_reason": "length"}]});
        let body = whole(Dialect::Chat, &answer, ClientDialect::Messages);
        assert_eq!(body["content"][0]["input"], expected);
        let body = whole(Dialect::Chat, &answer, ClientDialect::Chat);
        let sent = body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"].clone();
        let sent = sent.as_str().unwrap();
        assert_eq!(sent.replace("{}", ""), arguments);
    }
}
