//! What goes wrong with skills elsewhere, and must not here: 24 defects of LiteLLM
//! 1.108.4, each a test by which the same case works.
//!
//! | | there | the test here |
//! |---|---|---|
//! | 1 | the loop never runs on chat | `chat_runs_the_loop_to_its_end` |
//! | 2 | chat gets tools of Anthropic's shape | `chat_tools_are_openai_shaped` |
//! | 3 | later turns lose the system prompt and settings | `every_turn_keeps_system_temperature_choice_and_thinking` |
//! | 4 | native skills are dropped beside stored ones | `native_and_stored_skills_travel_together` |
//! | 5 | an unknown skill is a warning in a log | `an_unknown_skill_is_a_404_that_names_it` |
//! | 6 | a system prompt of blocks is a crash | `system_as_blocks_keeps_cache_control` |
//! | 7 | a client's tool is answered by the server | `a_client_tool_in_the_same_turn_goes_back` |
//! | 8 | a sandbox blocks all requests | `a_busy_sandbox_holds_up_nobody` |
//! | 9 | the time limit of code does nothing | `code_that_takes_too_long_is_ended` |
//! | 10 | no state between calls | `a_call_finds_what_an_earlier_one_left` |
//! | 11 | few file types, edits and equal names lost, no cap | `files_of_any_kind_and_folder_come_back_but_not_of_any_size` |
//! | 12 | files of skills overwrite each other | `files_of_skills_do_not_collide` |
//! | 13 | a flat zip loses its folders | `a_flat_zip_keeps_its_folders` |
//! | 14 | any file that ends in SKILL.md is taken | `the_skill_file_is_the_one_at_the_root` |
//! | 15 | nothing is checked on upload | `an_upload_is_checked_and_kept_whole` |
//! | 16 | every SKILL.md whole in every request | `a_skill_is_disclosed_step_by_step` |
//! | 17 | versions are ignored | `a_version_is_honoured_and_echoed` |
//! | 18 | listing reads every zip; pages are wrong | `listing_reads_no_files_and_pages_are_right` |
//! | 19 | limits and failures look like answers | `a_limit_is_marked_and_a_failed_turn_is_the_error` |
//! | 20 | only the last turn is accounted for | `usage_is_summed_and_recorded_under_the_tenant` |
//! | 21 | a request may enable code by itself | `smuggled_flags_do_nothing` |
//! | 22 | a deleted skill lives on for a minute | `a_deletion_is_seen_by_other_processes` |
//! | 23 | the sync client fails in a running loop | `litellms_clients_work_inside_a_running_loop` |
//! | 24 | an absent part is looked for on every request | `absent_parts_cost_nothing_and_say_nothing` |

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod installed;
mod server;
mod vendors;

use prowess_testkit::SkillFixture;
use prowess_testkit::raw_zip::{RawEntry, RawZip};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};
use server::{MASTER, TestServer, prowess};
use vendors::client::{new_request, parse_answer, path, text_of};
use vendors::upstream_request::UpstreamRequest;
use vendors::vendor::Vendor;
use vendors::{GatewayResponse, TestGateway, run};

const CLIENTS: [ClientDialect; 3] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
];

/// A server with a stored skill.
async fn start_gateway() -> (TestGateway, String) {
    start_gateway_with("").await
}

async fn start_gateway_with(more: &str) -> (TestGateway, String) {
    let gateway = TestGateway::open(1, more).await;
    let skill = SkillFixture::new("report")
        .body("Report well.\n")
        .file("notes/more.md", "More about reports.");
    let id = gateway.store(&skill).await;
    (gateway, id)
}

/// A model of OpenAI's that runs commands, one in each turn, and then ends.
async fn commands(
    gateway: &TestGateway,
    skills: &[&str],
    commands: &[&str],
) -> (GatewayResponse, Vec<UpstreamRequest>) {
    let request = new_request(
        ClientDialect::Messages,
        &Vendor::Chat.model(0),
        false,
        skills,
    );
    gateway
        .talk(
            ClientDialect::Messages,
            Vendor::Chat,
            &request,
            turns(commands),
        )
        .await
}

fn turns(commands: &[&str]) -> Vec<MockResponse> {
    let calls = commands.iter().map(|command| bash(command));
    let turns = calls.map(|call| Vendor::Chat.calls(false, "I run it.", &[call]));
    turns
        .chain([Vendor::Chat.text_turn(false, "Done.")])
        .collect()
}

fn bash(command: &str) -> (&'static str, Value) {
    ("bash_code_execution", json!({"command": command}))
}

/// What the last command gave.
fn last_result(sent: &[UpstreamRequest]) -> &str {
    let last = sent.last().unwrap();
    last.result(last.results.len() - 1)
}

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
fn an_unknown_skill_is_a_404_that_names_it() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        for client in CLIENTS {
            let gone = "litellm_skill_0f0f";
            let request = new_request(client, &Vendor::Chat.model(0), false, &[&skill, gone]);
            let (response, sent) = gateway.talk(client, Vendor::Chat, &request, []).await;
            assert_eq!(response.status, 404, "{}", response.text);
            assert!(response.text.contains(gone), "{}", response.text);
            assert!(sent.is_empty(), "nobody is asked");
        }
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
            let calls = vendors::client::calls_of(&answer);
            assert_eq!((calls.len(), calls[0].1.as_str()), (1, "weather"));
            assert!(!response.text.contains("not handled"));
        }
    });
}

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

fn skill_md(name: &str) -> String {
    SkillFixture::new(name).skill_md()
}

fn zip(files: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    let entries = files.iter();
    let entries = entries.map(|(path, text)| RawEntry::deflated(path, text.as_bytes()));
    vec![(
        "skill.zip".to_owned(),
        RawZip::from_entries(entries).bytes(),
    )]
}

#[test]
fn a_flat_zip_keeps_its_folders() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let files = zip(&[
            ("SKILL.md", &skill_md("flat")),
            ("scripts/a.py", "print('f-l-a-t')"),
        ]);
        let made = gateway.upload("/v1/skills", files).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let id = made.json()["id"].as_str().unwrap().to_owned();
        let (_, sent) = commands(&gateway, &[&id], &["python3 /skills/flat/scripts/a.py"]).await;
        assert!(
            last_result(&sent).contains("f-l-a-t"),
            "{}",
            last_result(&sent)
        );
    });
}

#[test]
fn the_skill_file_is_the_one_at_the_root() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        for path in ["MYSKILL.md", "docs/deep/SKILL.md"] {
            let made = gateway
                .upload(
                    "/v1/skills",
                    zip(&[(path, &skill_md("odd")), ("a.txt", "a")]),
                )
                .await;
            assert_eq!(made.status, 400, "{path}: {}", made.text);
            assert!(made.text.contains("SKILL.md"), "{}", made.text);
        }
        let both = zip(&[
            ("examples/SKILL.md", &skill_md("wrong")),
            ("SKILL.md", &skill_md("right")),
        ]);
        let made = gateway.upload("/v1/skills", both).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let id = made.json()["id"].as_str().unwrap().to_owned();
        let (_, sent) = commands(&gateway, &[&id], &[]).await;
        assert!(sent[0].system.contains("- right:"), "{}", sent[0].system);
    });
}

#[test]
fn an_upload_is_checked_and_kept_whole() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let bomb = "0".repeat(64 << 20);
        let bad = [
            vec![("skill.zip".to_owned(), b"this is no zip".to_vec())],
            zip(&[("SKILL.md", "no frontmatter")]),
            zip(&[("SKILL.md", &skill_md("bomb")), ("zeros", &bomb)]),
        ];
        for files in bad {
            let made = gateway.upload("/v1/skills", files).await;
            assert!(
                (400..500).contains(&made.status),
                "{} {}",
                made.status,
                made.text
            );
        }
        let skill = SkillFixture::new("whole")
            .file("a.txt", "a")
            .file("b/c.txt", "c");
        let id = gateway.store(&skill).await;
        let (_, sent) = commands(&gateway, &[&id], &["find /skills/whole -type f"]).await;
        for path in ["SKILL.md", "a.txt", "b/c.txt"] {
            assert!(last_result(&sent).contains(path), "{}", last_result(&sent));
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

#[test]
fn a_version_is_honoured_and_echoed() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let old = commands(&gateway, &[&skill], &["echo hi"]).await.0.json();
        let old = old["container"]["skills"][0]["version"].clone();
        let newer = SkillFixture::new("report").body("Report better.\n");
        let files = vec![("report/SKILL.md".to_owned(), newer.skill_md().into_bytes())];
        let path = format!("/v1/skills/{skill}/versions");
        assert_eq!(gateway.upload(&path, files).await.status, 200);
        for (version, body) in [
            (old.clone(), "Report well."),
            (json!("latest"), "Report better."),
        ] {
            let mut request = new_request(
                ClientDialect::Messages,
                &Vendor::Chat.model(0),
                false,
                &[&skill],
            );
            request["container"]["skills"][0]["version"] = version;
            let turns = turns(&["cat /skills/report/SKILL.md"]);
            let (response, sent) = gateway
                .talk(ClientDialect::Messages, Vendor::Chat, &request, turns)
                .await;
            assert!(last_result(&sent).contains(body), "{}", last_result(&sent));
            let echoed = &response.json()["container"]["skills"][0]["version"];
            assert_eq!(*echoed == old, body == "Report well.", "{echoed}");
        }
    });
}

#[test]
fn listing_reads_no_files_and_pages_are_right() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let mut made = Vec::new();
        for n in 0..5 {
            made.push(
                gateway
                    .store(&SkillFixture::new(&format!("skill-{n}")))
                    .await,
            );
        }
        // What is not there cannot be read.
        let blobs = gateway.server.folder().join("data/blobs");
        assert!(
            blobs.exists(),
            "{:?}",
            std::fs::read_dir(gateway.server.folder().join("data"))
        );
        std::fs::remove_dir_all(blobs).unwrap();
        let mut found = Vec::new();
        let mut query = String::new();
        loop {
            let page = gateway.get(&format!("/v1/skills?limit=2{query}")).await;
            assert_eq!(page.status, 200, "{}", page.text);
            let page = page.json();
            let ids = page["data"].as_array().unwrap().iter();
            found.extend(ids.map(|skill| skill["id"].as_str().unwrap().to_owned()));
            assert_eq!(page["has_more"], found.len() < 5, "{page}");
            if page["has_more"] == false {
                break;
            }
            query = format!("&after={}", found.last().unwrap());
        }
        found.sort();
        made.sort();
        assert_eq!(found, made);
    });
}

#[test]
fn a_limit_is_marked_and_a_failed_turn_is_the_error() {
    run(async {
        let (gateway, skill) = start_gateway_with("[skills]\nturns = 2\n").await;
        let (response, sent) = commands(&gateway, &[&skill], &["echo 1", "echo 2", "echo 3"]).await;
        assert_eq!(
            (&response.json()["stop_reason"], sent.len()),
            (&json!("pause_turn"), 2)
        );
        gateway.upstreams[0].clear_responses();
        let request = new_request(
            ClientDialect::Chat,
            &Vendor::Chat.model(0),
            false,
            &[&skill],
        );
        let refused = r#"{"error":{"message":"no more","type":"invalid_request_error"}}"#;
        let turns = [
            Vendor::Chat.calls(false, "I run it.", &[bash("echo hi")]),
            MockResponse::json(402, refused),
        ];
        let (response, _) = gateway
            .talk(ClientDialect::Chat, Vendor::Chat, &request, turns)
            .await;
        assert_eq!(response.status, 402, "{}", response.text);
        assert!(response.text.contains("no more") && !response.text.contains("I run it."));
    });
}

#[test]
fn usage_is_summed_and_recorded_under_the_tenant() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let (response, _) = commands(&gateway, &[&skill], &["echo hi", "echo ho"]).await;
        let usage = &response.json()["usage"];
        assert_eq!(
            (&usage["input_tokens"], &usage["output_tokens"]),
            (&json!(90), &json!(30))
        );
        let run = response.run.unwrap();
        let record = gateway.record(&run).await;
        assert_eq!(
            (&record["usage"]["input_tokens"], &record["turns"]),
            (&json!(90), &json!(3))
        );

        let mut command = prowess(gateway.server.folder());
        let made = command
            .args(["keys", "create", "ci", "--tenant", "acme", "--json"])
            .output();
        let made: Value = serde_json::from_slice(&made.unwrap().stdout).unwrap();
        let key = made["key"]
            .as_str()
            .unwrap_or_else(|| made["secret"].as_str().unwrap());
        let url = format!("{}/v1/runs/{run}", gateway.server.url());
        let others = gateway.http.get(url).bearer_auth(key).send().await.unwrap();
        assert_eq!(others.status(), 404, "a run is its tenant's alone");
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

#[test]
fn a_deletion_is_seen_by_other_processes() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let other = gateway.sibling();
        let body = new_request(
            ClientDialect::Messages,
            &Vendor::Chat.model(0),
            false,
            &[&skill],
        );
        gateway.upstreams[0].respond_always(Vendor::Chat.text_turn(false, "Done."));
        let ask = async || {
            let url = format!("{}{}", other.url(), path(ClientDialect::Messages));
            let request = gateway.http.post(url).bearer_auth(MASTER);
            let request = request.header("anthropic-version", "2023-06-01");
            request
                .body(body.to_string())
                .send()
                .await
                .unwrap()
                .status()
        };
        assert_eq!(ask().await, 200, "it has the skill in its memory");
        assert_eq!(gateway.delete(&format!("/v1/skills/{skill}")).await, 200);
        let (here, _) = gateway
            .talk(ClientDialect::Messages, Vendor::Chat, &body, [])
            .await;
        assert_eq!(here.status, 404, "at once where it was deleted");
        // Elsewhere within the freshness of a second; this ends when it is seen.
        while ask().await != 404 {}
    });
}

#[test]
fn litellms_clients_work_inside_a_running_loop() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let call = [bash("echo hi")];
        for _ in 0..3 {
            gateway.upstreams[0].respond(Vendor::Anthropic.calls(false, "I run it.", &call));
            gateway.upstreams[0].respond(Vendor::Anthropic.text_turn(false, "Done."));
        }
        let mut client = installed::python("litellm", "skills_litellm.py");
        client
            .env("PROWESS_URL", gateway.server.url())
            .env("PROWESS_API_KEY", MASTER)
            .env("PROWESS_MODEL", Vendor::Anthropic.model(0))
            .env("PROWESS_SKILL", &skill);
        tokio::task::spawn_blocking(move || installed::succeeded(&mut client))
            .await
            .unwrap();
        assert_eq!(gateway.upstreams[0].requests().await.len(), 6);
    });
}

#[test]
fn absent_parts_cost_nothing_and_log_nothing() {
    run(async {
        // One program: no interpreter, exporter or package that could be missing.
        let mut gateway = TestGateway::open(1, "").await;
        let mut bare = TestServer::start(&[("PATH", "")]);
        for _ in 0..20 {
            let url = format!("{}/v1/skills", bare.url());
            let answer = gateway
                .http
                .get(url)
                .bearer_auth(MASTER)
                .send()
                .await
                .unwrap();
            assert_eq!(answer.status(), 200);
        }
        let log = bare.log();
        assert_eq!(log.matches("WARN").count(), 0, "{log}");
        let skill = gateway.store(&SkillFixture::new("plain")).await;
        for _ in 0..5 {
            let (response, _) = commands(&gateway, &[&skill], &[]).await;
            let answer = parse_answer(ClientDialect::Messages, false, &response).unwrap();
            assert_eq!(text_of(&answer), "Done.");
        }
        let log = gateway.server.log();
        assert!(
            !log.contains("ERROR") && !log.contains("not installed"),
            "{log}"
        );
    });
}
