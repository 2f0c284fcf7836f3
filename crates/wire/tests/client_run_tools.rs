//! Tools that clients run themselves, on models that know no such tools: functions there,
//! and the client's own kinds of calls in the response.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod support;

use prowess_wire::{ClientDialect, Dialect, WriteOptions, read_request, write_request};
use serde_json::{Value, json};
use support::exchange::{call, call_stream, event, offered, others, sent, streamed, whole};
use support::file;

fn fixture(path: &str) -> Value {
    serde_json::from_slice(&file(&format!("requests/{path}.json"))).unwrap()
}

const STREAMS: [Dialect; 3] = [Dialect::Messages, Dialect::Chat, Dialect::Gemini];

/// The item a Responses client gets for a call, whole and streamed, which must be the same
/// but for its id.
fn item(request: &Value, name: &str, input: &Value) -> Value {
    let mut items = Vec::new();
    for upstream in others(ClientDialect::Responses) {
        let answer = call(upstream, name, input);
        items
            .push(whole(ClientDialect::Responses, request, upstream, &answer)["output"][0].clone());
    }
    for upstream in STREAMS {
        let stream = call_stream(upstream, name, input);
        let events = streamed(ClientDialect::Responses, request, upstream, &stream);
        let added = &event(&events, "response.output_item.added")["item"];
        assert_eq!(added["status"], "in_progress");
        let done = &event(&events, "response.output_item.done")["item"];
        let last = event(&events, "response.completed");
        assert_eq!(&last["response"]["output"][0], done);
        assert_eq!((&added["id"], &added["type"]), (&done["id"], &done["type"]));
        items.push(done.clone());
    }
    let mut items = items.into_iter().map(|mut item| {
        let id = item.as_object_mut().unwrap().shift_remove("id").unwrap();
        let prefix = id.as_str().unwrap().split_once('_').unwrap().0;
        (prefix.to_owned(), item)
    });
    let (prefix, mut first) = items.next().unwrap();
    for (other, item) in items {
        assert_eq!((&other, &item), (&prefix, &first));
    }
    first["prefix"] = json!(prefix);
    first
}

#[test]
fn the_clients_own_shells_and_patches_are_called_in_their_own_items() {
    let request = fixture("responses/local_tools");
    let shell = item(
        &request,
        "shell",
        &json!({"commands": ["ls", "pwd"], "timeout_ms": 500}),
    );
    assert_eq!(
        shell,
        json!({"type": "shell_call", "status": "completed", "call_id": "call_u",
            "action": {"commands": ["ls", "pwd"], "timeout_ms": 500, "max_output_length": null},
            "environment": {"type": "local"}, "prefix": "sh"})
    );
    let local = item(
        &request,
        "local_shell",
        &json!({"command": ["ls", "-l"], "env": {"A": "b"}}),
    );
    assert_eq!(
        local,
        json!({"type": "local_shell_call", "status": "completed", "call_id": "call_u",
            "action": {"type": "exec", "command": ["ls", "-l"], "env": {"A": "b"},
                "working_directory": null, "timeout_ms": null, "user": null}, "prefix": "lsh"})
    );
    let operation = json!({"type": "update_file", "path": "a.rs", "diff": "-x\n+y"});
    let patch = item(&request, "apply_patch", &operation);
    assert_eq!(
        patch,
        json!({"type": "apply_patch_call", "status": "completed", "call_id": "call_u",
            "operation": operation, "prefix": "apc"})
    );
}

#[test]
fn their_histories_are_calls_and_results_of_functions() {
    let request = fixture("responses/local_tools");
    let outgoing = sent(ClientDialect::Responses, &request, Dialect::Chat);
    assert_eq!(
        offered(Dialect::Chat, &outgoing.body),
        ["shell", "apply_patch", "local_shell"]
    );
    let messages = outgoing.body["messages"].as_array().unwrap();
    let texts: Vec<String> = messages
        .iter()
        .map(
            |message| match message["tool_calls"][0]["function"].as_object() {
                Some(call) => format!(
                    "{}({})",
                    call["name"].as_str().unwrap(),
                    call["arguments"].as_str().unwrap()
                ),
                None => format!(
                    "{}: {}",
                    message["role"].as_str().unwrap(),
                    message["content"].as_str().unwrap()
                ),
            },
        )
        .collect();
    insta::assert_snapshot!(texts[1..].join("\n---\n"));
    let dropped: Vec<_> = outgoing.dropped.iter().map(|d| d.field.as_str()).collect();
    assert_eq!(dropped, ["tools[3]", "tools[4]", "tools[5]"]);
    let text = outgoing.body.to_string();
    assert!(
        text.contains("pdf-forms (/home/me/skills/pdf-forms): Fills in forms."),
        "{text}"
    );
    assert_eq!(
        outgoing.body["tool_choice"]["function"]["name"],
        "apply_patch"
    );
}

#[test]
fn a_shell_without_an_environment_is_the_clients() {
    let request = json!({"model": "m", "input": "x", "tools": [{"type": "shell"}]});
    let body = sent(ClientDialect::Responses, &request, Dialect::Messages).body;
    assert_eq!(offered(Dialect::Messages, &body), ["shell"]);
    let hosted = json!({"model": "m", "input": "x",
        "tools": [{"type": "shell", "environment": {"type": "container_auto"}}]});
    let outgoing = sent(ClientDialect::Responses, &hosted, Dialect::Messages);
    assert_eq!(offered(Dialect::Messages, &outgoing.body), [""; 0]);
    assert_eq!(outgoing.dropped[0].field, "tools[0]");
}

#[test]
fn a_function_of_the_same_name_keeps_it() {
    let request = json!({"model": "m", "input": "x", "tools": [
        {"type": "shell", "environment": {"type": "local"}},
        {"type": "custom", "name": "apply_patch"},
        {"type": "function", "name": "shell", "parameters": {"type": "object", "properties": {}}}]});
    let body = sent(ClientDialect::Responses, &request, Dialect::Messages).body;
    let names = offered(Dialect::Messages, &body);
    assert_eq!(&names[1..], ["apply_patch", "shell"]);
    let kind = |name: &str| {
        let answer = call(Dialect::Messages, name, &json!({"commands": ["ls"]}));
        whole(
            ClientDialect::Responses,
            &request,
            Dialect::Messages,
            &answer,
        )["output"][0]["type"]
            .clone()
    };
    assert_eq!(kind(&names[0]), "shell_call");
    assert_eq!(kind("apply_patch"), "custom_tool_call");
    assert_eq!(kind("shell"), "function_call");
}

#[test]
fn arguments_that_are_no_json_run_nothing() {
    let request = fixture("responses/local_tools");
    let answer = json!({"id": "c", "model": "m", "choices": [{"finish_reason": "tool_calls",
        "message": {"content": null, "tool_calls": [{"id": "call_u", "type": "function",
            "function": {"name": "local_shell", "arguments": "{\"command\": [\"rm"}}]}}]});
    let body = whole(ClientDialect::Responses, &request, Dialect::Chat, &answer);
    assert_eq!(body["output"][0]["action"]["command"], json!([]));
}

#[test]
fn tools_that_messages_clients_run_are_functions_of_the_same_name() {
    let request = fixture("messages/client_run_tools");
    for upstream in others(ClientDialect::Messages) {
        let outgoing = sent(ClientDialect::Messages, &request, upstream);
        let names = offered(upstream, &outgoing.body);
        let expected = [
            "bash",
            "str_replace_based_edit_tool",
            "str_replace_editor",
            "memory",
            "computer",
        ];
        assert_eq!(names, expected, "{upstream:?}");
        let text = outgoing.body.to_string();
        for part in [
            "1024 x 768 pixels",
            "undo_edit",
            "/memories",
            "more than 10000 characters",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let answer = call(upstream, "bash", &json!({"command": "ls"}));
        let body = whole(ClientDialect::Messages, &request, upstream, &answer);
        let block = &body["content"][0];
        assert_eq!(
            (&block["type"], &block["name"]),
            (&json!("tool_use"), &json!("bash"))
        );
        assert_eq!(block["input"], json!({"command": "ls"}));
    }
}

#[test]
fn a_tool_that_only_its_vendors_servers_run_cannot_be_forced_elsewhere() {
    for kind in ["web_search", "code_interpreter", "computer_use_preview"] {
        let request = json!({"model": "m", "input": "x", "tools": [{"type": kind}],
            "tool_choice": {"type": kind}});
        let request =
            read_request(ClientDialect::Responses, request.to_string().as_bytes()).unwrap();
        for upstream in others(ClientDialect::Responses) {
            let error = write_request(upstream, &request, &WriteOptions::default()).unwrap_err();
            assert_eq!(error.field(), Some("tool_choice"));
            assert!(error.to_string().contains(kind), "{error}");
        }
    }
    let required = json!({"model": "m", "input": "x", "tools": [{"type": "web_search"}],
        "tool_choice": "required"});
    let request = read_request(ClientDialect::Responses, required.to_string().as_bytes()).unwrap();
    let error = write_request(Dialect::Chat, &request, &WriteOptions::default()).unwrap_err();
    insta::assert_snapshot!(error.to_string(), @"tool_choice: it demands a call, but all tools of the request run on their vendor's servers only: this model can call none of them");
}

#[test]
fn a_free_form_tool_keeps_its_grammar_in_words() {
    let request = fixture("responses/free_form_tool");
    for upstream in others(ClientDialect::Responses) {
        let outgoing = sent(ClientDialect::Responses, &request, upstream);
        let text = outgoing.body.to_string();
        assert!(
            text.contains("must follow this lark grammar:\\nstart: /.+/"),
            "{text}"
        );
        assert_eq!(outgoing.dropped, [], "{upstream:?}");
    }
}
