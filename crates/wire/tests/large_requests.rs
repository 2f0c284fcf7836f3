//! Requests with very many parts of one kind, in the order that is worst for a search:
//! each part is found, named and placed as it is among few. Raise [`MANY`] to see that the
//! time grows with the size alone.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::HashSet;

use prowess_wire::neutral::{Content, Request, Role};
use prowess_wire::{
    ClientDialect, Dialect, ReasoningContent, WriteOptions, read_request, write_request,
};
use serde_json::{Value, json};

/// How many parts of a kind a request has here.
const MANY: usize = 10_000;

fn read(client: ClientDialect, body: &Value) -> Request {
    read_request(client, body.to_string().as_bytes()).unwrap()
}

fn results(request: &Request) -> Vec<&str> {
    let blocks = request.messages.iter().flat_map(|m| &m.content);
    let results = blocks.filter_map(|block| match &block.content {
        Content::ToolResult { tool_use_id, .. } => Some(tool_use_id.as_str()),
        _ => None,
    });
    results.collect()
}

#[test]
fn a_gemini_turn_in_very_many_contents_is_one_message() {
    let text = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
    let mut contents = vec![text("user", "Go.")];
    // Pieces that cannot be joined, so that the turn grows.
    for i in 0..MANY {
        contents.push(
            json!({"role": "model", "parts": [{"text": "", "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "f", "args": {"i": i}}}]}),
        );
    }
    for i in 0..MANY {
        contents.push(json!({"role": "user", "parts": [
            {"functionResponse": {"name": "f", "response": {"output": i.to_string()}}}]}));
    }
    contents.push(text("user", "And?"));
    let request = read(ClientDialect::Gemini, &json!({"contents": contents}));
    let roles: Vec<Role> = request.messages.iter().map(|m| m.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    assert_eq!(request.messages[1].content.len(), 2 * MANY);
    let answers = &request.messages[2].content;
    assert_eq!(answers.len(), MANY + 1);
    assert_eq!(answers[MANY].as_text(), Some("And?"));
    let calls = request.messages[1].content.iter();
    let calls: Vec<&str> = calls
        .filter_map(|block| match &block.content {
            Content::ToolUse { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(results(&request), calls);
}

#[test]
fn very_many_gemini_results_find_their_calls_by_id_and_by_name() {
    let call = |i: usize| json!({"functionCall": {"id": format!("c{i}"), "name": "f", "args": {}}});
    let result = |i: usize| {
        let mut response = json!({"name": "f", "response": {"output": "o"}});
        if i % 2 == 1 {
            response["id"] = format!("c{i}").into();
        }
        json!({"functionResponse": response})
    };
    // All with an id first, in the wrong order; then those without.
    let odd = (0..MANY).rev().filter(|i| i % 2 == 1);
    let order: Vec<usize> = odd.chain((0..MANY).filter(|i| i % 2 == 0)).collect();
    let calls: Vec<Value> = (0..MANY).map(call).collect();
    let answers: Vec<Value> = order.iter().map(|i| result(*i)).collect();
    let request = read(
        ClientDialect::Gemini,
        &json!({"contents": [{"role": "model", "parts": calls}, {"role": "user", "parts": answers}]}),
    );
    let expected: Vec<String> = order.iter().map(|i| format!("c{i}")).collect();
    assert_eq!(results(&request), expected);
}

#[test]
fn very_many_chat_results_are_one_message() {
    let calls = (0..MANY).map(|i| {
        json!({"id": format!("c{i}"), "type": "function",
            "function": {"name": "f", "arguments": "{}"}})
    });
    let mut messages = vec![
        json!({"role": "user", "content": "Go."}),
        json!({"role": "assistant", "tool_calls": calls.collect::<Vec<_>>()}),
    ];
    for i in 0..MANY {
        messages.push(json!({"role": "tool", "tool_call_id": format!("c{i}"), "content": "o"}));
    }
    let request = read(
        ClientDialect::Chat,
        &json!({"model": "m", "messages": messages}),
    );
    assert_eq!(request.messages.len(), 3);
    let expected: Vec<String> = (0..MANY).map(|i| format!("c{i}")).collect();
    assert_eq!(results(&request), expected);
}

#[test]
fn very_many_results_of_functions_find_their_calls_by_name() {
    let calls = (0..MANY).map(|_| {
        json!({"role": "assistant", "content": null,
            "function_call": {"name": "f", "arguments": "{}"}})
    });
    let result = json!({"role": "function", "name": "f", "content": "o"});
    let mut messages: Vec<Value> = calls.collect();
    messages.extend(std::iter::repeat_n(result.clone(), MANY));
    let request = read(
        ClientDialect::Chat,
        &json!({"model": "m", "messages": messages}),
    );
    let calls = request.messages.iter().flat_map(|m| &m.content);
    let calls = calls.filter_map(|block| match &block.content {
        Content::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    });
    let mut calls: Vec<&str> = calls.collect();
    calls.reverse();
    assert_eq!(results(&request), calls);
    // One more has no call.
    messages.push(result);
    let body = json!({"model": "m", "messages": messages}).to_string();
    let error = read_request(ClientDialect::Chat, body.as_bytes()).unwrap_err();
    let field = format!("messages[{}].name", 2 * MANY);
    assert_eq!(error.field(), Some(field.as_str()));
}

#[test]
fn very_many_calls_get_their_thoughts_and_each_is_taken_once() {
    let signature = |i: usize| format!("sig{i}");
    let thoughts = (0..MANY).map(|i| {
        json!({"type": "thinking", "thinking": i.to_string(),
            "signature": format!("v1.gemini.{}", signature(i))})
    });
    // In the wrong order, so that no search ends at once.
    let calls = (0..MANY).rev().map(|i| {
        json!({"id": format!("c{i}"), "type": "function", "function": {"name": "f", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": signature(i)}}})
    });
    let message = json!({"role": "assistant", "content": null,
        "thinking_blocks": thoughts.collect::<Vec<_>>(), "tool_calls": calls.collect::<Vec<_>>()});
    let messages = json!([{"role": "user", "content": "Go."}, message]);
    let request = read(
        ClientDialect::Chat,
        &json!({"model": "m", "messages": messages}),
    );
    let content = &request.messages[1].content;
    assert_eq!(content.len(), 2 * MANY);
    for (n, pair) in content.chunks(2).enumerate() {
        let i = MANY - 1 - n;
        let (Content::Thinking { thinking, .. }, Content::ToolUse { id, .. }) =
            (&pair[0].content, &pair[1].content)
        else {
            unreachable!("{pair:?}");
        };
        assert_eq!((thinking, id), (&i.to_string(), &format!("c{i}")));
    }
}

#[test]
fn very_many_thoughts_that_go_on_are_put_together_once() {
    use base64::Engine;
    let count = 4000;
    let blocks = (0..count).map(|i| {
        let state = json!({"details": [{"type": "reasoning.encrypted", "data": i.to_string()}],
            "more": i > 0});
        let state = base64::engine::general_purpose::STANDARD.encode(state.to_string());
        json!({"type": "thinking", "thinking": "", "signature": format!("v1.chat.{state}")})
    });
    let message = json!({"role": "assistant", "content": "x",
        "thinking_blocks": blocks.collect::<Vec<_>>()});
    let messages =
        json!([{"role": "user", "content": "Go."}, message, {"role": "user", "content": "y"}]);
    let request = read(
        ClientDialect::Chat,
        &json!({"model": "m", "messages": messages}),
    );
    let options = WriteOptions {
        reasoning_content: ReasoningContent::Always,
        reasoning_details: true,
        ..WriteOptions::default()
    };
    let sent = write_request(Dialect::Chat, &request, &options).unwrap();
    let details = sent.body["messages"][1]["reasoning_details"]
        .as_array()
        .unwrap();
    assert_eq!(details.len(), count);
    assert_eq!(details[count - 1]["data"], (count - 1).to_string());
}

#[test]
fn very_many_documents_of_one_title_have_names_of_their_own() {
    let long = |i: usize| format!("{}{i:05}", "x".repeat(195));
    let title = |i: usize| match i % 2 {
        0 => "report".to_owned(),
        _ => long(i % 5_000),
    };
    let documents = (0..MANY).map(|i| {
        json!({"type": "document", "title": title(i),
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}})
    });
    let content: Vec<Value> = documents.collect();
    let request = read(
        ClientDialect::Messages,
        &json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}),
    );
    let sent = write_request(Dialect::Converse, &request, &WriteOptions::default()).unwrap();
    let blocks = sent.body["messages"][0]["content"].as_array().unwrap();
    let names = blocks
        .iter()
        .filter_map(|block| block["document"]["name"].as_str());
    let names: Vec<&str> = names.collect();
    assert_eq!(names.len(), MANY);
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), MANY);
    assert!(names.iter().all(|name| name.len() <= 200));
    assert_eq!((names[0], names[2]), ("report", "report 2"));
    assert_eq!(names[MANY - 2], format!("report {}", MANY / 2));
}

#[test]
fn very_many_items_of_openais_servers_are_calls_with_their_results() {
    let call = |i: usize| {
        json!({"type": "shell_call", "call_id": format!("s{i}"), "status": "completed",
            "action": {"commands": ["ls"]}})
    };
    let output = |i: usize| {
        json!({"type": "shell_call_output", "call_id": format!("s{i}"),
            "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]})
    };
    let mut input = vec![json!({"role": "user", "content": "Go."})];
    input.extend((0..MANY).map(call));
    input.extend((0..MANY).rev().map(output));
    let request = read(
        ClientDialect::Responses,
        &json!({"model": "m", "input": input}),
    );
    let sent = write_request(Dialect::Messages, &request, &WriteOptions::default()).unwrap();
    let messages = sent.body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3);
    let ids = |message: &Value, key: &str| -> Vec<String> {
        let blocks = message["content"].as_array().unwrap().iter();
        blocks
            .map(|block| block[key].as_str().unwrap().to_owned())
            .collect()
    };
    let called = ids(&messages[1], "id");
    let mut answered = ids(&messages[2], "tool_use_id");
    assert_eq!(called.len(), MANY);
    answered.sort();
    let mut called = called;
    called.sort();
    assert_eq!(answered, called);
}
