//! Blank messages, and whitespace where it is refused.

use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};

use crate::{chat, dropped, sent};

fn call() -> Value {
    let function = json!({"name": "look", "arguments": "{}"});
    json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}]})
}

fn result() -> Value {
    json!({"role": "tool", "tool_call_id": "call_1", "content": "3"})
}

/// No message without content, and no empty text in one.
fn assert_not_blank(message: &Value) {
    let content = &message["content"];
    let blank = |text: &Value| text.as_str().is_some_and(|text| text.trim().is_empty());
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let calls = message["tool_calls"].is_array();
    assert!(calls || !blank(content), "{message}");
    assert!(calls || !content.is_null(), "{message}");
    assert!(parts.iter().all(|part| !blank(&part["text"])), "{message}");
    assert!(!content.is_array() || !parts.is_empty(), "{message}");
}

#[test]
fn an_empty_assistant_message_before_the_call_is_left_out() {
    let body = chat(json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": ""},
        call(),
        result(),
    ]));
    for upstream in [Dialect::Messages, Dialect::Chat] {
        let messages = sent(ClientDialect::Chat, &body, upstream).body["messages"].clone();
        let roles: Vec<_> = messages
            .as_array()
            .unwrap()
            .iter()
            .map(|m| &m["role"])
            .collect();
        let answer = match upstream {
            Dialect::Chat => "tool",
            _ => "user",
        };
        assert_eq!(roles, ["user", "assistant", answer], "{messages}");
        for message in messages.as_array().unwrap() {
            assert_not_blank(message);
        }
    }
}

#[test]
fn an_empty_user_message_does_not_separate_a_call_from_its_result() {
    let between = [json!(""), json!([{"type": "text", "text": ""}]), json!([])];
    for content in between {
        let body = chat(json!([
            {"role": "user", "content": "Go."},
            call(),
            {"role": "user", "content": content},
            result(),
        ]));
        let messages = sent(ClientDialect::Chat, &body, Dialect::Messages).body["messages"].clone();
        assert_eq!(messages.as_array().unwrap().len(), 3, "{messages}");
        assert_eq!(messages[1]["content"][0]["type"], "tool_use");
        assert_eq!(messages[2]["content"][0]["type"], "tool_result");
        let messages = sent(ClientDialect::Chat, &body, Dialect::Chat).body["messages"].clone();
        assert_eq!(messages.as_array().unwrap().len(), 3, "{messages}");
        assert_eq!(messages[2]["role"], "tool");
    }
    let item = json!({"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "3"});
    let body = json!({"model": "m", "input": [{"role": "user", "content": "Go."}, item,
        {"role": "user", "content": ""}, output]});
    for (upstream, list) in [
        (Dialect::Messages, "messages"),
        (Dialect::Chat, "messages"),
        (Dialect::Gemini, "contents"),
        (Dialect::Converse, "messages"),
    ] {
        let turns = sent(ClientDialect::Responses, &body, upstream).body[list].clone();
        assert_eq!(turns.as_array().unwrap().len(), 3, "{turns}");
    }
}

#[test]
fn nothing_empty_goes_to_a_dialect_that_refuses_it() {
    let bodies = [
        chat(json!([{"role": "user", "content": ""}])),
        chat(json!([{"role": "system", "content": ""}, {"role": "user", "content": "Hi"}])),
        chat(json!([
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": " \n"},
            {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "x"}]},
        ])),
        chat(json!([
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Ho"},
            {"role": "user", "content": "\n"},
            {"role": "assistant", "content": "Well?"},
            {"role": "user", "content": "So."},
        ])),
        chat(json!([
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": null, "reasoning_content": "hm"},
            {"role": "user", "content": "So."},
        ])),
    ];
    for body in &bodies {
        let outgoing = sent(ClientDialect::Chat, body, Dialect::Messages);
        let messages = outgoing.body["messages"].as_array().unwrap();
        assert_eq!(messages[0]["role"], "user", "{body}");
        for message in messages {
            assert_not_blank(message);
        }
        assert_eq!(outgoing.body.get("system"), None, "{body}");
    }
    let alone = sent(ClientDialect::Chat, &bodies[0], Dialect::Messages);
    assert_eq!(alone.body["messages"][0]["content"], "(blank)");
    let turns = sent(ClientDialect::Chat, &bodies[3], Dialect::Messages);
    assert_eq!(turns.body["messages"][2]["content"], "(blank)");
}

#[test]
fn blank_instructions_are_not_sent() {
    let body = json!({"model": "m", "instructions": "", "input": "Hi"});
    for (upstream, field) in [
        (Dialect::Messages, "system"),
        (Dialect::Gemini, "systemInstruction"),
        (Dialect::Converse, "system"),
    ] {
        let outgoing = sent(ClientDialect::Responses, &body, upstream);
        assert_eq!(outgoing.body.get(field), None, "{upstream:?}");
    }
    let outgoing = sent(ClientDialect::Responses, &body, Dialect::Chat);
    assert_eq!(outgoing.body["messages"][0]["role"], "user");
}

#[test]
fn a_last_assistant_text_keeps_no_whitespace_at_its_end() {
    for content in [
        json!("Thought: \n"),
        json!([{"type": "text", "text": "Thought: \n"}]),
    ] {
        let body = chat(json!([
            {"role": "user", "content": "Go. "},
            {"role": "assistant", "content": content},
        ]));
        let outgoing = sent(ClientDialect::Chat, &body, Dialect::Messages);
        assert_eq!(outgoing.body["messages"][0]["content"], "Go. ");
        assert_eq!(outgoing.body["messages"][1]["content"], "Thought:");
        assert_eq!(dropped(&outgoing), ["messages[1]"]);
        let outgoing = sent(ClientDialect::Chat, &body, Dialect::Converse);
        assert_eq!(
            outgoing.body["messages"][1]["content"],
            json!([{"text": "Thought:"}])
        );
    }
    let earlier = chat(json!([
        {"role": "assistant", "content": "One. "},
        {"role": "user", "content": "Two. "},
    ]));
    let outgoing = sent(ClientDialect::Chat, &earlier, Dialect::Messages);
    assert_eq!(outgoing.body["messages"][1]["content"], "One. ");
    assert_eq!(outgoing.body["messages"][2]["content"], "Two. ");
}
