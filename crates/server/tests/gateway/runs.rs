//! Requests with stored skills, with upstreams that record what they received. Here without a
//! sandbox: skills are read, not run.

use prowess_engine::{EngineSettings as Runs, RunLimits};
use prowess_server::ServerSettings;
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};
use prowess_store::{NewSkill, TenantId};
use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::MockResponse;
use prowess_wire::neutral::{Block, Response, StopReason, TokenUsage, replay};
use prowess_wire::{ClientDialect, Dialect, ReplyContext, StreamWriter, write_response};
use serde_json::{Value, json};

use crate::gateway::{ClientResponse, Gateway, path};

/// Stores a skill and returns its id.
pub(crate) async fn stored(gateway: &Gateway) -> String {
    let files = SkillFixture::new("pdf-forms")
        .body("Fill in all fields.\n")
        .files();
    let bundle = Bundle::from_files(files, &BundleLimits::default()).unwrap();
    let skill = Skill::load(bundle, &LoadOptions::default()).skill.unwrap();
    let tenant = TenantId::default_tenant();
    let made = gateway
        .app
        .store()
        .create_skill(&tenant, &NewSkill::from_skill(&skill))
        .await;
    made.unwrap().skill.id
}

/// An upstream's response: a text and tool calls.
pub(crate) fn model_response(
    model: &str,
    stream: bool,
    text: &str,
    calls: &[(&str, Value)],
) -> MockResponse {
    let mut response = Response::new(Dialect::Messages, "up", "m1");
    response.content.push(Block::text(text));
    for (i, (name, input)) in calls.iter().enumerate() {
        let id = format!("call_{}", i + 1);
        response
            .content
            .push(Block::tool_use(id, *name, input.clone()));
    }
    response.stop_reason = Some(if calls.is_empty() {
        StopReason::EndTurn
    } else {
        StopReason::ToolUse
    });
    response.usage = TokenUsage {
        input_tokens: 30,
        output_tokens: 10,
        ..TokenUsage::default()
    };
    let client = if model.starts_with("ant/") {
        ClientDialect::Messages
    } else {
        ClientDialect::Chat
    };
    let mut context = ReplyContext::default();
    context.include_usage = true;
    if !stream {
        let (body, _) = write_response(client, &response, &context);
        return MockResponse::json(200, &body.to_string());
    }
    let mut writer = StreamWriter::new(client, context);
    let mut out = Vec::new();
    for event in replay(response) {
        writer.write(&event, &mut out);
    }
    MockResponse::sse(std::str::from_utf8(&out).unwrap()).in_chunks(97)
}

pub(crate) fn load() -> [(&'static str, Value); 1] {
    [("load_skill", json!({"name": "pdf-forms"}))]
}

pub(crate) fn request_naming(
    client: ClientDialect,
    model: &str,
    skill: &str,
    stream: bool,
) -> Value {
    let container = json!({"skills": [{"type": "custom", "skill_id": skill, "version": "latest"}]});
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let messages = json!([{"role": "user", "content": "Fill in the form"}]);
    match client {
        ClientDialect::Messages => json!({
            "model": model, "max_tokens": 50, "stream": stream, "container": container,
            "temperature": 0.5,
            "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
            "messages": messages,
            "tools": [{"name": "weather", "input_schema": schema}],
        }),
        _ => json!({
            "model": model, "stream": stream, "container": container, "temperature": 0.5,
            "messages": [{"role": "system", "content": "Be kind."}, messages[0]],
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": schema}}],
        }),
    }
}

pub(crate) async fn sent(gateway: &Gateway) -> Value {
    serde_json::from_str(gateway.upstream.next_request().await.text()).unwrap()
}

/// The whole text of a response, streamed or not.
pub(crate) fn text_of(answer: &ClientResponse) -> String {
    let body = answer.text();
    let pieces = body.lines().filter_map(|line| {
        let event: Value = serde_json::from_str(line.strip_prefix("data: ")?).ok()?;
        let chat = event["choices"][0]["delta"]["content"].as_str();
        let piece = event["delta"]["text"].as_str().or(chat)?;
        Some(piece.to_owned())
    });
    match serde_json::from_str::<Value>(body) {
        Ok(whole) if whole["choices"].is_array() => whole["choices"][0]["message"]["content"]
            .as_str()
            .unwrap()
            .to_owned(),
        Ok(whole) => {
            let blocks = whole["content"].as_array().unwrap().iter();
            blocks.filter_map(|block| block["text"].as_str()).collect()
        }
        Err(_) => pieces.collect(),
    }
}

#[tokio::test]
async fn turns_become_one_answer_in_any_pair_of_dialects() {
    let gateway = Gateway::start().await;
    let id = stored(&gateway).await;
    for client in [ClientDialect::Messages, ClientDialect::Chat] {
        for model in ["ant/m1", "oai/m1"] {
            for stream in [false, true] {
                let case = format!("{client:?} {model} {stream}");
                gateway
                    .upstream
                    .respond(model_response(model, stream, "Let me see.", &load()));
                gateway
                    .upstream
                    .respond(model_response(model, stream, "Done.", &[]));
                let request = request_naming(client, model, &id, stream).to_string();
                let answer = gateway.post(path(client), request).await;
                assert_eq!(answer.status, 200, "{case}: {}", answer.text());
                assert!(text_of(&answer).starts_with("Let me see."), "{case}");
                assert!(
                    text_of(&answer).ends_with("Done."),
                    "{case}: {}",
                    answer.text()
                );
                assert!(answer.header("prowess-run").unwrap().starts_with("run_"));
                let (first, second) = (sent(&gateway).await, sent(&gateway).await);
                let prompt = first.to_string();
                assert!(
                    prompt.contains("pdf-forms") && prompt.contains("Be kind."),
                    "{case}: {prompt}"
                );
                assert!(
                    !prompt.contains("Fill in all fields"),
                    "{case}: bodies come on demand"
                );
                assert!(!prompt.contains("container"), "{case}: {prompt}");
                assert!(
                    second.to_string().contains("Fill in all fields"),
                    "{case}: {second}"
                );
                for kept in [
                    "system",
                    "instructions",
                    "tools",
                    "temperature",
                    "max_tokens",
                    "stream",
                ] {
                    assert_eq!(first.get(kept), second.get(kept), "{case}: {kept}");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_a_messages_client_and_its_upstream_see() {
    let gateway = Gateway::start().await;
    let id = stored(&gateway).await;
    let model = "ant/m1";
    for _ in 0..2 {
        gateway
            .upstream
            .respond(model_response(model, false, "Let me see.", &load()));
        gateway
            .upstream
            .respond(model_response(model, false, "Done.", &[]));
    }
    let body = request_naming(ClientDialect::Messages, model, &id, false).to_string();
    let answer = gateway.post("/v1/messages", body.clone()).await.json();
    let first = sent(&gateway).await;
    insta::assert_json_snapshot!("run_first_turn", first);
    sent(&gateway).await;
    let call = answer["content"][1]["id"].as_str().unwrap();
    assert!(call.starts_with("srvtoolu_pw"), "{call}");
    let shown = answer.to_string().replace(call, "srvtoolu_pw…");
    insta::assert_json_snapshot!("run_answer", serde_json::from_str::<Value>(&shown).unwrap());

    gateway.post("/v1/messages", body).await;
    assert_eq!(
        sent(&gateway).await,
        first,
        "the same request gives the same prompt"
    );
}

#[tokio::test]
async fn a_call_of_the_clients_goes_back_to_it_and_ours_is_not_forgotten() {
    let both = [load()[0].clone(), ("weather", json!({"city": "Bern"}))];
    for stream in [false, true] {
        for client in [ClientDialect::Messages, ClientDialect::Chat] {
            let gateway = Gateway::start().await;
            let id = stored(&gateway).await;
            let model = "oai/m1";
            gateway
                .upstream
                .respond(model_response(model, stream, "Let me see.", &both));
            gateway
                .upstream
                .respond(model_response(model, false, "Rain.", &[]));
            let mut request = request_naming(client, model, &id, stream);
            let answer = gateway.post(path(client), request.to_string()).await;
            sent(&gateway).await;
            answer_weather(client, &mut request, &answer, stream);
            request["stream"] = false.into();
            let answer = gateway.post(path(client), request.to_string()).await;
            assert!(text_of(&answer).contains("Rain."), "{}", answer.text());
            let second = sent(&gateway).await;
            let messages = second["messages"].as_array().unwrap();
            let last: Vec<&Value> = messages.iter().rev().take(3).rev().collect();
            let calls = last[0]["tool_calls"].as_array().unwrap();
            let names: Vec<_> = calls.iter().map(|call| &call["function"]["name"]).collect();
            assert_eq!(names, ["load_skill", "weather"], "{client:?} {stream}");
            for (i, expected) in [(1, "Fill in all fields"), (2, "sunny")] {
                assert_eq!(last[i]["tool_call_id"], calls[i - 1]["id"]);
                assert!(
                    last[i]["content"].as_str().unwrap().contains(expected),
                    "{second}"
                );
            }
        }
    }
}

/// The conversation with a result of the client's own tool, as a client continues it.
fn answer_weather(
    client: ClientDialect,
    request: &mut Value,
    answer: &ClientResponse,
    stream: bool,
) {
    let messages = request["messages"].as_array_mut().unwrap();
    match (client, stream) {
        (ClientDialect::Messages, _) => {
            let content = if stream {
                collected(answer)
            } else {
                answer.json()["content"].clone()
            };
            let blocks = content.as_array().unwrap();
            let call = blocks
                .iter()
                .find(|block| block["type"] == "tool_use")
                .unwrap();
            let result =
                json!([{"type": "tool_result", "tool_use_id": call["id"], "content": "sunny"}]);
            messages.push(json!({"role": "assistant", "content": content}));
            messages.push(json!({"role": "user", "content": result}));
        }
        (_, false) => {
            let message = answer.json()["choices"][0]["message"].clone();
            assert_eq!(
                message["tool_calls"].as_array().unwrap().len(),
                1,
                "{message}"
            );
            let id = message["tool_calls"][0]["id"].clone();
            messages.push(message);
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": "sunny"}));
        }
        (_, true) => {
            let call = answer.text().lines().find_map(|line| {
                let event: Value = serde_json::from_str(line.strip_prefix("data: ")?).ok()?;
                let call = event["choices"][0]["delta"]["tool_calls"][0].clone();
                call["id"].is_string().then_some(call)
            });
            let call = call.unwrap();
            let function = json!({"name": "weather", "arguments": "{\"city\":\"Bern\"}"});
            let tool_calls = json!([{"id": call["id"], "type": "function", "function": function}]);
            messages.push(
                json!({"role": "assistant", "content": "Let me see.", "tool_calls": tool_calls}),
            );
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "sunny"}));
        }
    }
}

/// The content of a streamed Messages response; its indexes must be dense.
fn collected(answer: &ClientResponse) -> Value {
    let mut reader = prowess_wire::StreamReader::new(Dialect::Messages, Default::default());
    let mut collector = prowess_wire::neutral::ResponseCollector::new(Dialect::Messages);
    let mut next = 0;
    for event in reader.push(&answer.body).into_iter().chain(reader.finish()) {
        if let prowess_wire::neutral::StreamEvent::BlockStart { index, .. } = &event {
            assert_eq!(*index, next, "{}", answer.text());
            next += 1;
        }
        collector.push(event).unwrap();
    }
    let whole = collector.finish().unwrap();
    write_response(ClientDialect::Messages, &whole, &ReplyContext::default()).0["content"].clone()
}

#[tokio::test]
async fn a_run_that_meets_its_limit_is_paused_and_goes_on() {
    let limits = RunLimits {
        turns: 1,
        ..RunLimits::default()
    };
    let runs = Runs {
        limits,
        ..Runs::default()
    };
    let gateway = Gateway::with(ServerSettings {
        runs,
        ..ServerSettings::default()
    })
    .await;
    let id = stored(&gateway).await;
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Let me see.", &load()));
    let mut request = request_naming(ClientDialect::Messages, "oai/m1", &id, false);
    let paused = gateway
        .post("/v1/messages", request.to_string())
        .await
        .json();
    assert_eq!(paused["stop_reason"], "pause_turn", "{paused}");
    assert_eq!(paused["content"][1]["type"], "server_tool_use");
    sent(&gateway).await;

    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": paused["content"]}));
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Done.", &[]));
    let answer = gateway
        .post("/v1/messages", request.to_string())
        .await
        .json();
    assert_eq!(answer["stop_reason"], "end_turn", "{answer}");
    assert_eq!(
        answer["content"][0]["type"],
        "text_editor_code_execution_tool_result"
    );
    assert_eq!(answer["content"][1]["text"], "Done.");
    let second = sent(&gateway).await.to_string();
    assert!(second.contains("Fill in all fields"), "{second}");

    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Let me see.", &load()));
    let chat = request_naming(ClientDialect::Chat, "oai/m1", &id, false).to_string();
    let cut = gateway.post("/v1/chat/completions", chat).await.json();
    assert_eq!(cut["choices"][0]["finish_reason"], "length", "{cut}");
}

#[tokio::test]
async fn an_upstream_that_fails_in_a_later_turn_is_an_error_and_not_the_first_answer() {
    let gateway = Gateway::start().await;
    let id = stored(&gateway).await;
    for stream in [false, true] {
        gateway
            .upstream
            .respond(model_response("oai/m1", stream, "Let me see.", &load()));
        let refused =
            r#"{"error":{"message":"no more","type":"invalid_request_error","code":"quota"}}"#;
        gateway.upstream.respond(MockResponse::json(402, refused));
        let request = request_naming(ClientDialect::Messages, "oai/m1", &id, stream).to_string();
        let answer = gateway.post("/v1/messages", request).await;
        assert!(answer.text().contains("no more"), "{}", answer.text());
        if stream {
            assert!(
                answer.text().contains("event: error\n"),
                "{}",
                answer.text()
            )
        } else {
            assert_eq!(answer.status, 402)
        }
        gateway.upstream.requests().await;
    }
}

#[tokio::test]
async fn the_upstreams_own_skills_stay_with_it_beside_ours() {
    let gateway = Gateway::start().await;
    let id = stored(&gateway).await;
    let model = "ant/m1";
    gateway
        .upstream
        .respond(model_response(model, false, "Let me see.", &load()));
    gateway
        .upstream
        .respond(model_response(model, false, "Done.", &[]));
    let mut request = request_naming(ClientDialect::Messages, model, &id, false);
    let native = json!({"type": "anthropic", "skill_id": "xlsx", "version": "latest"});
    request["container"]["skills"]
        .as_array_mut()
        .unwrap()
        .push(native.clone());
    let answer = gateway.post("/v1/messages", request.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let first = sent(&gateway).await;
    assert_eq!(first["container"], json!({"skills": [native]}));
    let names: Vec<_> = first["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["name"])
        .collect();
    assert_eq!(names, ["weather", "load_skill"]);
    let second = sent(&gateway).await;
    assert_eq!(
        second["container"],
        json!({"skills": [native]}),
        "on every turn"
    );
}

#[tokio::test]
async fn a_choice_that_forces_a_call_is_obeyed_once() {
    let gateway = Gateway::start().await;
    let id = stored(&gateway).await;
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "", &load()));
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Done.", &[]));
    let mut request = request_naming(ClientDialect::Messages, "oai/m1", &id, false);
    request["tool_choice"] = json!({"type": "any"});
    gateway.post("/v1/messages", request.to_string()).await;
    assert_eq!(sent(&gateway).await["tool_choice"], "required");
    assert_eq!(sent(&gateway).await["tool_choice"], "auto");
}

#[tokio::test]
async fn a_client_may_have_a_tool_of_our_tools_name() {
    let gateway = Gateway::start().await;
    let id = stored(&gateway).await;
    let ours = [
        ("skills_load", json!({"name": "pdf-forms"})),
        ("load_skill", json!({})),
    ];
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Both.", &ours));
    let mut request = request_naming(ClientDialect::Messages, "oai/m1", &id, false);
    request["tools"][0]["name"] = "load_skill".into();
    let answer = gateway
        .post("/v1/messages", request.to_string())
        .await
        .json();
    let kinds: Vec<_> = answer["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| &b["type"])
        .collect();
    let expected = [
        "text",
        "server_tool_use",
        "tool_use",
        "text_editor_code_execution_tool_result",
    ];
    assert_eq!(kinds, expected, "{answer}");
    assert_eq!(answer["stop_reason"], "tool_use");
}

#[tokio::test]
async fn code_execution_without_a_sandbox_is_refused_before_anyone_is_called() {
    let gateway = Gateway::start().await;
    let id = stored(&gateway).await;
    let mut messages = request_naming(ClientDialect::Messages, "oai/m1", &id, true);
    messages["tools"] = json!([{"type": "code_execution_20260521", "name": "code_execution"}]);
    let skill = json!({"type": "skill_reference", "skill_id": id});
    let environment = json!({"type": "container_auto", "skills": [skill]});
    let tools = json!([{"type": "shell", "environment": environment}]);
    let responses = json!({"model": "oai/m1", "input": "x", "tools": tools});
    for (client, request) in [
        (ClientDialect::Messages, messages),
        (ClientDialect::Responses, responses),
    ] {
        let answer = gateway.post(path(client), request.to_string()).await;
        assert_eq!(answer.status, 503, "{}", answer.text());
        assert!(
            answer.text().contains("sandbox-unavailable"),
            "{}",
            answer.text()
        );
    }
    assert!(gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn a_run_can_be_read_back() {
    let gateway = Gateway::start().await;
    let id = stored(&gateway).await;
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Let me see.", &load()));
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Done.", &[]));
    let request = request_naming(ClientDialect::Chat, "oai/m1", &id, false).to_string();
    let answer = gateway.post("/v1/chat/completions", request).await;
    let run = answer.header("prowess-run").unwrap().to_owned();
    // It is written in the background.
    let read = loop {
        let read = gateway.get(&format!("/v1/runs/{run}"), &[]).await;
        if read.status == 200 && read.json()["status"] != "running" {
            break read.json();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(
        (&read["status"], &read["turns"]),
        (&json!("completed"), &json!(2))
    );
    assert_eq!(read["usage"]["input_tokens"], 60);
    let skill = &read["skills"][0];
    assert_eq!(
        (&skill["name"], &skill["loaded"]),
        (&json!("pdf-forms"), &json!(true))
    );
    let kinds: Vec<_> = read["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| &e["kind"])
        .collect();
    assert_eq!(
        kinds,
        [
            "request",
            "turn",
            "turn_ended",
            "tool_started",
            "tool_ended",
            "skill_loaded",
            "turn",
            "turn_ended"
        ]
    );
    assert!(
        !read.to_string().contains("Fill in"),
        "what was said is not recorded"
    );
    let list = gateway.get("/v1/runs", &[]).await.json();
    assert_eq!(list["data"][0]["id"], run.as_str());
}
