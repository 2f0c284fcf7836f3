//! A conversation in which OpenAI's servers did something goes on with another vendor's
//! model: it reads what was done, and what it cannot read is named.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use prowess_wire::{
    ClientDialect, Dialect, EncodedRequest, WriteOptions, read_request, write_request,
};
use serde_json::{Value, json};

const OTHERS: [Dialect; 4] = [
    Dialect::Messages,
    Dialect::Chat,
    Dialect::Gemini,
    Dialect::Converse,
];

/// The request as each other vendor gets it, with these items in the middle.
fn sent(items: &[Value]) -> Vec<(Dialect, EncodedRequest)> {
    let mut input = vec![json!({"role": "user", "content": "x"})];
    input.extend(items.iter().cloned());
    input.push(json!({"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "So it is.", "annotations": []}]}));
    input.push(json!({"role": "user", "content": "y"}));
    let body = json!({"model": "m", "input": input}).to_string();
    let request = read_request(ClientDialect::Responses, body.as_bytes()).unwrap();
    let write = |dialect| write_request(dialect, &request, &WriteOptions::default()).unwrap();
    OTHERS.map(|dialect| (dialect, write(dialect))).into()
}

fn dropped(sent: &EncodedRequest) -> Vec<&str> {
    sent.dropped
        .iter()
        .map(|drop| drop.field.as_str())
        .collect()
}

#[test]
fn what_the_servers_did_is_a_call_and_its_result() {
    let cases = [
        (
            json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action":
            {"type": "search", "query": "tides", "sources": [{"type": "url", "url": "https://a.test"}]}}),
            vec!["web_search", "tides", "https://a.test"],
        ),
        (
            json!({"type": "code_interpreter_call", "id": "ci_1", "status": "completed",
            "container_id": "c", "code": "6*7", "outputs": [{"type": "logs", "logs": "forty-two"}]}),
            vec!["code_interpreter", "6*7", "forty-two"],
        ),
        (
            json!({"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["moon"],
            "results": [{"file_id": "f", "filename": "a.md", "text": "cheese", "score": 0.9}]}),
            vec!["file_search", "moon", "a.md: cheese"],
        ),
        (
            json!({"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "roll",
            "arguments": "{\"sides\":6}", "output": "four"}),
            vec!["roll", "sides", "four"],
        ),
        (
            json!({"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "roll",
            "arguments": "{}", "output": null, "error": {"type": "http_error", "message": "gone away"}}),
            vec!["roll", "gone away"],
        ),
        (
            json!({"type": "telepathy_call", "id": "t_1", "status": "completed", "whom": "ann",
            "result": "she knows"}),
            vec!["telepathy", "ann", "she knows"],
        ),
    ];
    for (item, words) in cases {
        for (dialect, sent) in sent(std::slice::from_ref(&item)) {
            let text = sent.body.to_string();
            for word in words.iter().chain(&["So it is."]) {
                assert!(text.contains(word), "{dialect:?} {word}: {text}");
            }
            assert_eq!(dropped(&sent), Vec::<&str>::new(), "{dialect:?} {item}");
        }
    }
}

#[test]
fn a_call_of_the_servers_is_answered_before_anything_follows() {
    let items = [
        json!({"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}),
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed",
            "action": {"type": "search", "query": "tides"}}),
        json!({"type": "function_call_output", "call_id": "call_1", "output": "done"}),
    ];
    for (dialect, sent) in sent(&items) {
        if dialect != Dialect::Messages {
            continue;
        }
        let messages = sent.body["messages"].as_array().unwrap();
        let kinds: Vec<Vec<&str>> = messages
            .iter()
            .map(|message| match message["content"].as_array() {
                Some(blocks) => blocks.iter().map(|b| b["type"].as_str().unwrap()).collect(),
                None => vec!["text"],
            })
            .collect();
        let expected = [
            vec!["text"],
            vec!["tool_use"],
            vec!["tool_result"],
            vec!["tool_use"],
            vec!["tool_result"],
            vec!["text"],
            vec!["text"],
        ];
        assert_eq!(kinds, expected, "{messages:?}");
        assert_eq!(messages[2]["content"][0]["tool_use_id"], "ws_1");
        assert_eq!(messages[4]["content"][0]["tool_use_id"], "call_1");
    }
}

#[test]
fn a_picture_that_was_made_is_seen() {
    let item = json!({"type": "image_generation_call", "id": "ig_1", "status": "completed",
        "revised_prompt": "a cat", "result": "iVBORw0KGgo=", "output_format": "webp"});
    for (dialect, sent) in sent(&[item]) {
        let text = sent.body.to_string();
        for word in ["a cat", "iVBORw0KGgo=", "webp"] {
            assert!(text.contains(word), "{dialect:?} {word}: {text}");
        }
        assert_eq!(dropped(&sent), Vec::<&str>::new(), "{dialect:?}");
    }
}

#[test]
fn a_screen_that_was_shown_is_seen() {
    let items = [
        json!({"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed",
            "action": {"type": "click", "x": 5, "y": 6}, "pending_safety_checks": []}),
        json!({"type": "computer_call_output", "call_id": "call_1", "output":
            {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="}}),
    ];
    for (dialect, sent) in sent(&items) {
        let text = sent.body.to_string();
        for word in ["click", "iVBORw0KGgo="] {
            assert!(text.contains(word), "{dialect:?} {word}: {text}");
        }
    }
    // A call without a result cannot be sent, and is reported.
    for (dialect, sent) in sent(&items[..1]) {
        assert_eq!(dropped(&sent), ["input[1]"], "{dialect:?}");
    }
}

#[test]
fn an_approval_is_requested_and_given() {
    let items = [
        json!({"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": [{"name": "roll"}]}),
        json!({"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "roll",
            "arguments": "{\"sides\":6}"}),
        json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": false,
            "reason": "Too risky."}),
    ];
    for (dialect, sent) in sent(&items) {
        let text = sent.body.to_string();
        assert!(
            text.contains("roll") && text.contains("No. Too risky."),
            "{dialect:?}: {text}"
        );
        assert_eq!(dropped(&sent), ["input[1]"], "{dialect:?}: the list");
    }
}

#[test]
fn what_only_openai_can_read_is_named_and_the_rest_goes_on() {
    let compaction = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"});
    for (dialect, sent) in sent(&[compaction]) {
        assert_eq!(dropped(&sent), ["input[1]"], "{dialect:?}");
        assert!(!sent.body.to_string().contains("gAAA"), "{dialect:?}");
    }
    let items = [
        json!({"type": "compaction", "id": "cmp_1", "summary": "They met in Rome.",
            "encrypted_content": "gAAA"}),
        json!({"type": "omen", "id": "om_1", "meaning": "rain"}),
    ];
    for (dialect, sent) in sent(&items) {
        let text = sent.body.to_string();
        assert!(
            text.contains("They met in Rome.") && text.contains("rain"),
            "{dialect:?}: {text}"
        );
    }
}

#[test]
fn a_search_for_tools_by_the_server_itself_is_a_call_too() {
    let items = [
        json!({"type": "tool_search_call", "id": "ts_1", "call_id": null, "execution": "server",
            "status": "completed", "arguments": {"query": "weather"}}),
        json!({"type": "tool_search_output", "id": "tso_1", "call_id": null, "execution": "server",
            "status": "completed", "tools": [{"type": "function", "name": "get_weather"}]}),
    ];
    for (dialect, sent) in sent(&items) {
        let text = sent.body.to_string();
        assert!(text.contains("get_weather"), "{dialect:?}: {text}");
    }
}

/// What Codex's clients add to a conversation, such as an event of another program.
#[test]
fn an_output_without_a_call_is_that_of_a_call() {
    let item = json!({"type": "function_call_output", "call_id": null, "name": "inbox",
        "namespace": "mail", "output": [{"type": "input_text", "text": "One new letter."},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]});
    for (dialect, sent) in sent(std::slice::from_ref(&item)) {
        let text = sent.body.to_string();
        for word in ["mail__inbox", "One new letter.", "iVBORw0KGgo="] {
            assert!(text.contains(word), "{dialect:?} {word}: {text}");
        }
        assert_eq!(dropped(&sent), Vec::<&str>::new(), "{dialect:?}");
    }
    let body = json!({"model": "m", "input": [{"role": "user", "content": "x"}, item]}).to_string();
    let request = read_request(ClientDialect::Responses, body.as_bytes()).unwrap();
    let options = WriteOptions::default();
    let own = write_request(Dialect::Responses, &request, &options).unwrap();
    assert_eq!(own.body["input"][1], item);

    // Without a name it is the result of a call that is missing.
    let item = json!({"type": "function_call_output", "output": "x"});
    let body = json!({"model": "m", "input": [item]}).to_string();
    let error = read_request(ClientDialect::Responses, body.as_bytes()).unwrap_err();
    assert_eq!(error.field(), Some("input[0].call_id"));
}

#[test]
fn what_another_agent_writes_is_a_message_of_the_user() {
    let item = json!({"type": "agent_message", "author": "/lead", "recipient": "/lead/helper",
        "content": [{"type": "input_text", "text": "Count the files."}]});
    for (dialect, sent) in sent(std::slice::from_ref(&item)) {
        let text = sent.body.to_string();
        assert!(
            text.contains("Message from /lead:\\n\\nCount the files."),
            "{dialect:?}: {text}"
        );
        assert_eq!(dropped(&sent), Vec::<&str>::new(), "{dialect:?}");
        if dialect == Dialect::Chat {
            let messages = sent.body["messages"].as_array().unwrap();
            let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
            assert_eq!(roles, ["user", "user", "assistant", "user"]);
        }
    }
    let secret = json!({"type": "agent_message", "author": "/lead", "recipient": "/lead/helper",
        "content": [{"type": "encrypted_content", "encrypted_content": "gAAA"}]});
    for (dialect, sent) in sent(&[secret]) {
        assert_eq!(dropped(&sent), ["input[1]"], "{dialect:?}");
        assert!(!sent.body.to_string().contains("gAAA"), "{dialect:?}");
    }
}
