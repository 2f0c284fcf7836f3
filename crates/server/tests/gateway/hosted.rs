//! Output of a vendor's own servers, and what only its dialect has, reaches the client of a
//! run.

use prowess_testkit::upstream::MockResponse;
use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::runs::stored;

fn message(id: &str, phase: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "status": "completed", "role": "assistant", "phase": phase,
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]})
}

fn items() -> Vec<Value> {
    vec![
        message("msg_a", "commentary", "I draw."),
        json!({"id": "ig_1", "type": "image_generation_call", "status": "completed",
            "result": "iVBORw0KGgo="}),
        json!({"id": "mcpr_1", "type": "mcp_approval_request", "server_label": "s", "name": "roll",
            "arguments": "{}"}),
        message("msg_b", "final_answer", "Here it is."),
    ]
}

/// A response of OpenAI with these items, complete or streamed.
fn answer(items: &[Value], stream: bool) -> MockResponse {
    let body = json!({"id": "resp_up", "object": "response", "created_at": 1, "model": "m1",
        "status": "completed", "error": null, "incomplete_details": null, "output": items,
        "usage": {"input_tokens": 30, "output_tokens": 10, "total_tokens": 40}});
    if !stream {
        return MockResponse::json(200, &body.to_string());
    }
    let mut events = vec![json!({"type": "response.created", "response": body})];
    for (at, item) in items.iter().enumerate() {
        let event = |kind: &str| json!({"type": kind, "output_index": at, "item": item, "item_id": item["id"]});
        events.push(event("response.output_item.added"));
        if item["type"] == "image_generation_call" {
            events.push(event("response.image_generation_call.generating"));
        }
        events.push(event("response.output_item.done"));
    }
    events.push(json!({"type": "response.completed", "response": body}));
    let text: String = events.iter().map(|e| format!("data: {e}\n\n")).collect();
    MockResponse::sse(&text).in_chunks(97)
}

/// A conversation that contains an earlier run, so that it is handled as a run.
fn request_body(stream: bool) -> Value {
    let call =
        json!({"type": "shell_call", "call_id": "srvtoolu_pw1", "action": {"commands": ["ls"]}});
    let output = json!({"type": "shell_call_output", "call_id": "srvtoolu_pw1", "output": [
        {"stdout": "a\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]});
    json!({"model": "rsp/m1", "stream": stream, "tools": [{"type": "image_generation"}],
        "input": [{"role": "user", "content": "draw"}, call, output,
            message("msg_0", "final_answer", "One file."), {"role": "user", "content": "again"}]})
}

#[tokio::test]
async fn items_of_openais_servers_and_phases_reach_a_responses_client() {
    let gateway = Gateway::start().await;
    for stream in [false, true] {
        gateway.upstream.respond(answer(&items(), stream));
        let response = gateway
            .post("/v1/responses", request_body(stream).to_string())
            .await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert!(
            response.header("prowess-run").is_some(),
            "{}",
            response.text()
        );
        let sent = gateway.upstream.next_request().await;
        let sent: Value = serde_json::from_str(sent.text()).unwrap();
        assert_eq!(sent["input"][3]["phase"], "final_answer", "{sent}");
        let body = if stream {
            let last = response
                .text()
                .lines()
                .rev()
                .find_map(|line| line.strip_prefix("data: "));
            let event: Value = serde_json::from_str(last.unwrap()).unwrap();
            assert!(
                response
                    .text()
                    .contains("response.image_generation_call.generating")
            );
            event["response"].clone()
        } else {
            response.json()
        };
        assert_eq!(body["output"], json!(items()), "{stream}");
        for key in [
            "completed_at",
            "service_tier",
            "presence_penalty",
            "prompt_cache_key",
        ] {
            assert!(body.get(key).is_some(), "{key}: {body}");
        }
        assert!(body["completed_at"].as_u64() >= body["created_at"].as_u64());
    }
}

#[tokio::test]
async fn what_a_chat_server_sends_beside_its_text_reaches_a_chat_client() {
    let gateway = Gateway::start().await;
    let skill = stored(&gateway).await;
    let turn = |message: Value, reason: &str, cost: f64| {
        let choice = json!({"index": 0, "message": message, "finish_reason": reason,
            "content_filter_results": {"hate": {"filtered": false}}});
        let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m1",
            "system_fingerprint": "fp_1", "service_tier": "priority", "choices": [choice],
            "prompt_filter_results": [{"prompt_index": 0}],
            "usage": {"prompt_tokens": 30, "completion_tokens": 10, "cost": cost}});
        MockResponse::json(200, &body.to_string())
    };
    let call = json!([{"id": "call_1", "type": "function",
        "function": {"name": "load_skill", "arguments": "{\"name\":\"pdf-forms\"}"}}]);
    let calls = json!({"role": "assistant", "content": null, "tool_calls": call});
    let cited = json!([{"type": "url_citation", "url_citation": {"url": "https://a.test"}}]);
    let final_message = json!({"role": "assistant", "content": "Done.", "annotations": cited});
    gateway.upstream.respond(turn(calls, "tool_calls", 0.25));
    gateway.upstream.respond(turn(final_message, "stop", 0.5));
    let request = json!({"model": "oai/m1", "messages": [{"role": "user", "content": "Fill it in"}],
        "container": {"skills": [{"type": "custom", "skill_id": skill, "version": "latest"}]}});
    let response = gateway
        .post("/v1/chat/completions", request.to_string())
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    let body = response.json();
    assert_eq!(body["usage"]["cost"], 0.75, "{body}");
    assert_eq!(body["usage"]["prompt_tokens"], 60);
    assert_eq!(body["system_fingerprint"], "fp_1");
    assert_eq!(body["service_tier"], "priority");
    assert_eq!(body["prompt_filter_results"], json!([{"prompt_index": 0}]));
    let choice = &body["choices"][0];
    assert_eq!(choice["content_filter_results"]["hate"]["filtered"], false);
    assert_eq!(choice["message"]["annotations"], cited);
}
