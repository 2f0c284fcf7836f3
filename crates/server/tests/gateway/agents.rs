//! Coding agents with other vendors' models: their tools, over HTTP.

use prowess_testkit::upstream::MockResponse;
use serde_json::{Value, json};

use crate::gateway::{ClientResponse, Gateway};

async fn sent(gateway: &Gateway) -> Value {
    serde_json::from_str(gateway.upstream.next_request().await.text()).unwrap()
}

/// A Chat upstream's stream that calls one tool.
fn calls(name: &str, arguments: &str) -> MockResponse {
    let (first, second) = arguments.split_at(arguments.len() / 2);
    let delta = |call: Value| json!({"id": "c1", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
    let function = json!({"name": name, "arguments": first});
    let events = [
        delta(json!({"index": 0, "id": "call_1", "type": "function", "function": function})),
        delta(json!({"index": 0, "function": {"arguments": second}})),
        json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ];
    let events: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    MockResponse::sse(&format!("{events}data: [DONE]\n\n")).in_chunks(41)
}

/// The data of the last event of a type.
fn event(answer: &ClientResponse, kind: &str) -> Value {
    let mut events = answer.text().lines().filter_map(|line| {
        let event: Value = serde_json::from_str(line.strip_prefix("data: ")?).ok()?;
        (event["type"] == kind).then_some(event)
    });
    events
        .next_back()
        .unwrap_or_else(|| panic!("no {kind}: {}", answer.text()))
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}})
}

#[tokio::test]
async fn codex_keeps_its_mcp_tools_on_a_chat_model() {
    let gateway = Gateway::start().await;
    let member = json!({"type": "function", "name": "load_skill", "parameters": schema()});
    let mut request = json!({
        "model": "oai/m1", "stream": true, "store": false,
        "input": [{"role": "user", "content": "Fill in the form"}],
        "tools": [
            {"type": "function", "name": "exec", "parameters": schema()},
            {"type": "namespace", "name": "mcp__skills", "description": "d", "tools": [member]},
        ],
    });
    gateway
        .upstream
        .respond(calls("mcp__skills__load_skill", r#"{"name":"forms"}"#));
    let answer = gateway.post("/v1/responses", request.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("prowess-dropped"), None);
    let first = sent(&gateway).await;
    assert_eq!(
        first["tools"][1]["function"]["name"],
        "mcp__skills__load_skill"
    );
    let call = event(&answer, "response.output_item.done")["item"].clone();
    assert_eq!(call["name"], "load_skill", "{call}");
    assert_eq!(call["namespace"], "mcp__skills");
    assert_eq!(call["arguments"], r#"{"name":"forms"}"#);
    assert_eq!(
        event(&answer, "response.completed")["response"]["output"][0],
        call
    );

    let input = request["input"].as_array_mut().unwrap();
    let output =
        json!({"type": "function_call_output", "call_id": call["call_id"], "output": "Do."});
    input.extend([call, output]);
    gateway.upstream.respond(calls("exec", "{}"));
    let answer = gateway.post("/v1/responses", request.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let second = sent(&gateway).await;
    assert_eq!(second["tools"], first["tools"]);
    let past = &second["messages"][1]["tool_calls"][0]["function"];
    assert_eq!(past["name"], "mcp__skills__load_skill");
    assert_eq!(second["messages"][2]["content"], "Do.");
}

#[tokio::test]
async fn claude_code_finds_deferred_tools_on_a_chat_model() {
    let gateway = Gateway::start().await;
    let tool = |name: &str, deferred: bool| json!({"name": name, "input_schema": schema(), "defer_loading": deferred});
    let mut request = json!({
        "model": "oai/m1", "max_tokens": 100, "stream": true,
        "messages": [{"role": "user", "content": "Fill in the form"}],
        "tools": [tool("ToolSearch", false), tool("mcp__skills__load_skill", true), tool("Bash", false)],
    });
    let names = |body: &Value| -> Vec<Value> {
        let tools = body["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].clone()).collect()
    };
    gateway
        .upstream
        .respond(calls("ToolSearch", r#"{"query":"skill"}"#));
    let answer = gateway.post("/v1/messages", request.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(names(&sent(&gateway).await), ["ToolSearch", "Bash"]);
    let call = event(&answer, "content_block_start")["content_block"].clone();

    let found = json!([{"type": "tool_reference", "tool_name": "mcp__skills__load_skill"}]);
    let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": found});
    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": [call]}));
    messages.push(json!({"role": "user", "content": [result]}));
    gateway
        .upstream
        .respond(calls("mcp__skills__load_skill", r#"{"name":"forms"}"#));
    let answer = gateway.post("/v1/messages", request.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("prowess-dropped"), None);
    let second = sent(&gateway).await;
    assert_eq!(
        names(&second),
        ["ToolSearch", "Bash", "mcp__skills__load_skill"]
    );
    let content = &second["messages"][2]["content"];
    assert_eq!(content, "Tool mcp__skills__load_skill is now available.");
    let call = &event(&answer, "content_block_start")["content_block"];
    assert_eq!(call["name"], "mcp__skills__load_skill");
}

#[tokio::test]
async fn a_local_shell_is_called_on_an_anthropic_model() {
    let gateway = Gateway::start().await;
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "shell",
        "input": {"commands": ["ls"]}});
    let answer = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m1",
        "content": [block], "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}});
    gateway
        .upstream
        .respond(MockResponse::json(200, &answer.to_string()));
    let request = json!({"model": "ant/m1", "input": "List the files",
        "tools": [{"type": "shell", "environment": {"type": "local"}}]});
    let answer = gateway.post("/v1/responses", request.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let item = answer.json()["output"][0].clone();
    assert_eq!(item["type"], "shell_call", "{item}");
    assert_eq!(item["action"]["commands"], json!(["ls"]));
    assert_eq!(sent(&gateway).await["tools"][0]["name"], "shell");
}

#[tokio::test]
async fn a_forced_web_search_is_refused_before_a_chat_model_invents_its_results() {
    let gateway = Gateway::start().await;
    let request = json!({"model": "oai/m1", "max_tokens": 100, "stream": true,
        "messages": [{"role": "user", "content": "Perform a web search for the query: rust"}],
        "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}],
        "tool_choice": {"type": "tool", "name": "web_search"}});
    let answer = gateway.post("/v1/messages", request.to_string()).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    let error = answer.json()["error"].clone();
    assert_eq!(error["type"], "invalid_request_error");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("cannot search or read the web"),
        "{error}"
    );
    assert!(gateway.upstream.requests().await.is_empty());
}
