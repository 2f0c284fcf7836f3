//! Requests with `auto` over real HTTP and a real sandbox: the fitting skill is found among
//! many, loaded, and its script runs.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod place;

use std::sync::{Arc, Mutex};

use place::LocalServer;
use prowess::provider::{OpenAiOptions, ProviderConfig, ProviderKind, ScriptedOptions};
use prowess::sandbox::SandboxSettings;
use prowess::server::{ServeOptions, ServerSettings, serve};
use prowess::store::TenantId;
use prowess::{EngineSettings, Prowess};
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};
use prowess_store::{LabelName, NewSkill, NewVersion, PageRequest, SkillFilter, VersionSelector};
use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use prowess_wire::neutral::ResponseCollector;
use prowess_wire::{ClientDialect, ReplyContext, StreamReader, write_response};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Stored skills besides the fitting one: more than are offered whatever the task.
const OTHERS: usize = 120;
const GOLD: &str = "zebrafish-ledger";
const TASK: &str = "Please reconcile the zebrafish ledger with the monthly report";

/// Takes the skill if it is offered, and runs its script; continues in its container.
const SCRIPT: &str = r#"
[[step]]
when.user = "once more"
when.system = "- zebrafish-ledger: Reconciles"
calls = [{ name = "bash_code_execution", input = { command = "cat kept.txt; cat /skills/zebrafish-ledger/scripts/count.py" } }]
[[step]]
when.user = "zebrafish"
when.system = "- zebrafish-ledger: Reconciles"
calls = [{ name = "load_skill", input = { name = "zebrafish-ledger" } }]
[[step]]
when.tool_result = "Run scripts/count.py."
calls = [{ name = "bash_code_execution", input = { command = "python3 /skills/zebrafish-ledger/scripts/count.py | tee kept.txt" } }]
[[step]]
text = "It printed: {{tool_result}}"
"#;

struct TestServer {
    local: LocalServer,
    http: Client,
    url: String,
}

impl TestServer {
    async fn start() -> TestServer {
        let script = ProviderKind::new(ScriptedOptions::Text(SCRIPT.to_owned()));
        TestServer::start_with(ProviderConfig::new("stage", script), OTHERS).await
    }

    async fn start_with(provider: ProviderConfig, others: usize) -> TestServer {
        let builder = Prowess::builder().provider(provider);
        let tune = |settings: &mut SandboxSettings| {
            settings.allow_reduced = true;
            settings.warm = 0;
        };
        let (runs, settings) = (EngineSettings::default(), ServerSettings::default());
        let local = LocalServer::open(builder, runs, tune, settings).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = local.app.clone();
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, app, stop, ServeOptions::default()));
        let server = TestServer {
            local,
            http: Client::builder().no_proxy().build().unwrap(),
            url,
        };
        for number in 0..others {
            let description = format!("Writes the report of department {number}, every month.");
            let fixture = SkillFixture::new(&format!("report-{number}"));
            server
                .store(&fixture.field("description", &description))
                .await;
        }
        let gold = SkillFixture::new(GOLD)
            .field("description", "Reconciles the zebrafish ledger.")
            .field("tags", "[fish]")
            .body("Run scripts/count.py.\n")
            .script("scripts/count.py", "print('zebrafish:', 6 * 7)\n");
        server.store(&gold).await;
        server
    }

    async fn store(&self, fixture: &SkillFixture) {
        let bundle = Bundle::from_files(fixture.files(), &BundleLimits::default()).unwrap();
        let skill = Skill::load(bundle, &LoadOptions::default()).skill.unwrap();
        let (store, new) = (self.local.prowess.store(), NewSkill::from_skill(&skill));
        let made = store.create_skill(&TenantId::default_tenant(), &new).await;
        made.unwrap();
    }

    async fn post(&self, path: &str, body: &Value) -> String {
        let request = self.http.post(format!("{}{path}", self.url)).json(body);
        let response = request.send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status}: {text}");
        text
    }
}

/// A request of each dialect: its path and its body.
fn requests(stream: bool) -> Vec<(&'static str, Value)> {
    let container = json!({"skills": [{"type": "custom", "skill_id": "auto"}]});
    let messages = json!([{"role": "user", "content": TASK}]);
    let environment = json!({
        "type": "container_auto",
        "skills": [{"type": "skill_reference", "skill_id": "auto"}],
    });
    let gemini = match stream {
        true => "/v1beta/models/stage%2Fhero:streamGenerateContent?alt=sse",
        false => "/v1beta/models/stage%2Fhero:generateContent",
    };
    vec![
        (
            "/v1/messages",
            json!({
                "model": "stage/hero", "max_tokens": 500, "stream": stream,
                "messages": messages, "container": container,
                "tools": [{"type": "code_execution_20250825", "name": "code_execution"}],
            }),
        ),
        (
            "/v1/chat/completions",
            json!({
                "model": "stage/hero", "stream": stream, "messages": messages,
                "container": container,
            }),
        ),
        (
            "/v1/responses",
            json!({
                "model": "stage/hero", "stream": stream, "input": TASK,
                "tools": [{"type": "shell", "environment": environment}],
            }),
        ),
        (
            gemini,
            json!({
                "contents": [{"role": "user", "parts": [{"text": TASK}]}],
                "container": container,
            }),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fitting_skill_is_found_and_its_script_runs_in_every_dialect() {
    let server = TestServer::start().await;
    for stream in [false, true] {
        for (path, body) in requests(stream) {
            let answer = server.post(path, &body).await;
            assert!(
                answer.contains("zebrafish: 42"),
                "{path} {stream}: {answer}"
            );
        }
    }
}

/// Where a request has `auto`.
fn auto_entry<'a>(path: &str, body: &'a mut Value) -> &'a mut Value {
    match path {
        "/v1/responses" => &mut body["tools"][0]["environment"]["skills"][0],
        _ => &mut body["container"]["skills"][0],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_tags_and_labels_decide_in_every_dialect() {
    let server = TestServer::start().await;
    let (store, tenant) = (server.local.prowess.store(), TenantId::default_tenant());
    let filter = SkillFilter {
        name: Some(GOLD.to_owned()),
        ..SkillFilter::default()
    };
    let page = PageRequest::default();
    let found = store.list_skills(&tenant, &filter, &page).await.unwrap();
    let id = &found.items[0].id;
    let label = LabelName::parse("production").unwrap();
    let version = VersionSelector::Latest;
    let set = store.set_label(&tenant, id, &label, &version).await;
    set.unwrap();
    for (fields, is_open) in [
        (json!({"filter": {"names": ["zebra*"]}}), true),
        (json!({"filter": {"names": ["report-*"]}}), false),
        (json!({"filter": {"tags": ["fish"]}}), true),
        (json!({"filter": {"tags": ["birds"]}}), false),
        (json!({"filter": {"label": "production"}}), true),
        (json!({"filter": {"label": "staging"}}), false),
        (json!({"version": "production"}), true),
        (json!({"version": "staging"}), false),
    ] {
        for (path, mut body) in requests(false) {
            let entry = auto_entry(path, &mut body);
            for (name, value) in fields.as_object().unwrap() {
                entry[name] = value.clone();
            }
            let answer = server.post(path, &body).await;
            let is_run = answer.contains("zebrafish: 42");
            assert_eq!(is_run, is_open, "{path} {fields}: {answer}");
        }
    }
}

/// A model in the Chat dialect: takes the fitting skill when a user asks, then answers.
fn answer(request: &Value) -> MockResponse {
    let messages = request["messages"].as_array().unwrap();
    let is_question = messages.last().unwrap()["role"] == "user";
    let is_offered = request
        .to_string()
        .contains("- zebrafish-ledger: Reconciles");
    let arguments = json!({"name": GOLD}).to_string();
    let function = json!({"name": "load_skill", "arguments": arguments});
    let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
    let (message, reason) = match is_question && is_offered {
        true => {
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (message, "tool_calls")
        }
        false => (json!({"role": "assistant", "content": "Done."}), "stop"),
    };
    let part = |name: &str, value: &Value, reason: Value| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, name: value, "finish_reason": reason}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        })
    };
    if request["stream"] != true {
        return MockResponse::json(200, &part("message", &message, reason.into()).to_string());
    }
    let first = part("delta", &message, Value::Null);
    let last = part("delta", &json!({}), reason.into());
    MockResponse::sse(&format!(
        "data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n"
    ))
}

/// A streamed answer as its client collects it, in the form of one that is not streamed.
fn collected(client: ClientDialect, answer: &str) -> Value {
    let mut reader = StreamReader::new(client.into(), Default::default());
    let mut collector = ResponseCollector::new(client.into());
    let events = reader.push(answer.as_bytes());
    for event in events.into_iter().chain(reader.finish()) {
        collector.push(event).unwrap();
    }
    let answer = collector.finish().unwrap();
    write_response(client, &answer, &ReplyContext::default()).0
}

/// The next request of a conversation, with the answer as its client received it.
fn next_request(path: &str, stream: bool, body: &Value, answer: &str) -> Value {
    let (mut next, later) = (body.clone(), "Thanks. Is there anything else to reconcile?");
    let whole = |client: ClientDialect| -> Value {
        match stream {
            false => serde_json::from_str(answer).unwrap(),
            true => collected(client, answer),
        }
    };
    let reply = match path {
        "/v1/responses" => {
            let id = answer.split('"').find(|word| word.starts_with("resp_"));
            next["previous_response_id"] = id.unwrap().into();
            next["input"] = later.into();
            return next;
        }
        "/v1/messages" => {
            let answer = whole(ClientDialect::Messages);
            json!({"role": "assistant", "content": answer["content"]})
        }
        "/v1/chat/completions" => whole(ClientDialect::Chat)["choices"][0]["message"].clone(),
        _ => {
            // Its clients send back a content for each event of a stream.
            let lines = answer.lines();
            let events: Vec<&str> = match stream {
                false => vec![answer],
                true => lines.filter_map(|it| it.strip_prefix("data: ")).collect(),
            };
            let contents = next["contents"].as_array_mut().unwrap();
            for event in events {
                let event: Value = serde_json::from_str(event).unwrap();
                contents.push(event["candidates"][0]["content"].clone());
            }
            contents.push(json!({"role": "user", "parts": [{"text": later}]}));
            return next;
        }
    };
    let messages = next["messages"].as_array_mut().unwrap();
    messages.extend([reply, json!({"role": "user", "content": later})]);
    next
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prompt_stays_the_same_while_a_conversation_goes_on() {
    let upstream = MockUpstream::start().await;
    let sent = Arc::new(Mutex::new(Vec::<Value>::new()));
    let shared = Arc::clone(&sent);
    upstream.respond_with(move |request: &ReceivedRequest| {
        let request: Value = serde_json::from_slice(&request.body).unwrap();
        shared.lock().unwrap().push(request.clone());
        answer(&request)
    });
    let kind = ProviderKind::new(OpenAiOptions {
        responses: Some(false),
    });
    let provider = ProviderConfig::new("stage", kind)
        .with_base_url(format!("{}/v1", upstream.url()))
        .with_api_key("k");
    let server = TestServer::start_with(provider, 300).await;
    for stream in [false, true] {
        for (path, body) in requests(stream) {
            sent.lock().unwrap().clear();
            let answer = server.post(path, &body).await;
            assert!(answer.contains("Done."), "{path} {stream}: {answer}");
            let next = next_request(path, stream, &body, &answer);
            let answer = server.post(path, &next).await;
            assert!(answer.contains("Done."), "{path} {stream}: {answer}");
            let sent = sent.lock().unwrap().clone();
            let loaded = sent.iter().any(|request| {
                let messages = request["messages"].as_array().unwrap();
                let mut results = messages.iter().filter(|m| m["role"] == "tool");
                results.any(|result| result.to_string().contains("Run scripts/count.py."))
            });
            assert!(loaded, "{path} {stream}: {sent:?}");
            assert_eq!(sent.len(), 4, "{path} {stream}: {sent:?}");
            for pair in sent.windows(2) {
                let [before, after] = pair else { continue };
                let begins_with = |start: &Value| {
                    let start = start["messages"].to_string();
                    let start = start.strip_suffix(']').unwrap();
                    after["messages"].to_string().starts_with(start)
                };
                // Chat clients do not send the calls of earlier requests back.
                let is_chat = path == "/v1/chat/completions";
                let is_same = begins_with(before) || is_chat && begins_with(&sent[0]);
                assert!(is_same, "{path} {stream}: {after}");
                assert_eq!(before["tools"], after["tools"], "{path} {stream}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_keeps_the_skills_and_the_offer_when_stored_ones_change() {
    let server = TestServer::start().await;
    let (path, mut body) = requests(false).swap_remove(0);
    let answer: Value = serde_json::from_str(&server.post(path, &body).await).unwrap();
    let container = &answer["container"];
    let skills = container["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 1, "the one that was loaded: {container}");

    // Another version that does something else, and skills that would fit better.
    let id = skills[0]["skill_id"].as_str().unwrap();
    let changed = SkillFixture::new(GOLD)
        .field("description", "Feeds fish.")
        .script("scripts/count.py", "print('changed')\n");
    let bundle = Bundle::from_files(changed.files(), &BundleLimits::default()).unwrap();
    let skill = Skill::load(bundle, &LoadOptions::default()).skill.unwrap();
    let new = NewVersion::from_skill(&skill);
    let store = server.local.prowess.store();
    let tenant = TenantId::default_tenant();
    store.create_version(&tenant, id, &new).await.unwrap();

    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": answer["content"]}));
    messages.push(json!({"role": "user", "content": "Please do it once more"}));
    for skills in [json!([{"type": "custom", "skill_id": "auto"}]), Value::Null] {
        body["container"] = json!({"id": container["id"], "skills": skills});
        let answer = server.post(path, &body).await;
        assert!(answer.contains("zebrafish: 42"), "{answer}");
        assert!(
            answer.contains("6 * 7") && !answer.contains("changed"),
            "{answer}"
        );
    }
}
