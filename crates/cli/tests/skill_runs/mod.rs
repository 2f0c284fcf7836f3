//! Requests that name skills, against the real server with its real sandbox: code runs,
//! files come back, sessions go on, and who leaves ends what was started.

use std::path::Path;

use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use reqwest::Client as Http;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::server::{MASTER, TestServer, prowess, sleep_seconds};

pub(crate) const SCRIPT: &str = r#"
[[step]]
when.tool_result = "found in the wiki"
text = "The wiki says so."

[[step]]
when.user = "make"
text = "Let me see."
calls = [{ name = "load_skill", input = { name = "report" } }]

[[step]]
when.tool_result = "Run `python3"
text = "Now I run it."
calls = [{ name = "bash_code_execution", input = { command = "python3 /skills/report/scripts/make.py" } }]

[[step]]
when.tool_result = "made it"
text = "There it is."

[[step]]
when.user = "both"
calls = [
    { name = "bash_code_execution", input = { command = "echo one > a.txt; echo fine" } },
    { name = "bash_code_execution", input = { command = "echo oops >&2; exit 3" } },
]

[[step]]
when.tool_result = "oops"
text = "One of them failed."

[[step]]
when.user = "note"
calls = [{ name = "bash_code_execution", input = { command = "echo remembered > note.txt; echo noted" } }]

[[step]]
when.tool_result = "noted"
text = "Noted."

[[step]]
when.user = "recall"
calls = [{ name = "bash_code_execution", input = { command = "cat note.txt" } }]

[[step]]
when.tool_result = "remembered"
text = "I recall."

[[step]]
when.user = "read"
calls = [{ name = "bash_code_execution", input = { command = "cat data.csv" } }]

[[step]]
when.tool_result = "a,b"
text = "It says a,b."

[[step]]
when.user = "consult"
text = "Let me load it."
calls = [{ name = "load_skill", input = { name = "report" } }, { name = "mcp__wiki__find", input = { query = "x" } }]

[[step]]
when.user = "wait"
calls = [{ name = "bash_code_execution", input = { command = "sleep 98765" } }]

[[step]]
text = "No step fits: {{user}} {{tool_result}}"
"#;

/// A server with a scripted model and a stored skill.
struct RunFixture {
    server: TestServer,
    http: Http,
    skill: String,
    _config: TempDir,
}

impl RunFixture {
    /// With this configuration beside the model's.
    async fn open(more: &str) -> RunFixture {
        let config = tempfile::tempdir().unwrap();
        let script = SCRIPT.replace("98765", &sleep_seconds(98_765));
        std::fs::write(config.path().join("script.toml"), script).unwrap();
        let path = config.path().join("prowess.toml");
        let text =
            format!("{more}\n[providers.stage]\nkind = \"scripted\"\nscript = \"script.toml\"\n");
        std::fs::write(&path, text).unwrap();
        let server = TestServer::start(&[("PROWESS_CONFIG", path.to_str().unwrap())]);
        let http = Http::new();
        let skill = upload_skill(&http, server.url()).await;
        RunFixture {
            server,
            http,
            skill,
            _config: config,
        }
    }

    async fn post(&self, path: &str, body: &Value) -> reqwest::Response {
        let url = format!("{}{path}", self.server.url());
        let request = self.http.post(url).bearer_auth(MASTER);
        let request = match path {
            "/v1/messages" => request.header("anthropic-version", "2023-06-01"),
            _ => request,
        };
        request.body(body.to_string()).send().await.unwrap()
    }

    async fn ask(&self, path: &str, body: &Value) -> String {
        let answer = self.post(path, body).await;
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{status} {text}");
        text
    }

    async fn messages(&self, body: Value) -> Value {
        serde_json::from_str(&self.ask("/v1/messages", &body).await).unwrap()
    }

    async fn content(&self, file: &str) -> String {
        let url = format!("{}/v1/files/{file}/content", self.server.url());
        let answer = self.http.get(url).bearer_auth(MASTER).send().await.unwrap();
        answer.text().await.unwrap()
    }

    async fn upload_file(&self, name: &str, text: &str) -> String {
        let part = Part::bytes(text.as_bytes().to_vec()).file_name(name.to_owned());
        let form = Form::new().text("purpose", "user_data").part("file", part);
        let url = format!("{}/v1/files", self.server.url());
        let request = self.http.post(url).bearer_auth(MASTER).multipart(form);
        let made: Value = json_of(request.send().await.unwrap()).await;
        made["id"].as_str().unwrap().to_owned()
    }
}

pub(crate) async fn json_of(answer: reqwest::Response) -> Value {
    let text = answer.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
}

pub(crate) async fn upload_skill(http: &Http, url: &str) -> String {
    let make = "open('/mnt/data/report.txt', 'w').write('all is well')\nprint('made it')\n";
    let files = SkillFixture::new("report")
        .body("Run `python3 /skills/report/scripts/make.py`.\n")
        .script("scripts/make.py", make)
        .files();
    let form = files.into_iter().fold(Form::new(), |form, file| {
        let part = Part::bytes(file.1.to_vec()).file_name(format!("report/{}", file.0));
        form.part("files[]", part)
    });
    let request = http.post(format!("{url}/v1/skills")).bearer_auth(MASTER);
    let made = json_of(request.multipart(form).send().await.unwrap()).await;
    made["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{made}"))
        .to_owned()
}

fn on_stage<T>(work: impl AsyncFnOnce(RunFixture) -> T) -> T {
    run(async { work(RunFixture::open("").await).await })
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
}

pub(crate) fn messages(skill: &str, prompt: &str, stream: bool) -> Value {
    json!({
        "model": "stage/m", "max_tokens": 100, "stream": stream,
        "container": {"skills": [{"type": "custom", "skill_id": skill}]},
        "tools": [{"type": "code_execution_20260521", "name": "code_execution"}],
        "messages": [{"role": "user", "content": prompt}],
    })
}

pub(crate) fn chat(skill: &str, prompt: &str, stream: bool) -> Value {
    json!({
        "model": "stage/m", "stream": stream,
        "container": {"skills": [{"type": "custom", "skill_id": skill}]},
        "messages": [{"role": "user", "content": prompt}],
    })
}

pub(crate) fn responses(skill: &str, prompt: &str, stream: bool) -> Value {
    let skills = json!([{"type": "skill_reference", "skill_id": skill}]);
    let environment = json!({"type": "container_auto", "skills": skills});
    json!({
        "model": "stage/m", "stream": stream, "input": prompt,
        "tools": [{"type": "shell", "environment": environment}],
    })
}

/// The id of a file that an answer names.
fn file_of(answer: &str) -> &str {
    let mut words = answer.split('"');
    let id = words.find(|word| word.starts_with("file_") && word.len() == 29);
    id.unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_skill_is_loaded_its_script_run_and_its_file_fetched_in_every_dialect() {
    on_stage(async |stage| {
        type RequestBuilderFn = fn(&str, &str, bool) -> Value;
        let dialects: [(&str, RequestBuilderFn); 3] = [
            ("/v1/messages", messages),
            ("/v1/chat/completions", chat),
            ("/v1/responses", responses),
        ];
        for (path, build_request) in dialects {
            for stream in [false, true] {
                let answer = stage
                    .ask(path, &build_request(&stage.skill, "make it", stream))
                    .await;
                for expected in ["Let me see.", "Now I run it.", "There it is.", "report.txt"] {
                    assert!(
                        answer.contains(expected),
                        "{path} {stream}: {expected}: {answer}"
                    );
                }
                let content = stage.content(file_of(&answer)).await;
                assert_eq!(content, "all is well", "{path} {stream}");
                assert_eq!(
                    answer.contains("container_file_citation"),
                    path == "/v1/responses"
                );
            }
        }
    });
}

/// A second version of the skill, whose script writes something else.
async fn upload_second_version(stage: &RunFixture) {
    let make = "open('/mnt/data/report.txt', 'w').write('all is better')\nprint('made it')\n";
    let files = SkillFixture::new("report")
        .body("Run `python3 /skills/report/scripts/make.py`.\n")
        .script("scripts/make.py", make)
        .files();
    let form = files.into_iter().fold(Form::new(), |form, file| {
        let part = Part::bytes(file.1.to_vec()).file_name(format!("report/{}", file.0));
        form.part("files[]", part)
    });
    let url = format!("{}/v1/skills/{}/versions", stage.server.url(), stage.skill);
    let request = stage.http.post(url).bearer_auth(MASTER).multipart(form);
    let made = json_of(request.send().await.unwrap()).await;
    assert_eq!(made["version"], "2", "{made}");
}

/// Sends JSON about the skill.
async fn change_skill(stage: &RunFixture, path: &str, body: Value) -> Value {
    let url = format!("{}/v1/skills/{}/{path}", stage.server.url(), stage.skill);
    let request = stage.http.post(url).bearer_auth(MASTER);
    let request = request.header("content-type", "application/json");
    json_of(request.body(body.to_string()).send().await.unwrap()).await
}

/// The same request with a version of its skill.
fn with_version(mut request: Value, version: &str) -> Value {
    let places = ["/container/skills/0", "/tools/0/environment/skills/0"];
    for place in places {
        if let Some(skill) = request.pointer_mut(place) {
            skill["version"] = version.into();
        }
    }
    request
}

#[test]
fn a_label_selects_the_version_that_runs_in_every_dialect() {
    on_stage(async |stage| {
        upload_second_version(&stage).await;
        for (version, expected) in [("1", "all is well"), ("2", "all is better")] {
            let set = json!({ "version": version });
            change_skill(&stage, "labels/production", set).await;
            for (path, request) in [
                ("/v1/messages", messages(&stage.skill, "make it", false)),
                ("/v1/chat/completions", chat(&stage.skill, "make it", false)),
                ("/v1/responses", responses(&stage.skill, "make it", false)),
            ] {
                let answer = stage.ask(path, &with_version(request, "production")).await;
                let content = stage.content(file_of(&answer)).await;
                assert_eq!(content, expected, "{path}");
            }
        }
    });
}

#[test]
fn a_label_stays_at_its_version_in_a_container_until_that_is_revoked() {
    on_stage(async |stage| {
        upload_second_version(&stage).await;
        change_skill(&stage, "labels/production", json!({ "version": "1" })).await;
        let request = with_version(messages(&stage.skill, "note this", false), "production");
        let first = stage.messages(request).await;
        let pinned = &first["container"]["skills"][0]["version"];
        change_skill(&stage, "labels/production", json!({ "version": "2" })).await;
        let mut again = with_version(messages(&stage.skill, "recall it", false), "production");
        again["container"]["id"] = first["container"]["id"].clone();
        let second = stage.messages(again.clone()).await;
        assert!(second.to_string().contains("I recall."), "{second}");
        assert_eq!(&second["container"]["skills"][0]["version"], pinned);
        let body = json!({ "reason": "it loses data", "move_to": "2" });
        change_skill(&stage, "versions/1/revoke", body).await;
        let refused = stage.post("/v1/messages", &again).await;
        assert_eq!(refused.status(), 400);
        let refused = refused.text().await.unwrap();
        assert!(refused.contains("version 1 of skill `report`"), "{refused}");
        assert!(refused.contains("it loses data"), "{refused}");
        again["container"].as_object_mut().unwrap().remove("id");
        let fresh = stage.messages(again).await;
        assert_ne!(&fresh["container"]["skills"][0]["version"], pinned);
    });
}

#[test]
fn a_client_with_namespaces_gets_its_calls_back_from_a_run() {
    on_stage(async |stage| {
        for stream in [false, true] {
            let mut request = responses(&stage.skill, "consult it", stream);
            let member = json!({"type": "function", "name": "find", "parameters": {"type": "object", "properties": {}}});
            let group = json!({"type": "namespace", "name": "mcp__wiki", "description": "d", "tools": [member]});
            request["tools"].as_array_mut().unwrap().push(group.clone());
            let answer = stage.ask("/v1/responses", &request).await;
            let response = match stream {
                false => serde_json::from_str::<Value>(&answer).unwrap(),
                true => {
                    let mut last = answer
                        .lines()
                        .filter_map(|line| line.strip_prefix("data: "));
                    let last = serde_json::from_str::<Value>(last.next_back().unwrap()).unwrap();
                    last["response"].clone()
                }
            };
            assert_eq!(response["tools"][1], group, "{response}");
            let output = response["output"].as_array().unwrap();
            let call = output
                .iter()
                .find(|item| item["type"] == "function_call")
                .unwrap();
            assert_eq!(
                (&call["name"], &call["namespace"]),
                (&json!("find"), &json!("mcp__wiki"))
            );
            let mut input = vec![json!({"role": "user", "content": "consult it"})];
            input.extend(output.iter().cloned());
            let id = &call["call_id"];
            input.push(json!({"type": "function_call_output", "call_id": id, "output": "found in the wiki"}));
            request["input"] = input.into();
            let answer = stage.ask("/v1/responses", &request).await;
            assert!(answer.contains("The wiki says so."), "{answer}");
        }
    });
}

#[test]
fn calls_of_one_turn_are_all_answered_and_one_that_fails_breaks_nothing() {
    on_stage(async |stage| {
        let answer = stage.messages(messages(&stage.skill, "both", false)).await;
        let content = answer["content"].as_array().unwrap();
        let kinds: Vec<_> = content
            .iter()
            .map(|b| b["type"].as_str().unwrap())
            .collect();
        let result = "bash_code_execution_tool_result";
        assert_eq!(
            kinds,
            ["server_tool_use", "server_tool_use", result, result, "text"]
        );
        assert_eq!(content[2]["tool_use_id"], content[0]["id"]);
        assert_eq!(content[2]["content"]["stdout"], "fine\n");
        let failed = &content[3]["content"];
        assert_eq!(
            (&failed["return_code"], &failed["stderr"]),
            (&json!(3), &json!("oops\n"))
        );
        assert_eq!(content[4]["text"], "One of them failed.");
    });
}

#[test]
fn a_container_goes_on_under_its_id_in_any_dialect() {
    on_stage(async |stage| {
        let first = stage
            .messages(messages(&stage.skill, "note this", false))
            .await;
        let id = first["container"]["id"].as_str().unwrap();
        let pinned = &first["container"]["skills"][0]["version"];
        assert!(pinned.as_str().unwrap().len() == 16, "{pinned}");

        let mut again = messages(&stage.skill, "recall it", false);
        again["container"] = id.into();
        let second = stage.messages(again).await;
        assert!(second.to_string().contains("I recall."), "{second}");
        assert_eq!(second["container"]["id"], id);
        assert_eq!(&second["container"]["skills"][0]["version"], pinned);

        let openai = id.replace("container_", "cntr_");
        let environment = json!({"type": "container_reference", "container_id": openai});
        let tools = json!([{"type": "shell", "environment": environment}]);
        let request = json!({"model": "stage/m", "input": "recall it", "tools": tools});
        let third = stage.ask("/v1/responses", &request).await;
        assert!(
            third.contains("I recall.") && third.contains(&openai),
            "{third}"
        );

        let request = json!({"model": "stage/m", "max_tokens": 9, "container": "container_gone",
            "messages": [{"role": "user", "content": "recall it"}]});
        let gone = stage.post("/v1/messages", &request).await;
        assert_eq!(gone.status(), 404);
        let why = gone.text().await.unwrap();
        assert!(
            why.contains("container-not-found") && why.contains("omit its id"),
            "{why}"
        );
    });
}

#[test]
fn a_file_of_the_clients_lies_where_code_finds_it() {
    on_stage(async |stage| {
        let file = stage.upload_file("data.csv", "a,b\n1,2\n").await;
        let mut request = messages(&stage.skill, "read it", false);
        request["messages"][0]["content"] = json!([
            {"type": "text", "text": "read it"},
            {"type": "container_upload", "file_id": file},
        ]);
        let answer = stage.messages(request).await;
        assert!(answer.to_string().contains("It says a,b."), "{answer}");
        let mut request = responses(&stage.skill, "read it", false);
        request["tools"][0]["environment"]["file_ids"] = json!([file]);
        let answer = stage.ask("/v1/responses", &request).await;
        assert!(answer.contains("It says a,b."), "{answer}");
    });
}

#[test]
fn a_client_that_leaves_ends_the_command() {
    on_stage(async |stage| {
        let request = messages(&stage.skill, "wait", true);
        let mut answer = stage.post("/v1/messages", &request).await;
        let mut received = String::new();
        let seconds = sleep_seconds(98_765);
        while !received.contains(&format!("sleep {seconds}")) {
            let chunk = answer.chunk().await.unwrap().unwrap();
            received.push_str(&String::from_utf8_lossy(&chunk));
        }
        while !is_running(&seconds) {
            tokio::task::yield_now().await;
        }
        drop(answer);
        while is_running(&seconds) {
            tokio::task::yield_now().await;
        }
        let list = loop {
            let mut command = prowess(stage.server.folder());
            let output = command.args(["runs", "--json"]).output().unwrap();
            let list: Value = serde_json::from_slice(&output.stdout).unwrap();
            if list[0].is_object() && list[0]["status"] != "running" {
                break list;
            }
        };
        assert_eq!(list[0]["status"], "cancelled", "{list}");
        let id = list[0]["id"].as_str().unwrap();
        let shown = prowess(stage.server.folder())
            .args(["runs", id])
            .output()
            .unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(
            shown.contains("tool started  bash_code_execution"),
            "{shown}"
        );
    });
}

#[test]
fn in_litellm_mode_files_are_in_the_answer_and_its_tools_are_there() {
    run(async {
        let stage = RunFixture::open("[skills]\nlitellm = true\n").await;
        let request = chat(&stage.skill, "make it", false);
        let answer = stage.ask("/v1/chat/completions", &request).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let file = &answer["_litellm_generated_files"][0];
        assert_eq!(
            (&file["name"], &file["size"]),
            (&json!("report.txt"), &json!(11))
        );
        assert_eq!(file["content_base64"], "YWxsIGlzIHdlbGw=", "{answer}");
        assert_eq!(file["mime_type"], "text/plain");
    });
}

#[test]
fn in_litellm_mode_files_are_in_the_last_chunk_of_a_stream() {
    const FILES: &str = "_litellm_generated_files";
    run(async {
        let stage = RunFixture::open("[skills]\nlitellm = true\n").await;
        let last = async |path: &str, request: Value| {
            let response = stage.ask(path, &request).await;
            let chunks = response.lines().filter_map(|line| {
                let chunk = line.strip_prefix("data: ")?;
                serde_json::from_str::<Value>(chunk).ok()
            });
            let mut chunks = chunks.filter(|chunk| chunk.to_string().contains(FILES));
            let last = chunks.next().unwrap_or_else(|| panic!("{response}"));
            assert!(chunks.next().is_none(), "told once: {response}");
            last
        };
        let skill = &stage.skill;
        let chunk = last("/v1/chat/completions", chat(skill, "make it", true)).await;
        assert_eq!(chunk["choices"][0]["finish_reason"], "stop", "{chunk}");
        let file = &chunk[FILES][0];
        assert_eq!(file["content_base64"], "YWxsIGlzIHdlbGw=", "{chunk}");
        let chunk = last("/v1/messages", messages(skill, "make it", true)).await;
        assert_eq!(chunk["type"], "message_delta", "{chunk}");
        assert_eq!(chunk[FILES][0]["name"], "report.txt", "{chunk}");
        let chunk = last("/v1/responses", responses(skill, "make it", true)).await;
        assert_eq!(chunk["type"], "response.completed", "{chunk}");
        assert_eq!(chunk["response"][FILES][0]["size"], 11, "{chunk}");
    });
}

/// An answer of Anthropic's, from its own container.
fn anthropic_answer(content: Value, stop: &str) -> MockResponse {
    let container = json!({"id": "container_theirs", "expires_at": "2030-01-01T00:00:00Z",
        "skills": [{"type": "anthropic", "skill_id": "xlsx", "version": "20251013"}]});
    let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m1",
        "content": content, "stop_reason": stop, "stop_sequence": null, "container": container,
        "usage": {"input_tokens": 3, "output_tokens": 2}});
    MockResponse::json(200, &body.to_string())
}

#[test]
fn anthropics_own_skills_and_container_stay_its_own_beside_ours() {
    run(async {
        let upstream = MockUpstream::start().await;
        let provider = format!(
            "[providers.ant]\nkind = \"anthropic\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
            upstream.url()
        );
        let stage = RunFixture::open(&provider).await;
        let command = json!({"command": "echo hi > x.txt; echo hi"});
        let call =
            json!([{"type": "tool_use", "id": "toolu_1", "name": "skill_bash", "input": command}]);
        upstream.respond(anthropic_answer(call, "tool_use"));
        for _ in 0..2 {
            upstream.respond(anthropic_answer(
                json!([{"type": "text", "text": "Done."}]),
                "end_turn",
            ));
        }
        let mut request = messages(&stage.skill, "go", false);
        request["model"] = "ant/m1".into();
        let native = json!({"type": "anthropic", "skill_id": "xlsx", "version": "latest"});
        request["container"]["skills"]
            .as_array_mut()
            .unwrap()
            .push(native.clone());
        let answer = stage.messages(request.clone()).await;

        let first: Value = serde_json::from_str(upstream.next_request().await.text()).unwrap();
        let tools = first["tools"].as_array().unwrap().iter();
        let tools: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(
            tools,
            ["code_execution", "load_skill", "skill_bash", "skill_editor"]
        );
        assert_eq!(first["container"], json!({"skills": [native]}));
        let second: Value = serde_json::from_str(upstream.next_request().await.text()).unwrap();
        assert_eq!(
            second["container"],
            json!({"id": "container_theirs", "skills": [native]})
        );

        assert_eq!(
            answer["content"][0]["name"], "bash_code_execution",
            "{answer}"
        );
        let skills = answer["container"]["skills"].as_array().unwrap();
        assert_eq!((skills.len(), &skills[1]["skill_id"]), (2, &json!("xlsx")));
        let ours = answer["container"]["id"].as_str().unwrap();
        assert_ne!(ours, "container_theirs");

        request["container"]["id"] = ours.into();
        stage.messages(request).await;
        let third: Value = serde_json::from_str(upstream.next_request().await.text()).unwrap();
        assert_eq!(third["container"]["id"], "container_theirs", "{third}");
    });
}

/// Whether a process of this machine was started with this argument.
fn is_running(argument: &str) -> bool {
    let processes = std::fs::read_dir(Path::new("/proc")).unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| {
        let mut words = line.split(|byte| *byte == 0);
        words.any(|word| word == argument.as_bytes())
    })
}
