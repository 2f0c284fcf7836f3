//! Anthropic's own skills, named by clients of other dialects: what its servers are sent,
//! and what the client is told of what they did.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;
mod vendors;

use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::MockResponse;
use prowess_wire::neutral::{Response, StopReason};
use prowess_wire::{ClientDialect, Dialect, ReplyContext, StreamWriter, read_response};
use serde_json::{Value, json};
use vendors::client::{append_tool_result, calls_of, new_request, parse_answer, path, text_of};
use vendors::vendor::Vendor;
use vendors::{TestGateway, run};

const OTHERS: [ClientDialect; 2] = [ClientDialect::Chat, ClientDialect::Responses];
const NATIVE_FILE: &str = "file_011theirs";

/// A request that names Anthropic's own skill beside those that are stored.
fn native_skill_request(
    client: ClientDialect,
    model: &str,
    stream: bool,
    stored: &[&str],
) -> Value {
    let mut request = new_request(client, model, stream, stored);
    let native = json!({"type": "anthropic", "skill_id": "pptx", "version": "latest"});
    let skills = match client {
        ClientDialect::Responses => &mut request["tools"][0]["environment"]["skills"],
        _ => &mut request["container"]["skills"],
    };
    skills.as_array_mut().unwrap().push(native);
    request
}

/// A turn in which Anthropic's servers ran something, as they tell it.
fn code_answer(stream: bool, text: &str, stop: &str, more: &[Value]) -> MockResponse {
    let result = json!({"type": "bash_code_execution_result", "stdout": "ok", "stderr": "",
        "return_code": 0,
        "content": [{"type": "bash_code_execution_output", "file_id": NATIVE_FILE}]});
    let mut content = vec![
        json!({"type": "server_tool_use", "id": "srvtoolu_01A", "name": "bash_code_execution",
            "input": {"command": "python make.py"}}),
        json!({"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_01A",
            "content": result}),
        json!({"type": "text", "text": text}),
    ];
    content.extend_from_slice(more);
    model_answer(stream, content, stop)
}

fn model_answer(stream: bool, content: Vec<Value>, stop: &str) -> MockResponse {
    let body = json!({"id": "msg_01", "type": "message", "role": "assistant", "model": "m1",
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 30, "output_tokens": 10},
        "container": {"id": "container_011theirs", "expires_at": "2030-01-01T00:00:00Z",
            "skills": [{"type": "anthropic", "skill_id": "pptx", "version": "20251013"}]}});
    if !stream {
        return MockResponse::json(200, &body.to_string());
    }
    let body = body.to_string();
    let whole = read_response(Dialect::Messages, body.as_bytes(), &Default::default()).unwrap();
    let mut writer = StreamWriter::new(ClientDialect::Messages, ReplyContext::default());
    let mut out = Vec::new();
    for event in prowess_wire::neutral::replay(whole) {
        writer.write(&event, &mut out);
    }
    MockResponse::sse(std::str::from_utf8(&out).unwrap()).in_chunks(97)
}

/// The container an answer names, streamed or not.
fn container(client: ClientDialect, stream: bool, text: &str) -> Value {
    let events = text.lines().filter_map(|line| {
        let line = line.strip_prefix("data: ").unwrap_or(line);
        serde_json::from_str::<Value>(line).ok()
    });
    let mut containers = events.filter_map(|event| {
        let holder = match (client, stream) {
            (ClientDialect::Responses, true) => event.get("response")?.clone(),
            _ => event,
        };
        holder.get("container").cloned()
    });
    containers.next_back().unwrap_or_default()
}

fn each() -> impl Iterator<Item = (ClientDialect, bool)> {
    let both = |client| [(client, false), (client, true)];
    OTHERS.into_iter().flat_map(both)
}

#[test]
fn clients_of_other_dialects_use_anthropics_own_skills() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let model = Vendor::Anthropic.model(0);
        for (client, stream) in each() {
            let request = native_skill_request(client, &model, stream, &[]);
            gateway.upstreams[0].respond(code_answer(stream, "Here it is.", "end_turn", &[]));
            let response = gateway.post(path(client), &request).await;
            assert_eq!(response.status, 200, "{}", response.text);

            let requests = gateway.upstreams[0].requests().await;
            let [sent] = requests.as_slice() else {
                panic!("{} requests", requests.len());
            };
            assert_eq!(
                sent.header("anthropic-beta"),
                Some("code-execution-2025-08-25,skills-2025-10-02")
            );
            let body: Value = serde_json::from_slice(&sent.body).unwrap();
            let native = json!({"type": "anthropic", "skill_id": "pptx", "version": "latest"});
            assert_eq!(body["container"], json!({"skills": [native]}));
            let code = json!({"type": "code_execution_20250825", "name": "code_execution"});
            assert_eq!(body["tools"][0], code, "{body}");
            let tools: Vec<_> = body["tools"].as_array().unwrap().iter().collect();
            assert_eq!(tools.len(), 2, "nothing of ours beside it: {body}");
            assert_eq!(tools[1]["name"], "weather");
            assert_eq!(body["system"], "Be kind.");

            let answer: Response = parse_answer(client, stream, &response).unwrap();
            assert_eq!(text_of(&answer), "Here it is.");
            assert_eq!(answer.stop_reason, Some(StopReason::EndTurn));
            let container = container(client, stream, &response.text);
            assert_eq!(container["id"], "container_011theirs", "{}", response.text);
            assert_eq!(container["files"][0]["file_id"], NATIVE_FILE);
            assert_eq!(container["files"][0]["provider"], "anthropic-0");
            if client == ClientDialect::Responses {
                assert!(
                    response.text.contains("\"shell_call_output\""),
                    "{}",
                    response.text
                );
                let files = format!(
                    "\"files\":[{{\"type\":\"bash_code_execution_output\",\"file_id\":\"{NATIVE_FILE}\"}}]"
                );
                assert!(response.text.contains(&files), "{}", response.text);
            }
        }
    });
}

#[test]
fn the_rules_of_a_model_hold_beside_its_own_skills() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let model = "anthropic-0/claude-opus-4-7";
        let mut request = native_skill_request(ClientDialect::Chat, model, false, &[]);
        request["temperature"] = 0.5.into();
        request["stop"] = json!(["\n", "END"]);
        request["tools"][0]["function"]["strict"] = true.into();
        let only = json!([{"type": "function", "function": {"name": "weather"}}]);
        request["tool_choice"] = json!({"type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": only}});
        let beginning = json!({"role": "assistant", "content": "Once upon a time"});
        request["messages"].as_array_mut().unwrap().push(beginning);
        gateway.upstreams[0].respond(code_answer(false, "Here.", "end_turn", &[]));
        let response = gateway.post(path(ClientDialect::Chat), &request).await;
        assert_eq!(response.status, 200, "{}", response.text);
        let requests = gateway.upstreams[0].requests().await;
        let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
        assert_eq!(body.get("temperature"), None, "{body}");
        assert_eq!(body["stop_sequences"], json!(["END"]));
        let tools = body["tools"].as_array().unwrap();
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["code_execution", "weather"]);
        assert_eq!(tools[1].get("strict"), None, "{body}");
        let last = body["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(*last, json!({"role": "user", "content": "Continue."}));
    });
}

#[test]
fn stored_skills_run_here_beside_those_that_run_at_anthropic() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let stored = gateway.store(&SkillFixture::new("report")).await;
        let model = Vendor::Anthropic.model(0);
        for (client, stream) in each() {
            let request = native_skill_request(client, &model, stream, &[&stored]);
            let ours = json!({"type": "tool_use", "id": "toolu_01", "name": "skill_bash",
                "input": {"command": "printf ours > ours.txt; echo o-u-r-s"}});
            gateway.upstreams[0].respond(code_answer(stream, "Both.", "tool_use", &[ours]));
            let done = json!({"type": "text", "text": "Done."});
            gateway.upstreams[0].respond(model_answer(stream, vec![done], "end_turn"));
            let response = gateway.post(path(client), &request).await;
            assert_eq!(response.status, 200, "{}", response.text);

            let requests = gateway.upstreams[0].requests().await;
            let bodies = requests.iter().map(|sent| sent.text());
            let bodies: Vec<Value> = bodies.map(|b| serde_json::from_str(b).unwrap()).collect();
            assert_eq!(bodies.len(), 2);
            for body in &bodies {
                assert_eq!(body["container"]["skills"].as_array().unwrap().len(), 1);
                assert!(body["system"].to_string().contains("- report:"), "{body}");
            }
            assert_eq!(bodies[1]["container"]["id"], "container_011theirs");
            // What Anthropic's servers did comes back to it as it was told.
            let content = &bodies[1]["messages"][1]["content"];
            assert_eq!(content[0]["type"], "server_tool_use", "{content}");
            assert_eq!(
                content[1]["type"], "bash_code_execution_tool_result",
                "{content}"
            );
            assert_eq!(content[1]["content"]["content"][0]["file_id"], NATIVE_FILE);
            let result = bodies[1]["messages"][2]["content"].to_string();
            assert!(result.contains("o-u-r-s"), "{result}");

            let container = container(client, stream, &response.text);
            let files = container["files"].as_array().unwrap();
            assert_eq!(files[0]["filename"], "ours.txt", "{container}");
            assert_eq!(files[1]["file_id"], NATIVE_FILE, "{container}");
            let skills = container["skills"].as_array().unwrap();
            assert_eq!(skills[0]["skill_id"], stored.as_str());
            assert_eq!(skills[1]["version"], "20251013");
        }
    });
}

#[test]
fn a_clients_tool_beside_anthropics_own_execution_goes_back_and_returns() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let model = Vendor::Anthropic.model(0);
        for (client, stream) in each() {
            let mut request = native_skill_request(client, &model, stream, &[]);
            let weather = json!({"type": "tool_use", "id": "toolu_01", "name": "weather",
                "input": {"city": "Bern"}});
            gateway.upstreams[0].respond(code_answer(
                stream,
                "Let me ask.",
                "tool_use",
                &[weather],
            ));
            let response = gateway.post(path(client), &request).await;
            let answer = parse_answer(client, stream, &response).unwrap();
            assert_eq!(calls_of(&answer).len(), 1, "{}", response.text);
            append_tool_result(client, &mut request, &response, &answer, "sunny");
            let done = json!({"type": "text", "text": "Done."});
            gateway.upstreams[0].respond(model_answer(stream, vec![done], "end_turn"));
            let response = gateway.post(path(client), &request).await;
            assert_eq!(response.status, 200, "{}", response.text);
            let requests = gateway.upstreams[0].requests().await;
            let body: Value = serde_json::from_slice(&requests[1].body).unwrap();
            let content = &body["messages"][1]["content"];
            assert_eq!(content[0]["type"], "server_tool_use", "{body}");
            assert_eq!(content[1]["content"]["content"][0]["file_id"], NATIVE_FILE);
            assert_eq!(content[3]["type"], "tool_use", "{body}");
            let answered = &body["messages"][2]["content"][0];
            assert_eq!(answered["tool_use_id"], content[3]["id"], "{body}");
        }
    });
}

#[test]
fn a_pause_that_the_client_has_no_word_for_is_seen_through() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let model = Vendor::Anthropic.model(0);
        for (client, stream) in each() {
            let request = native_skill_request(client, &model, stream, &[]);
            gateway.upstreams[0].respond(code_answer(stream, "First.", "pause_turn", &[]));
            let done = json!({"type": "text", "text": "Done."});
            gateway.upstreams[0].respond(model_answer(stream, vec![done], "end_turn"));
            let response = gateway.post(path(client), &request).await;
            assert_eq!(response.status, 200, "{}", response.text);
            let answer = parse_answer(client, stream, &response).unwrap();
            assert_eq!(answer.stop_reason, Some(StopReason::EndTurn));
            assert!(text_of(&answer).ends_with("Done."), "{}", response.text);
            let requests = gateway.upstreams[0].requests().await;
            let body: Value = serde_json::from_slice(&requests[1].body).unwrap();
            let last = body["messages"].as_array().unwrap().last().unwrap();
            assert_eq!(last["role"], "assistant", "{body}");
            assert_eq!(body["container"]["id"], "container_011theirs");
        }
    });
}

/// Responses names a container again, but has no place for its skills beside it.
#[test]
fn a_container_that_is_named_again_brings_back_its_skills() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let stored = gateway.store(&SkillFixture::new("report")).await;
        let model = Vendor::Anthropic.model(0);
        let done = || vec![json!({"type": "text", "text": "Done."})];
        let expected = json!([{"type": "anthropic", "skill_id": "pptx", "version": "20251013"}]);
        for (client, stream) in each() {
            for mixed in [false, true] {
                let stored = if mixed { vec![stored.as_str()] } else { vec![] };
                let request = native_skill_request(client, &model, stream, &stored);
                let ours = json!({"type": "tool_use", "id": "toolu_01", "name": "skill_bash",
                    "input": {"command": "echo ours"}});
                match mixed {
                    true => {
                        gateway.upstreams[0].respond(code_answer(
                            stream,
                            "Both.",
                            "tool_use",
                            &[ours],
                        ));
                        gateway.upstreams[0].respond(model_answer(stream, done(), "end_turn"));
                    }
                    false => {
                        gateway.upstreams[0].respond(code_answer(stream, "Here.", "end_turn", &[]));
                    }
                }
                let answer = gateway.post(path(client), &request).await;
                let id = container(client, stream, &answer.text)["id"].clone();
                gateway.upstreams[0].requests().await;

                let mut again = new_request(client, &model, stream, &[]);
                match client {
                    ClientDialect::Responses => {
                        let reference = json!({"type": "container_reference", "container_id": id});
                        again["tools"][0]["environment"] = reference;
                    }
                    _ => again["container"] = id,
                }
                gateway.upstreams[0].respond(model_answer(stream, done(), "end_turn"));
                let answer = gateway.post(path(client), &again).await;
                assert_eq!(answer.status, 200, "{}", answer.text);
                let requests = gateway.upstreams[0].requests().await;
                let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
                let sent = json!({"id": "container_011theirs", "skills": expected});
                assert_eq!(body["container"], sent, "{client:?} {mixed}");
                let tools = body["tools"].to_string();
                assert!(tools.contains("code_execution_20250825"), "{tools}");
                let system = body["system"].to_string();
                assert_eq!(system.contains("- report:"), mixed, "{system}");
            }
        }
        // Whoever speaks Anthropic's dialect goes on in it without us.
        let mut passed = new_request(ClientDialect::Messages, &model, false, &[]);
        passed["container"] = "container_011theirs".into();
        gateway.upstreams[0].respond(model_answer(false, done(), "end_turn"));
        gateway.post(path(ClientDialect::Messages), &passed).await;
        let requests = gateway.upstreams[0].requests().await;
        let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
        assert_eq!(body["tools"][0]["type"], "code_execution_20260521");
        assert_eq!(body["container"], "container_011theirs");
    });
}

#[test]
fn a_model_of_another_vendors_has_none_of_them() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        for (client, stream) in each() {
            for vendor in [Vendor::Chat, Vendor::Gemini, Vendor::Converse] {
                let request = native_skill_request(client, &vendor.model(0), stream, &[]);
                let response = gateway.post(path(client), &request).await;
                assert_eq!(response.status, 404, "{}", response.text);
                let error = &response.json()["error"];
                assert_eq!(error["code"], "skill-not-found", "{}", response.text);
                let message = error["message"].as_str().unwrap();
                assert!(message.contains("pptx"), "{message}");
            }
        }
        assert!(
            gateway.upstreams[0].requests().await.is_empty(),
            "nobody is asked"
        );
    });
}

#[test]
fn an_alias_stands_in_for_one_of_them_where_the_model_has_none() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let stored = gateway.store(&SkillFixture::new("slides")).await;
        let aliases = format!("[skills]\naliases = {{ pptx = '{stored}' }}\n");
        let other = gateway.sibling_with(&aliases);
        let ask = async |vendor: Vendor| {
            let body = native_skill_request(ClientDialect::Chat, &vendor.model(0), false, &[]);
            let url = format!("{}{}", other.url(), path(ClientDialect::Chat));
            let request = gateway.http.post(url).bearer_auth(server::MASTER);
            let response = request.body(body.to_string()).send().await.unwrap();
            assert_eq!(response.status(), 200);
            let sent = gateway.upstreams[0].requests().await;
            gateway.upstreams[0].clear_responses();
            sent[0].text().to_owned()
        };
        gateway.upstreams[0].respond(Vendor::Chat.text_turn(false, "Done."));
        let sent = ask(Vendor::Chat).await;
        assert!(sent.contains("- slides: "), "{sent}");
        gateway.upstreams[0].respond(Vendor::Anthropic.text_turn(false, "Done."));
        let sent = ask(Vendor::Anthropic).await;
        assert!(
            !sent.contains("- slides: "),
            "Anthropic has its own: {sent}"
        );
        assert!(sent.contains("\"skill_id\":\"pptx\""), "{sent}");
    });
}
