//! Tool results without their call: refused with the message of each client's vendor.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use prowess_wire::neutral::Request;
use prowess_wire::{ClientDialect, WireError, read_request, render_client_error};
use serde_json::{Value, json};

const OUTPUTS: [(&str, &str); 6] = [
    ("function_call_output", "function call output"),
    ("custom_tool_call_output", "custom tool call output"),
    ("local_shell_call_output", "local shell call output"),
    ("shell_call_output", "shell call output"),
    ("apply_patch_call_output", "apply patch call output"),
    ("computer_call_output", "computer call output"),
];

fn read(client: ClientDialect, body: &Value) -> Result<Request, WireError> {
    read_request(client, body.to_string().as_bytes())
}

fn refused(client: ClientDialect, body: &Value) -> Value {
    let error = read(client, body).unwrap_err();
    assert_eq!(error.code(), "tool-call-not-found");
    let rendered = render_client_error(client, &error.to_api_error());
    assert_eq!(rendered.status, 400);
    rendered.body["error"].clone()
}

fn input(items: &[Value]) -> Value {
    let mut all = vec![json!({"role": "user", "content": "Hi"})];
    all.extend_from_slice(items);
    json!({"model": "m", "input": all})
}

fn output(kind: &str, call_id: &str) -> Value {
    let output = match kind {
        "shell_call_output" => json!([{"stdout": "1", "stderr": "",
            "outcome": {"type": "exit", "exit_code": 0}}]),
        "computer_call_output" => json!({"type": "computer_screenshot", "file_id": "file_1"}),
        _ => json!("1"),
    };
    json!({"type": kind, "call_id": call_id, "output": output})
}

fn function_call(call_id: &str) -> Value {
    json!({"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"})
}

#[test]
fn an_output_without_its_call_is_refused_as_openai_refuses_it() {
    for (kind, words) in OUTPUTS {
        let body = input(&[function_call("call_1"), output(kind, "call_2")]);
        let error = refused(ClientDialect::Responses, &body);
        let expected = json!({
            "message": format!("No tool call found for {words} with call_id call_2."),
            "type": "invalid_request_error",
            "param": "input",
            "code": "tool-call-not-found",
        });
        assert_eq!(error, expected, "{kind}");
    }
}

#[test]
fn an_output_may_answer_a_call_of_any_kind_anywhere_in_the_input() {
    let calls = [
        function_call("c"),
        json!({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"}),
        json!({"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "status": "completed",
            "action": {"type": "exec", "command": ["ls"], "env": {}}}),
        json!({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}),
        json!({"type": "apply_patch_call", "call_id": "c", "status": "completed",
            "operation": {"type": "delete_file", "path": "a"}}),
        json!({"type": "computer_call", "id": "cu_1", "call_id": "c", "status": "completed",
            "action": {"type": "screenshot"}, "pending_safety_checks": []}),
        json!({"type": "telepathy_call", "id": "t_1", "call_id": "c"}),
    ];
    for call in &calls {
        for (kind, _) in OUTPUTS {
            let after = input(&[call.clone(), output(kind, "c")]);
            read(ClientDialect::Responses, &after).unwrap();
            let message = json!({"role": "user", "content": "Wait"});
            let apart = input(&[call.clone(), message, output(kind, "c")]);
            read(ClientDialect::Responses, &apart).unwrap();
            let before = input(&[output(kind, "c"), call.clone()]);
            read(ClientDialect::Responses, &before).unwrap();
        }
    }
}

#[test]
fn the_output_of_a_local_shell_names_its_call_in_its_id() {
    let call = json!({"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1",
        "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}});
    let answer = |id: &str| json!({"type": "local_shell_call_output", "id": id, "output": "a"});
    read(
        ClientDialect::Responses,
        &input(&[call.clone(), answer("call_1")]),
    )
    .unwrap();
    let error = refused(
        ClientDialect::Responses,
        &input(&[call.clone(), answer("call_2")]),
    );
    assert_eq!(
        error["message"],
        "No tool call found for local shell call output with call_id call_2."
    );
    let mut old = call;
    old.as_object_mut().unwrap().shift_remove("call_id");
    read(ClientDialect::Responses, &input(&[old, answer("lsh_1")])).unwrap();
}

#[test]
fn a_call_that_may_be_where_nobody_here_can_look_is_not_missed() {
    let alone = output("function_call_output", "c");
    for item in [
        json!({"type": "item_reference", "id": "fc_1"}),
        json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}),
        json!({"type": "compaction_summary", "encrypted_content": "gAAAA"}),
    ] {
        read(ClientDialect::Responses, &input(&[item, alone.clone()])).unwrap();
    }
    for (key, value) in [
        ("previous_response_id", json!("resp_1")),
        ("conversation", json!("conv_1")),
        ("conversation", json!({"id": "conv_1"})),
    ] {
        let mut body = input(std::slice::from_ref(&alone));
        body[key] = value;
        read(ClientDialect::Responses, &body).unwrap();
        // Naming nothing is as good as leaving it out.
        body[key] = Value::Null;
        refused(ClientDialect::Responses, &body);
    }
}

#[test]
fn a_long_id_is_repeated_in_part() {
    let body = input(&[output("function_call_output", &"x".repeat(1 << 20))]);
    let error = refused(ClientDialect::Responses, &body);
    assert!(error["message"].as_str().unwrap().len() < 250, "{error}");
}

fn chat(messages: &[Value]) -> Value {
    let mut all = vec![json!({"role": "user", "content": "Hi"})];
    all.extend_from_slice(messages);
    json!({"model": "m", "messages": all})
}

#[test]
fn a_tool_message_without_its_call_is_refused_as_openai_refuses_it() {
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "1"});
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}}]});
    let answered = [calls.clone(), result("c1"), result("c2")];
    read(ClientDialect::Chat, &chat(&answered)).unwrap();

    let error = refused(ClientDialect::Chat, &chat(&[result("c1")]));
    let expected = json!({
        "message": "Invalid parameter: messages with role 'tool' must be a response to a \
                    preceding message with 'tool_calls'.",
        "type": "invalid_request_error",
        "param": "messages[1].tool_call_id",
        "code": "tool-call-not-found",
    });
    assert_eq!(error, expected);

    let error = refused(
        ClientDialect::Chat,
        &chat(&[calls, result("c1"), result("c3")]),
    );
    assert_eq!(
        error["message"],
        "Invalid parameter: 'tool_call_id' of 'c3' not found in 'tool_calls' of previous message."
    );
    assert_eq!(error["param"], "messages[3].tool_call_id");
}

fn messages(messages: &[Value]) -> Value {
    let mut all = vec![json!({"role": "user", "content": "Hi"})];
    all.extend_from_slice(messages);
    json!({"model": "m", "max_tokens": 9, "messages": all})
}

fn results(ids: &[&str]) -> Value {
    let result = |id| json!({"type": "tool_result", "tool_use_id": id, "content": "1"});
    let blocks: Vec<Value> = ids.iter().map(result).collect();
    json!({"role": "user", "content": blocks})
}

#[test]
fn a_tool_result_without_its_call_is_refused_as_anthropic_refuses_it() {
    let calls = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "telepathy_use", "id": "tele_1"}]});
    let answered = results(&["toolu_1", "srvtoolu_1", "tele_1"]);
    read(
        ClientDialect::Messages,
        &messages(&[calls.clone(), answered]),
    )
    .unwrap();

    let body = messages(&[calls, results(&["toolu_1", "toolu_2"])]);
    let error = refused(ClientDialect::Messages, &body);
    assert_eq!(error["type"], "invalid_request_error");
    assert_eq!(
        error["message"],
        "messages[2].content[1]: unexpected `tool_use_id` found in `tool_result` blocks: toolu_2. \
         Each `tool_result` block must have a corresponding `tool_use` block in the previous \
         message."
    );
    assert_eq!(
        error["details"]["param"],
        "messages[2].content[1].tool_use_id"
    );
}

#[test]
fn a_call_before_a_summary_may_have_been_left_out() {
    let summary = json!({"role": "assistant", "content": [
        {"type": "compaction", "content": "They talked."}]});
    read(
        ClientDialect::Messages,
        &messages(&[summary, results(&["toolu_1"])]),
    )
    .unwrap();
}
