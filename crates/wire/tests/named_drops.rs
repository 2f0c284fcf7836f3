//! Each drop is reported once, by its path in the client's body, however a request is
//! rewritten before it is sent.

mod support;

use prowess_wire::neutral::convert_to_anthropic;
use prowess_wire::{ClientDialect, Dialect, WriteOptions, read_request, write_request};
use serde_json::{Value, json};
use support::exchange::sent;

fn dropped(client: ClientDialect, body: &Value, upstream: Dialect) -> Vec<String> {
    let outgoing = sent(client, body, upstream);
    outgoing.dropped.into_iter().map(|d| d.field).collect()
}

#[test]
fn a_cache_mark_of_a_block_that_becomes_text_is_named() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [
        {"type": "search_result", "source": "s", "title": "t",
         "content": [{"type": "text", "text": "Oslo"}], "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Well?"},
    ]}]});
    for upstream in [Dialect::Chat, Dialect::Responses, Dialect::Gemini] {
        let named = dropped(ClientDialect::Messages, &body, upstream);
        assert_eq!(
            named,
            ["messages[0].content[0].cache_control"],
            "{upstream:?}"
        );
    }
}

#[test]
fn arguments_of_a_servers_call_that_are_no_object_are_named() {
    let call = |kind: &str, id: &str| {
        json!({"type": kind, id: "mcp_1", "name": "look", "server_label": "s",
            "arguments": "{broken", "output": "x"})
    };
    let output = json!({"type": "lookup_call_output", "call_id": "mcp_1", "output": "x"});
    let user = json!({"role": "user", "content": "Go."});
    for input in [
        json!([user, call("mcp_call", "id")]),
        json!([user, call("lookup_call", "call_id"), output]),
    ] {
        let body = json!({"model": "m", "input": input});
        for upstream in [Dialect::Messages, Dialect::Gemini, Dialect::Converse] {
            let named = dropped(ClientDialect::Responses, &body, upstream);
            assert_eq!(named, ["input[1].arguments"], "{upstream:?} {input}");
        }
    }
}

#[test]
fn fields_of_a_system_message_in_the_middle_are_named() {
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Hi."},
        {"role": "system", "content": "Be kind.", "name": "boss"},
        {"role": "user", "content": "So."},
    ]});
    let request = read_request(ClientDialect::Chat, body.to_string().as_bytes()).unwrap();
    for system_in_place in [true, false] {
        let options = WriteOptions {
            system_in_place,
            ..WriteOptions::default()
        };
        let outgoing = write_request(Dialect::Messages, &request, &options).unwrap();
        let named: Vec<_> = outgoing.dropped.iter().map(|d| d.field.as_str()).collect();
        assert_eq!(named, ["messages[2].name"], "{system_in_place}");
    }
}

#[test]
fn what_a_reader_left_out_is_named_once() {
    let body = json!({"model": "m", "messages": [
        {"role": "system", "content": "Be kind.", "name": "boss"},
        {"role": "user", "content": "Hi."},
    ], "tools": [{"type": "custom", "custom": {"name": "sh", "format": {"type": "text"}}}]});
    for upstream in [Dialect::Messages, Dialect::Responses, Dialect::Gemini] {
        let named = dropped(ClientDialect::Chat, &body, upstream);
        let times = named.iter().filter(|d| *d == "messages[0].name").count();
        assert_eq!(times, 1, "{upstream:?} {named:?}");
    }
    let mut request = read_request(ClientDialect::Chat, body.to_string().as_bytes()).unwrap();
    let left_out = convert_to_anthropic(&mut request).unwrap();
    let named = left_out.iter().filter(|d| d.field == "messages[0].name");
    assert_eq!(named.count(), 1, "{left_out:?}");
    let written = write_request(Dialect::Messages, &request, &WriteOptions::default()).unwrap();
    assert_eq!(written.dropped, []);
}
