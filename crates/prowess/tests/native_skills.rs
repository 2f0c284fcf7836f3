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
use prowess_testkit::upstream::Answer;
use prowess_wire::neutral::{Response, StopReason};
use prowess_wire::{Client, Dialect, ReplyContext, StreamWriter, read_response};
use serde_json::{Value, json};
use vendors::client::{asks, calls_of, goes_on, path, text_of, understood};
use vendors::speak::Vendor;
use vendors::{Place, run};

const OTHERS: [Client; 2] = [Client::Chat, Client::Responses];
const NATIVE_FILE: &str = "file_011theirs";

/// A request that names Anthropic's own skill beside those that are stored.
fn names(client: Client, model: &str, stream: bool, stored: &[&str]) -> Value {
    let mut asked = asks(client, model, stream, stored);
    let native = json!({"type": "anthropic", "skill_id": "pptx", "version": "latest"});
    let skills = match client {
        Client::Responses => &mut asked["tools"][0]["environment"]["skills"],
        _ => &mut asked["container"]["skills"],
    };
    skills.as_array_mut().unwrap().push(native);
    asked
}

/// A turn in which Anthropic's servers ran something, as they tell it.
fn ran(stream: bool, text: &str, stop: &str, more: &[Value]) -> Answer {
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
    says(stream, content, stop)
}

fn says(stream: bool, content: Vec<Value>, stop: &str) -> Answer {
    let body = json!({"id": "msg_01", "type": "message", "role": "assistant", "model": "m1",
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 30, "output_tokens": 10},
        "container": {"id": "container_011theirs", "expires_at": "2030-01-01T00:00:00Z",
            "skills": [{"type": "anthropic", "skill_id": "pptx", "version": "20251013"}]}});
    if !stream {
        return Answer::json(200, &body.to_string());
    }
    let body = body.to_string();
    let whole = read_response(Dialect::Messages, body.as_bytes(), &Default::default()).unwrap();
    let mut writer = StreamWriter::new(Client::Messages, ReplyContext::default());
    let mut out = Vec::new();
    for event in prowess_wire::neutral::replay(whole) {
        writer.write(&event, &mut out);
    }
    Answer::sse(std::str::from_utf8(&out).unwrap()).in_pieces(97)
}

/// The container an answer names, streamed or not.
fn container(client: Client, stream: bool, text: &str) -> Value {
    let events = text.lines().filter_map(|line| {
        let line = line.strip_prefix("data: ").unwrap_or(line);
        serde_json::from_str::<Value>(line).ok()
    });
    let mut told = events.filter_map(|event| {
        let holder = match (client, stream) {
            (Client::Responses, true) => event.get("response")?.clone(),
            _ => event,
        };
        holder.get("container").cloned()
    });
    told.next_back().unwrap_or_default()
}

fn each() -> impl Iterator<Item = (Client, bool)> {
    let both = |client| [(client, false), (client, true)];
    OTHERS.into_iter().flat_map(both)
}

#[test]
fn clients_of_other_dialects_use_anthropics_own_skills() {
    run(async {
        let place = Place::open(1, "").await;
        let model = Vendor::Anthropic.model(0);
        for (client, stream) in each() {
            let asked = names(client, &model, stream, &[]);
            place.lanes[0].answer(ran(stream, "Here it is.", "end_turn", &[]));
            let told = place.post(path(client), &asked).await;
            assert_eq!(told.status, 200, "{}", told.text);

            let requests = place.lanes[0].requests().await;
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

            let answer: Response = understood(client, stream, &told).unwrap();
            assert_eq!(text_of(&answer), "Here it is.");
            assert_eq!(answer.stop_reason, Some(StopReason::EndTurn));
            let container = container(client, stream, &told.text);
            assert_eq!(container["id"], "container_011theirs", "{}", told.text);
            assert_eq!(container["files"][0]["file_id"], NATIVE_FILE);
            assert_eq!(container["files"][0]["provider"], "anthropic-0");
            if client == Client::Responses {
                assert!(told.text.contains("\"shell_call_output\""), "{}", told.text);
                let files = format!(
                    "\"files\":[{{\"type\":\"bash_code_execution_output\",\"file_id\":\"{NATIVE_FILE}\"}}]"
                );
                assert!(told.text.contains(&files), "{}", told.text);
            }
        }
    });
}

#[test]
fn stored_skills_run_here_beside_those_that_run_at_anthropic() {
    run(async {
        let place = Place::open(1, "").await;
        let stored = place.store(&SkillFixture::new("report")).await;
        let model = Vendor::Anthropic.model(0);
        for (client, stream) in each() {
            let asked = names(client, &model, stream, &[&stored]);
            let ours = json!({"type": "tool_use", "id": "toolu_01", "name": "skill_bash",
                "input": {"command": "printf ours > ours.txt; echo o-u-r-s"}});
            place.lanes[0].answer(ran(stream, "Both.", "tool_use", &[ours]));
            let done = json!({"type": "text", "text": "Done."});
            place.lanes[0].answer(says(stream, vec![done], "end_turn"));
            let told = place.post(path(client), &asked).await;
            assert_eq!(told.status, 200, "{}", told.text);

            let requests = place.lanes[0].requests().await;
            let bodies = requests.iter().map(|sent| sent.text());
            let bodies: Vec<Value> = bodies.map(|b| serde_json::from_str(b).unwrap()).collect();
            assert_eq!(bodies.len(), 2);
            for body in &bodies {
                assert_eq!(body["container"]["skills"].as_array().unwrap().len(), 1);
                assert!(body["system"].to_string().contains("- report:"), "{body}");
            }
            assert_eq!(bodies[1]["container"]["id"], "container_011theirs");
            // What Anthropic's servers did comes back to it as it was told.
            let said = &bodies[1]["messages"][1]["content"];
            assert_eq!(said[0]["type"], "server_tool_use", "{said}");
            assert_eq!(said[1]["type"], "bash_code_execution_tool_result", "{said}");
            assert_eq!(said[1]["content"]["content"][0]["file_id"], NATIVE_FILE);
            let result = bodies[1]["messages"][2]["content"].to_string();
            assert!(result.contains("o-u-r-s"), "{result}");

            let container = container(client, stream, &told.text);
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
        let place = Place::open(1, "").await;
        let model = Vendor::Anthropic.model(0);
        for (client, stream) in each() {
            let mut asked = names(client, &model, stream, &[]);
            let weather = json!({"type": "tool_use", "id": "toolu_01", "name": "weather",
                "input": {"city": "Bern"}});
            place.lanes[0].answer(ran(stream, "Let me ask.", "tool_use", &[weather]));
            let told = place.post(path(client), &asked).await;
            let answer = understood(client, stream, &told).unwrap();
            assert_eq!(calls_of(&answer).len(), 1, "{}", told.text);
            goes_on(client, &mut asked, &told, &answer, "sunny");
            let done = json!({"type": "text", "text": "Done."});
            place.lanes[0].answer(says(stream, vec![done], "end_turn"));
            let told = place.post(path(client), &asked).await;
            assert_eq!(told.status, 200, "{}", told.text);
            let requests = place.lanes[0].requests().await;
            let body: Value = serde_json::from_slice(&requests[1].body).unwrap();
            let said = &body["messages"][1]["content"];
            assert_eq!(said[0]["type"], "server_tool_use", "{body}");
            assert_eq!(said[1]["content"]["content"][0]["file_id"], NATIVE_FILE);
            assert_eq!(said[3]["type"], "tool_use", "{body}");
            let answered = &body["messages"][2]["content"][0];
            assert_eq!(answered["tool_use_id"], said[3]["id"], "{body}");
        }
    });
}

#[test]
fn a_pause_that_the_client_has_no_word_for_is_seen_through() {
    run(async {
        let place = Place::open(1, "").await;
        let model = Vendor::Anthropic.model(0);
        for (client, stream) in each() {
            let asked = names(client, &model, stream, &[]);
            place.lanes[0].answer(ran(stream, "First.", "pause_turn", &[]));
            let done = json!({"type": "text", "text": "Done."});
            place.lanes[0].answer(says(stream, vec![done], "end_turn"));
            let told = place.post(path(client), &asked).await;
            assert_eq!(told.status, 200, "{}", told.text);
            let answer = understood(client, stream, &told).unwrap();
            assert_eq!(answer.stop_reason, Some(StopReason::EndTurn));
            assert!(text_of(&answer).ends_with("Done."), "{}", told.text);
            let requests = place.lanes[0].requests().await;
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
        let place = Place::open(1, "").await;
        let stored = place.store(&SkillFixture::new("report")).await;
        let model = Vendor::Anthropic.model(0);
        let done = || vec![json!({"type": "text", "text": "Done."})];
        let told = json!([{"type": "anthropic", "skill_id": "pptx", "version": "20251013"}]);
        for (client, stream) in each() {
            for mixed in [false, true] {
                let stored = if mixed { vec![stored.as_str()] } else { vec![] };
                let asked = names(client, &model, stream, &stored);
                let ours = json!({"type": "tool_use", "id": "toolu_01", "name": "skill_bash",
                    "input": {"command": "echo ours"}});
                match mixed {
                    true => {
                        place.lanes[0].answer(ran(stream, "Both.", "tool_use", &[ours]));
                        place.lanes[0].answer(says(stream, done(), "end_turn"));
                    }
                    false => {
                        place.lanes[0].answer(ran(stream, "Here.", "end_turn", &[]));
                    }
                }
                let answer = place.post(path(client), &asked).await;
                let id = container(client, stream, &answer.text)["id"].clone();
                place.lanes[0].requests().await;

                let mut again = asks(client, &model, stream, &[]);
                match client {
                    Client::Responses => {
                        let reference = json!({"type": "container_reference", "container_id": id});
                        again["tools"][0]["environment"] = reference;
                    }
                    _ => again["container"] = id,
                }
                place.lanes[0].answer(says(stream, done(), "end_turn"));
                let answer = place.post(path(client), &again).await;
                assert_eq!(answer.status, 200, "{}", answer.text);
                let requests = place.lanes[0].requests().await;
                let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
                let sent = json!({"id": "container_011theirs", "skills": told});
                assert_eq!(body["container"], sent, "{client:?} {mixed}");
                let tools = body["tools"].to_string();
                assert!(tools.contains("code_execution_20250825"), "{tools}");
                let system = body["system"].to_string();
                assert_eq!(system.contains("- report:"), mixed, "{system}");
            }
        }
        // Whoever speaks Anthropic's dialect goes on in it without us.
        let mut passed = asks(Client::Messages, &model, false, &[]);
        passed["container"] = "container_011theirs".into();
        place.lanes[0].answer(says(false, done(), "end_turn"));
        place.post(path(Client::Messages), &passed).await;
        let requests = place.lanes[0].requests().await;
        let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
        assert_eq!(body["tools"][0]["type"], "code_execution_20260521");
        assert_eq!(body["container"], "container_011theirs");
    });
}

#[test]
fn a_model_of_another_vendors_has_none_of_them() {
    run(async {
        let place = Place::open(1, "").await;
        for (client, stream) in each() {
            for vendor in [Vendor::Chat, Vendor::Gemini, Vendor::Converse] {
                let asked = names(client, &vendor.model(0), stream, &[]);
                let told = place.post(path(client), &asked).await;
                assert_eq!(told.status, 404, "{}", told.text);
                let error = &told.json()["error"];
                assert_eq!(error["code"], "skill-not-found", "{}", told.text);
                let message = error["message"].as_str().unwrap();
                assert!(message.contains("pptx"), "{message}");
            }
        }
        assert!(
            place.lanes[0].requests().await.is_empty(),
            "nobody is asked"
        );
    });
}

#[test]
fn an_alias_stands_in_for_one_of_them_where_the_model_has_none() {
    run(async {
        let place = Place::open(1, "").await;
        let stored = place.store(&SkillFixture::new("slides")).await;
        let aliases = format!("[skills]\naliases = {{ pptx = '{stored}' }}\n");
        let other = place.sibling_with(&aliases);
        let ask = async |vendor: Vendor| {
            let asked = names(Client::Chat, &vendor.model(0), false, &[]);
            let url = format!("{}{}", other.url(), path(Client::Chat));
            let request = place.http.post(url).bearer_auth(server::MASTER);
            let told = request.body(asked.to_string()).send().await.unwrap();
            assert_eq!(told.status(), 200);
            let sent = place.lanes[0].requests().await;
            place.lanes[0].forget();
            sent[0].text().to_owned()
        };
        place.lanes[0].answer(Vendor::Chat.says(false, "Done."));
        let sent = ask(Vendor::Chat).await;
        assert!(sent.contains("- slides: "), "{sent}");
        place.lanes[0].answer(Vendor::Anthropic.says(false, "Done."));
        let sent = ask(Vendor::Anthropic).await;
        assert!(
            !sent.contains("- slides: "),
            "Anthropic has its own: {sent}"
        );
        assert!(sent.contains("\"skill_id\":\"pptx\""), "{sent}");
    });
}
