//! Tool calls that are not as OpenAI's: without numbers, or without valid arguments.

use prowess_wire::neutral::{Content, Response, ResponseCollector};
use prowess_wire::{ClientDialect, Dialect, ReadContext, StreamReader, read_response};
use serde_json::{Value, json};

use crate::{chat, dropped, read, sent, sse, whole};

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

#[test]
fn null_as_arguments_is_none_at_all() {
    let fragments = [fragment(Some("look"), "null")];
    assert_eq!(calls(&fragments), [("look".to_owned(), json!({}))]);
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "look", "arguments": "null"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let answer = json!({"id": "c1", "model": "m", "choices": [
        {"index": 0, "message": message, "finish_reason": "tool_calls"}]});
    let body = whole(Dialect::Chat, &answer, ClientDialect::Messages);
    assert_eq!(body["content"][0]["input"], json!({}));
}

#[test]
fn the_call_of_a_server_before_tool_calls_is_a_call() {
    let call = json!({"name": "look", "arguments": r#"{"city":"Bern"}"#});
    let message = json!({"role": "assistant", "content": null, "function_call": call});
    let answer = json!({"id": "c1", "model": "m", "choices": [
        {"index": 0, "message": message, "finish_reason": "function_call"}]});
    let body = whole(Dialect::Chat, &answer, ClientDialect::Messages);
    assert_eq!(body["content"][0]["name"], "look");
    assert_eq!(body["content"][0]["input"], json!({"city": "Bern"}));
    assert_eq!(body["stop_reason"], "tool_use");

    let chunk = |delta: Value, reason: Option<&str>| {
        json!({"id": "c1", "choices": [
            {"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let chunks = [
        chunk(
            json!({"function_call": {"name": "look", "arguments": ""}}),
            None,
        ),
        chunk(json!({"function_call": {"arguments": r#"{"city":"#}}), None),
        chunk(json!({"function_call": {"arguments": r#""Bern"}"#}}), None),
        chunk(json!({}), Some("function_call")),
    ];
    let mut collector = ResponseCollector::new(Dialect::Chat);
    for event in read(Dialect::Chat, &sse(&chunks)) {
        collector.push(event).unwrap();
    }
    let content = collector.finish().unwrap().content;
    let [block] = content.as_slice() else {
        panic!("{content:?}");
    };
    assert!(
        matches!(&block.content, Content::ToolUse { name, input, .. }
            if name == "look" && *input == json!({"city": "Bern"})),
        "{block:?}"
    );
}

#[test]
fn calls_in_two_messages_are_one_message_for_chat_servers() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "look", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": id});
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [call("a")]},
        {"role": "assistant", "content": [call("b")]},
        {"role": "user", "content": [result("a"), result("b")]}]});
    let outgoing = sent(ClientDialect::Messages, &body, Dialect::Chat);
    let messages = outgoing.body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    assert_eq!(messages[1]["tool_calls"].as_array().unwrap().len(), 2);
}

#[test]
fn a_server_tools_result_without_its_call_is_left_out_and_named() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            {"type": "text", "text": "Done."}]},
        {"role": "user", "content": "More."}]});
    for upstream in [Dialect::Chat, Dialect::Gemini, Dialect::Converse] {
        let outgoing = sent(ClientDialect::Messages, &body, upstream);
        assert_eq!(dropped(&outgoing), ["messages[1].content[0]"]);
        assert!(!outgoing.body.to_string().contains("srvtoolu_1"));
    }
}

/// The ids of calls and results in a body, in their order.
fn ids(body: &Value) -> Vec<String> {
    const KEYS: [&str; 5] = ["id", "tool_use_id", "tool_call_id", "call_id", "toolUseId"];
    match body {
        Value::Object(map) => {
            let own = KEYS.iter().filter_map(|key| map.get(*key)?.as_str());
            let own = own.map(str::to_owned);
            own.chain(map.values().flat_map(ids)).collect()
        }
        Value::Array(items) => items.iter().flat_map(ids).collect(),
        _ => Vec::new(),
    }
}

/// Some servers begin to count with each response, or give calls no id.
#[test]
fn calls_with_one_id_in_a_history_have_ids_of_their_own() {
    for id in ["functions.look:0", ""] {
        let call = json!({"id": id, "type": "function",
            "function": {"name": "look", "arguments": "{}"}});
        let calls = json!({"role": "assistant", "content": null, "tool_calls": [call, call]});
        let result = |text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
        let body = chat(json!([
            {"role": "user", "content": "Go."},
            calls, result("one"), result("two"),
            calls, result("three"), result("four"),
        ]));
        for (upstream, list) in [
            (Dialect::Messages, "messages"),
            (Dialect::Responses, "input"),
            (Dialect::Gemini, "contents"),
            (Dialect::Converse, "messages"),
        ] {
            let sent = sent(ClientDialect::Chat, &body, upstream).body;
            let ids = ids(&sent[list]);
            assert_eq!(ids.len(), 8, "{sent}");
            // Two calls and their results, and the same again.
            assert_eq!((&ids[..2], &ids[4..6]), (&ids[2..4], &ids[6..8]), "{sent}");
            let all: std::collections::HashSet<&String> = ids.iter().collect();
            assert_eq!(all.len(), 4, "{sent}");
        }
        let own = sent(ClientDialect::Chat, &body, Dialect::Gemini).body;
        let again = sent(ClientDialect::Chat, &body, Dialect::Gemini).body;
        assert_eq!(own, again);
    }
}

#[test]
fn a_call_with_the_id_of_another_gets_one_of_its_own() {
    let call = |index: usize, id: &str| {
        json!({"index": index, "id": id, "type": "function",
            "function": {"name": "look", "arguments": "{}"}})
    };
    let history = chat(json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": null, "tool_calls": [call(0, "call_0")]},
        {"role": "tool", "tool_call_id": "call_0", "content": "ok"},
    ]));
    let context = sent(ClientDialect::Chat, &history, Dialect::Chat).context;
    // Of what others have sent to a client, nothing is renamed.
    let unchanged = ReadContext::default();
    let calls = json!([call(0, "call_0"), call(1, "call_1"), call(2, "call_1")]);
    let choice = |key: &str| {
        let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
        json!({"id": "c1", "model": "m", "choices": [
            {"index": 0, key: message, "finish_reason": "tool_calls"}]})
    };
    let answer = choice("message").to_string();
    let response = read_response(Dialect::Chat, answer.as_bytes(), &context).unwrap();
    let mut reader = StreamReader::new(Dialect::Chat, context);
    let mut events = reader.push(sse(&[choice("delta")]).as_bytes());
    events.extend(reader.finish());
    let mut collector = ResponseCollector::new(Dialect::Chat);
    for event in events {
        collector.push(event).unwrap();
    }
    let call_ids = |response: &Response| -> Vec<String> {
        let blocks = response.content.iter();
        let ids = blocks.filter_map(|block| match &block.content {
            Content::ToolUse { id, .. } => Some(id.clone()),
            _ => None,
        });
        ids.collect()
    };
    let passed = read_response(Dialect::Chat, answer.as_bytes(), &unchanged).unwrap();
    assert_eq!(call_ids(&passed), ["call_0", "call_1", "call_1"]);
    let whole = call_ids(&response);
    assert_eq!(call_ids(&collector.finish().unwrap()), whole);
    assert_eq!(whole[1], "call_1");
    let mut all: Vec<&str> = whole.iter().map(String::as_str).collect();
    all.push("call_0");
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 4, "{whole:?}");
}
