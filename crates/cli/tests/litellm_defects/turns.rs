//! What models are sent in each turn, and what of it goes back.

use prowess_wire::ClientDialect;
use serde_json::json;

use super::stage::{CLIENTS, bash, last_result, start_gateway, turns};
use super::vendors::client::{new_request, parse_answer};
use super::vendors::run;
use super::vendors::vendor::Vendor;

#[test]
fn chat_runs_the_loop_to_its_end() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let request = new_request(
            ClientDialect::Chat,
            &Vendor::Chat.model(0),
            false,
            &[&skill],
        );
        let turns = turns(&["echo h-i"]);
        let (response, sent) = gateway
            .talk(ClientDialect::Chat, Vendor::Chat, &request, turns)
            .await;
        let choice = &response.json()["choices"][0];
        assert_eq!(choice["finish_reason"], "stop", "{}", response.text);
        assert!(choice["message"]["tool_calls"].is_null(), "{choice}");
        assert!(
            choice["message"]["content"]
                .as_str()
                .unwrap()
                .ends_with("Done.")
        );
        assert_eq!(sent.len(), 2);
        assert!(last_result(&sent).contains("h-i"));
    });
}

#[test]
fn chat_tools_are_openai_shaped() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let request = new_request(
            ClientDialect::Chat,
            &Vendor::Chat.model(0),
            false,
            &[&skill],
        );
        let (_, sent) = gateway
            .talk(ClientDialect::Chat, Vendor::Chat, &request, turns(&[]))
            .await;
        let tools = sent[0].body["tools"].as_array().unwrap();
        assert!(tools.iter().all(|tool| tool["type"] == "function"
            && tool["function"]["parameters"]["type"] == "object"
            && tool.get("input_schema").is_none()));
        assert_eq!(sent[0].tools.len(), 4, "{tools:?}");
    });
}

#[test]
fn every_turn_keeps_system_temperature_choice_and_thinking() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let vendor = Vendor::Anthropic;
        let settings = [
            json!({"temperature": 0.3, "stop_sequences": ["END"], "tool_choice": {"type": "auto"}}),
            json!({"max_tokens": 5000, "thinking": {"type": "enabled", "budget_tokens": 2000},
                "metadata": {"user_id": "u1"}}),
        ];
        for settings in settings {
            let mut request =
                new_request(ClientDialect::Messages, &vendor.model(0), false, &[&skill]);
            let settings = settings.as_object().unwrap();
            request.as_object_mut().unwrap().extend(settings.clone());
            let turns = [
                vendor.calls(false, "I run it.", &[bash("echo hi")]),
                vendor.text_turn(false, "Done."),
            ];
            let (response, sent) = gateway
                .talk(ClientDialect::Messages, vendor, &request, turns)
                .await;
            assert_eq!((response.status, sent.len()), (200, 2), "{}", response.text);
            for turn in &sent {
                assert!(turn.system.starts_with("Be kind."), "{}", turn.body);
                assert!(turn.system.contains("- report:"), "{}", turn.body);
                for (key, value) in settings {
                    assert_eq!(&turn.body[key], value, "{key}");
                }
            }
        }
    });
}

#[test]
fn native_and_stored_skills_travel_together() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let vendor = Vendor::Anthropic;
        let mut request = new_request(ClientDialect::Messages, &vendor.model(0), false, &[&skill]);
        let native = json!({"type": "anthropic", "skill_id": "pptx", "version": "latest"});
        let skills = request["container"]["skills"].as_array_mut().unwrap();
        skills.push(native.clone());
        request["container"]["id"] = "container_theirs".into();
        let load = ("load_skill", json!({"name": "report"}));
        let turns = [
            vendor.calls(false, "Let me see.", &[load]),
            vendor.text_turn(false, "Done."),
        ];
        let (response, sent) = gateway
            .talk(ClientDialect::Messages, vendor, &request, turns)
            .await;
        assert_eq!((response.status, sent.len()), (200, 2), "{}", response.text);
        for turn in &sent {
            let theirs = json!({"id": "container_theirs", "skills": [native]});
            assert_eq!(turn.body["container"], theirs);
            assert!(turn.system.contains("- report:"));
        }
        assert!(last_result(&sent).contains("Report well."));
    });
}

#[test]
fn system_as_blocks_keeps_cache_control() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let vendor = Vendor::Anthropic;
        let mark = json!({"type": "ephemeral"});
        let block = json!({"type": "text", "text": "Be brief.", "cache_control": mark});
        let mut request = new_request(ClientDialect::Messages, &vendor.model(0), false, &[&skill]);
        request["system"] = json!([block]);
        let end = || [vendor.text_turn(false, "Done.")];
        let (_, sent) = gateway
            .talk(ClientDialect::Messages, vendor, &request, end())
            .await;
        assert_eq!(sent[0].body["system"][0], block);
        let ours = &sent[0].body["system"][1]["text"];
        assert!(ours.as_str().unwrap().contains("- report:"));

        let mut request = new_request(ClientDialect::Chat, &vendor.model(0), false, &[&skill]);
        request["messages"][0]["content"] = json!([{"type": "text", "text": "Be brief."}]);
        let (response, sent) = gateway
            .talk(ClientDialect::Chat, vendor, &request, end())
            .await;
        assert_eq!(response.status, 200, "{}", response.text);
        assert!(sent[0].system.starts_with("Be brief.") && sent[0].system.contains("- report:"));
    });
}

#[test]
fn a_client_tool_in_the_same_turn_goes_back() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let calls = [bash("echo hi"), ("weather", json!({"city": "Bern"}))];
        for client in CLIENTS {
            let request = new_request(client, &Vendor::Chat.model(0), false, &[&skill]);
            let turn = [Vendor::Chat.calls(false, "Both.", &calls)];
            let (response, sent) = gateway.talk(client, Vendor::Chat, &request, turn).await;
            assert_eq!(sent.len(), 1, "{}", response.text);
            let answer = parse_answer(client, false, &response).unwrap();
            let calls = super::vendors::client::calls_of(&answer);
            assert_eq!((calls.len(), calls[0].1.as_str()), (1, "weather"));
            assert!(!response.text.contains("not handled"));
        }
    });
}

#[test]
fn a_skill_is_disclosed_step_by_step() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let request = new_request(
            ClientDialect::Messages,
            &Vendor::Chat.model(0),
            false,
            &[&skill],
        );
        let load = ("load_skill", json!({"name": "report"}));
        let more = (
            "load_skill",
            json!({"name": "report", "path": "notes/more.md"}),
        );
        let turns = [
            Vendor::Chat.calls(false, "Let me see.", &[load]),
            Vendor::Chat.calls(false, "Let me see more.", &[more]),
            Vendor::Chat.text_turn(false, "Done."),
        ];
        let (_, sent) = gateway
            .talk(ClientDialect::Messages, Vendor::Chat, &request, turns)
            .await;
        let has_text = |turn: usize, text: &str| sent[turn].body.to_string().contains(text);
        assert!(has_text(0, "Does one thing well.") && !has_text(0, "Report well."));
        assert!(has_text(1, "Report well.") && !has_text(1, "More about reports."));
        assert!(has_text(2, "More about reports."));
    });
}
