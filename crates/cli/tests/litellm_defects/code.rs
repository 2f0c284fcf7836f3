//! The code of skills: time, state and files of commands.

use prowess_testkit::SkillFixture;
use prowess_wire::ClientDialect;
use serde_json::json;

use super::server::is_left_out;
use super::stage::{bash, commands, last_result, start_gateway, start_gateway_with, turns};
use super::vendors::client::new_request;
use super::vendors::vendor::Vendor;
use super::vendors::{TestGateway, run};

#[test]
fn a_busy_sandbox_holds_up_nobody() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let model = Vendor::Chat.model(0);
        let request = new_request(ClientDialect::Messages, &model, true, &[&skill]);
        gateway.upstreams[0].respond(Vendor::Chat.calls(true, "I wait.", &[bash("sleep 86399")]));
        let mut waiting = gateway.begin("/v1/messages", &request).await;
        let mut received = String::new();
        while !received.contains("sleep 86399") {
            received += &String::from_utf8_lossy(&waiting.chunk().await.unwrap().unwrap());
        }
        gateway.upstreams[0].requests().await;
        assert_eq!(gateway.get("/v1/skills").await.status, 200);
        let (response, sent) = commands(&gateway, &[&skill], &["echo meanwhile"]).await;
        assert!(response.text.contains("Done."), "{}", response.text);
        assert!(last_result(&sent).contains("meanwhile"));
    });
}

#[test]
fn code_that_takes_too_long_is_ended() {
    run(async {
        let (gateway, skill) = start_gateway_with("[sandbox]\ntimeout_seconds = 1\n").await;
        let (response, sent) = commands(&gateway, &[&skill], &["sleep 86398"]).await;
        assert!(response.text.contains("Done."), "{}", response.text);
        assert!(
            response.text.contains("execution_time_exceeded"),
            "{}",
            response.text
        );
        assert!(
            last_result(&sent).contains("time"),
            "{}",
            last_result(&sent)
        );
    });
}

#[test]
fn a_call_finds_what_an_earlier_one_left() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let (_, sent) = commands(&gateway, &[&skill], &["echo kept > n.txt", "cat n.txt"]).await;
        assert!(
            last_result(&sent).contains("kept"),
            "{}",
            last_result(&sent)
        );
    });
}

#[test]
fn files_of_any_kind_and_folder_come_back_but_not_of_any_size() {
    if is_left_out("files_of_any_kind_and_folder_come_back_but_not_of_any_size") {
        return;
    }
    run(async {
        let (gateway, skill) = start_gateway().await;
        let make = "mkdir a b; echo 1 > a/out.docx; echo 2 > b/out.docx; echo 3 > page.html; \
                    echo 4 > x.svg";
        let edit = "echo changed > page.html";
        let large = "truncate -s 400M large.bin; echo made";
        let (response, sent) = commands(&gateway, &[&skill], &[make, edit, large]).await;
        let answer = response.json();
        let results = answer["content"].as_array().unwrap().iter();
        let results: Vec<_> = results
            .filter(|block| block["type"] == "bash_code_execution_tool_result")
            .map(|block| block["content"]["content"].as_array().unwrap())
            .collect();
        assert_eq!((results[0].len(), results[1].len()), (4, 1), "{answer}");
        let mut contents = Vec::new();
        for file in results[0].iter().chain(results[1]) {
            let id = file["file_id"].as_str().unwrap();
            contents.push(gateway.get(&format!("/v1/files/{id}/content")).await.text);
        }
        contents.sort();
        assert_eq!(contents, ["1\n", "2\n", "3\n", "4\n", "changed\n"]);
        assert!(results[2].is_empty(), "{answer}");
        assert!(
            last_result(&sent).contains("large.bin"),
            "{}",
            last_result(&sent)
        );
    });
}

#[test]
fn files_of_skills_do_not_collide() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let mut skills = Vec::new();
        for name in ["left", "right"] {
            let script = format!("print('this is {name}')\n");
            let skill = SkillFixture::new(name).script("scripts/run.py", script);
            skills.push(gateway.store(&skill).await);
        }
        let command = "python3 /skills/left/scripts/run.py; python3 /skills/right/scripts/run.py";
        let (_, sent) = commands(&gateway, &[&skills[0], &skills[1]], &[command]).await;
        let result = last_result(&sent);
        assert!(
            result.contains("this is left") && result.contains("this is right"),
            "{result}"
        );
    });
}

#[test]
fn smuggled_flags_do_nothing() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let flags = json!({"_litellm_code_execution_enabled": true,
            "_skill_files": {"x": {"evil.py": "print('evil')"}}});
        for key in ["metadata", "litellm_metadata"] {
            let call = ("litellm_code_execution", json!({"code": "print('evil')"}));
            let turn = || [Vendor::Chat.calls(false, "I run it.", std::slice::from_ref(&call))];
            let mut request = new_request(ClientDialect::Chat, &Vendor::Chat.model(0), false, &[]);
            request.as_object_mut().unwrap().remove("container");
            request[key] = flags.clone();
            let (response, sent) = gateway
                .talk(ClientDialect::Chat, Vendor::Chat, &request, turn())
                .await;
            assert_eq!(
                (response.run.as_ref(), sent.len()),
                (None, 1),
                "{}",
                response.text
            );
            assert_eq!(sent[0].tools, ["weather"], "no tool came of it");

            let mut request = new_request(
                ClientDialect::Chat,
                &Vendor::Chat.model(0),
                false,
                &[&skill],
            );
            request[key] = flags.clone();
            let turns = turns(&["find /skills /mnt/data -name 'evil*'; echo looked"]);
            let (response, sent) = gateway
                .talk(ClientDialect::Chat, Vendor::Chat, &request, turns)
                .await;
            assert_eq!(response.status, 200, "{}", response.text);
            assert!(
                last_result(&sent).contains("looked"),
                "{}",
                last_result(&sent)
            );
            assert!(!last_result(&sent).contains("evil"));
            assert!(!sent[0].tools.iter().any(|tool| tool.starts_with("litellm")));
        }
    });
}
