//! What each skill took of runs, and which skills were never offered, loaded or used. Here
//! without a sandbox: skills are read, not run.

use std::collections::BTreeMap;

use prowess_engine::EngineSettings as Runs;
use prowess_server::{ServerSettings, TelemetrySettings};
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};
use prowess_store::{KeyLimits, KeyScope, NewSkill, SkillDeleteRule, TenantId};
use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::gateway::{ClientResponse, Gateway, path};
use crate::otlp;

const RUNS: u64 = 1_000;
const SKILLS: usize = 5;

/// The counts that are divided.
const COUNTS: [&str; 4] = [
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
];

/// Stores a skill with a file besides its instructions, and returns its id.
async fn store_skill(gateway: &Gateway, tenant: &str, name: &str) -> String {
    let files = SkillFixture::new(name)
        .body(&format!("The instructions of {name}.\n").repeat(name.len()))
        .file("more.md", format!("More about {name}."))
        .files();
    let bundle = Bundle::from_files(files, &BundleLimits::default()).unwrap();
    let skill = Skill::load(bundle, &LoadOptions::default()).skill.unwrap();
    let tenant = TenantId::new(tenant).unwrap();
    let store = gateway.app.store();
    store.ensure_tenant(&tenant, "").await.unwrap();
    let made = store
        .create_skill(&tenant, &NewSkill::from_skill(&skill))
        .await;
    made.unwrap().skill.id
}

fn name(number: usize) -> String {
    format!("skill-{number}-{}", "x".repeat(number * 3))
}

/// A turn of Anthropic's API with these calls and this usage.
fn turn(calls: &[(&str, Value)], usage: [u64; 4]) -> MockResponse {
    let mut content = vec![json!({"type": "text", "text": "Let me see."})];
    for (number, (name, input)) in calls.iter().enumerate() {
        let id = format!("toolu_{number}");
        content.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    }
    let stop = match calls.is_empty() {
        true => "end_turn",
        false => "tool_use",
    };
    let [input, output, read, write] = usage;
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m1",
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": input, "output_tokens": output,
            "cache_read_input_tokens": read, "cache_creation_input_tokens": write},
    });
    MockResponse::json(200, &body.to_string())
}

fn load(name: &str) -> (&'static str, Value) {
    ("load_skill", json!({"name": name}))
}

fn read_file(name: &str) -> (&'static str, Value) {
    ("load_skill", json!({"name": name, "path": "more.md"}))
}

async fn ask(gateway: &Gateway, client: ClientDialect, skills: Value) -> ClientResponse {
    ask_with(gateway, client, skills, &[]).await
}

async fn ask_with(
    gateway: &Gateway,
    client: ClientDialect,
    skills: Value,
    headers: &[(&str, &str)],
) -> ClientResponse {
    let container = json!({"skills": skills});
    let text = "Fill in the form";
    let (path, body) = match client {
        ClientDialect::Gemini => (
            "/v1beta/models/small:generateContent",
            json!({"container": container, "contents": [{"role": "user", "parts": [{"text": text}]}]}),
        ),
        client => (
            path(client),
            json!({"model": "small", "max_tokens": 50, "container": container,
                "messages": [{"role": "user", "content": text}]}),
        ),
    };
    let answer = gateway.send(path, headers, body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer
}

fn named(id: &str) -> Value {
    json!({"type": "custom", "skill_id": id, "version": "latest"})
}

/// Pseudo-random numbers, the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// Adds the counts of an object to sums.
fn add(sums: &mut BTreeMap<&'static str, u64>, part: &Value) {
    for count in COUNTS {
        *sums.entry(count).or_default() += part[count].as_u64().unwrap_or_default();
    }
    *sums.entry("cost").or_default() += nanos(part);
}

fn nanos(part: &Value) -> u64 {
    (part["cost"].as_f64().unwrap_or_default() * 1e9).round() as u64
}

async fn usage(gateway: &Gateway, query: &str) -> Value {
    gateway.app.flush().await;
    let answer = gateway.get(&format!("/v1/usage?{query}"), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

async fn report(gateway: &Gateway, query: &str) -> Vec<Value> {
    gateway.app.flush().await;
    let answer = gateway.get(&format!("/v1/skills/usage?{query}"), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].as_array().unwrap().clone()
}

async fn run_record(gateway: &Gateway, answer: &ClientResponse) -> Value {
    let id = answer.header("prowess-run").unwrap();
    gateway.app.flush().await;
    gateway.get(&format!("/v1/runs/{id}"), &[]).await.json()
}

#[tokio::test]
async fn of_a_thousand_runs_skills_and_no_skill_are_the_total_exactly() {
    let gateway = Gateway::start().await;
    let mut ids = Vec::new();
    for number in 0..SKILLS {
        ids.push(store_skill(&gateway, "default", &name(number)).await);
    }
    let mut dice = Dice(7);
    let clients = [
        ClientDialect::Messages,
        ClientDialect::Chat,
        ClientDialect::Gemini,
    ];
    let mut answers = Vec::new();
    for run in 0..RUNS {
        let count = 1 + usize::try_from(run).unwrap() % SKILLS;
        let skills: Vec<Value> = ids.iter().take(count).map(|id| named(id)).collect();
        let some = |dice: &mut Dice| name(usize::try_from(dice.below(count as u64)).unwrap());
        let usages = |dice: &mut Dice| {
            let cached = if dice.below(3) == 0 { 900 } else { 1 };
            [
                dice.below(500),
                dice.below(200),
                dice.below(cached),
                dice.below(cached),
            ]
        };
        for _ in 0..dice.below(3) {
            let mut calls = vec![load(&some(&mut dice))];
            if dice.below(2) == 0 {
                calls.push(read_file(&some(&mut dice)));
            }
            let usage = usages(&mut dice);
            gateway.upstream.respond(turn(&calls, usage));
        }
        let usage = usages(&mut dice);
        gateway.upstream.respond(turn(&[], usage));
        let client = clients[usize::try_from(run).unwrap() % clients.len()];
        answers.push(ask(&gateway, client, json!(skills)).await);
        if run % 200 == 0 {
            gateway.app.flush().await;
            gateway.upstream.requests().await;
        }
    }
    gateway.app.flush().await;

    let tenant = TenantId::default_tenant();
    for answer in &answers {
        let id = answer.header("prowess-run").unwrap();
        let run = gateway.app.store().run(&tenant, id).await.unwrap();
        let mut sums = BTreeMap::new();
        add(&mut sums, &run.usage["no_skill"]);
        for skill in run.skills.as_array().unwrap() {
            for part in ["offered", "loaded", "used"] {
                add(&mut sums, &skill["took"][part]);
            }
        }
        let total = |field: &str| run.usage[field].as_u64().unwrap();
        let expected = BTreeMap::from([
            ("input_tokens", total("input_tokens")),
            ("output_tokens", total("output_tokens")),
            ("cache_read_tokens", total("cache_read_input_tokens")),
            ("cache_write_tokens", total("cache_creation_input_tokens")),
            ("cost", nanos(&run.usage)),
        ]);
        assert_eq!(sums, expected, "{id}: {}", run.skills);
    }

    let by_skill = usage(&gateway, "by=skill").await;
    let rows = by_skill["data"].as_array().unwrap();
    assert_eq!(rows.len(), SKILLS + 1);
    assert_eq!(rows[SKILLS]["skill"], Value::Null, "the last is no skill");
    let (mut sums, mut parts) = (BTreeMap::new(), BTreeMap::new());
    for row in rows {
        add(&mut sums, row);
        for part in ["offered", "loaded", "used"] {
            add(&mut parts, &row[part]);
        }
    }
    let mut total = BTreeMap::new();
    add(&mut total, &by_skill["total"]);
    assert_eq!(sums, total);
    add(&mut parts, &rows[SKILLS]);
    assert_eq!(parts, total, "parts are divided without remainder too");
    // With a limit, the most expensive skills, and the others together.
    let limited = usage(&gateway, "by=skill&limit=2").await;
    let most = limited["data"].as_array().unwrap();
    let mut costs: Vec<u64> = rows.iter().take(SKILLS).map(nanos).collect();
    costs.sort_unstable_by_key(|cost| std::cmp::Reverse(*cost));
    let mut found: Vec<u64> = most.iter().take(2).map(nanos).collect();
    found.sort_unstable_by_key(|cost| std::cmp::Reverse(*cost));
    assert_eq!(found, costs[..2]);
    assert_eq!((most.len(), &most[2]["skill"]), (4, &json!("(other)")));
    let mut sums = BTreeMap::new();
    most.iter().for_each(|row| add(&mut sums, row));
    assert_eq!(sums, total);
    let mut by_model = BTreeMap::new();
    add(&mut by_model, &usage(&gateway, "by=model").await["data"][0]);
    assert_eq!(by_model, total);
    assert_eq!(by_skill["total"]["requests"], RUNS);
    assert_eq!(rows[0]["runs_offered"], RUNS, "the first is in every run");
    assert_eq!(rows[SKILLS - 1]["runs_offered"], RUNS / 5);
    for row in rows.iter().take(SKILLS) {
        for part in ["offered", "loaded"] {
            assert!(nanos(&row[part]) > 0, "{part}: {row}");
        }
    }
}

#[tokio::test]
async fn a_run_records_what_its_skills_took() {
    let gateway = Gateway::start().await;
    let (forms, maps) = ("forms", "maps");
    let ids = [
        store_skill(&gateway, "default", forms).await,
        store_skill(&gateway, "default", maps).await,
    ];
    gateway
        .upstream
        .respond(turn(&[load(forms)], [300, 20, 0, 0]));
    gateway.upstream.respond(turn(&[], [100, 30, 300, 0]));
    let skills = json!([named(&ids[0]), named(&ids[1])]);
    let answer = ask(&gateway, ClientDialect::Messages, skills).await;
    let run = run_record(&gateway, &answer).await;
    let [forms, maps] = run["skills"].as_array().unwrap().as_slice() else {
        panic!("{run}");
    };
    let took = |skill: &Value, part: &str, count: &str| {
        skill["took"][part][count].as_u64().unwrap_or_default()
    };
    // The catalogue is in both prompts; the second time in the cached beginning.
    for skill in [forms, maps] {
        assert!(took(skill, "offered", "input_tokens") > 0, "{skill}");
        assert!(took(skill, "offered", "cache_read_tokens") > 0, "{skill}");
    }
    // The instructions are at the end of the second.
    assert!(took(forms, "loaded", "input_tokens") > 0, "{forms}");
    assert_eq!(took(forms, "loaded", "cache_read_tokens"), 0, "{forms}");
    assert_eq!(took(forms, "loaded", "output_tokens"), 20, "{forms}");
    assert_eq!(maps["took"]["loaded"], Value::Null);
    assert_eq!(run["usage"]["no_skill"]["output_tokens"], 30);
    assert_eq!(forms["id"], ids[0].as_str());
}

#[tokio::test]
async fn offers_of_auto_count_and_so_does_what_a_search_finds() {
    let gateway = Gateway::with(ServerSettings {
        runs: Runs {
            catalogue_tokens: 40,
            ..Runs::default()
        },
        ..ServerSettings::default()
    })
    .await;
    for name in ["forms-filler", "whale-songs"] {
        store_skill(&gateway, "default", name).await;
    }
    for number in 0..80 {
        store_skill(&gateway, "default", &format!("form-{number}")).await;
    }
    let search = ("search_skills", json!({"query": "whale songs", "limit": 1}));
    gateway.upstream.respond(turn(&[search], [900, 20, 0, 0]));
    gateway
        .upstream
        .respond(turn(&[load("whale-songs")], [900, 20, 0, 0]));
    gateway.upstream.respond(turn(&[], [1_000, 9, 0, 0]));
    let auto = json!([{"type": "custom", "skill_id": "auto"}]);
    ask(&gateway, ClientDialect::Messages, auto).await;
    let rows = report(&gateway, "limit=1000").await;
    assert_eq!(rows.len(), 82);
    let find = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    let whale = find("whale-songs");
    assert_eq!(whale["runs_offered"], 1, "{whale}");
    assert_eq!(whale["runs_loaded"], 1, "{whale}");
    assert_eq!(whale["runs_loaded_in_vain"], 1, "{whale}");
    let offered = rows.iter().filter(|row| row["runs_offered"] == 1).count();
    assert!((2..40).contains(&offered), "{offered} are offered");
    let never = report(&gateway, "filter=never_offered&limit=1000").await;
    assert_eq!(never.len(), 82 - offered);
    let by_skill = usage(&gateway, "by=skill").await;
    let rows = by_skill["data"].as_array().unwrap();
    let whale = rows
        .iter()
        .find(|row| row["skill"] == "whale-songs")
        .unwrap();
    // The line that the search found, and the call that loaded it.
    assert!(whale["offered"]["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(whale["loaded"]["output_tokens"], 20);
}

#[tokio::test]
async fn the_report_lists_what_was_loaded_in_vain_or_never() {
    let gateway = Gateway::start().await;
    let mut ids = Vec::new();
    for name in ["read", "vain", "offered", "idle", "gone"] {
        ids.push(store_skill(&gateway, "default", name).await);
    }
    let calls = [load("read"), load("vain"), load("gone")];
    gateway.upstream.respond(turn(&calls, [50, 5, 0, 0]));
    gateway
        .upstream
        .respond(turn(&[read_file("read")], [50, 5, 0, 0]));
    gateway.upstream.respond(turn(&[], [50, 5, 0, 0]));
    let skills = json!([
        named(&ids[0]),
        named(&ids[1]),
        named(&ids[2]),
        named(&ids[4])
    ]);
    ask(&gateway, ClientDialect::Chat, skills).await;
    gateway.app.flush().await;
    let tenant = TenantId::default_tenant();
    let rule = SkillDeleteRule::Cascade;
    let store = gateway.app.store();
    store.delete_skill(&tenant, &ids[4], rule).await.unwrap();
    let names = async |query: &str| {
        let rows = report(&gateway, query).await;
        let names = rows
            .iter()
            .map(|row| row["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names("").await, ["gone", "idle", "offered", "vain", "read"]);
    assert_eq!(names("filter=never_offered").await, ["idle"]);
    assert_eq!(names("filter=never_loaded").await, ["idle", "offered"]);
    assert_eq!(names("filter=loaded_in_vain").await, ["gone", "vain"]);
    let first = &report(&gateway, "limit=1").await[0];
    assert_eq!(first["deleted"], true, "{first}");
    let read = report(&gateway, "").await.pop().unwrap();
    assert_eq!(read["runs_used"], 1, "a file of it was read: {read}");
    assert!(read["last_used_at"].is_string());
    // Those that are named, with what they took.
    let some = format!(
        "skill_id={}&skill_id={}&skill_id=skill_x&limit=1",
        ids[0], ids[3]
    );
    let some = report(&gateway, &some).await;
    let [read] = some.as_slice() else {
        panic!("one was in a run: {some:?}");
    };
    assert_eq!(
        (&read["name"], &read["runs_loaded"]),
        (&json!("read"), &json!(1))
    );
    assert!(read["input_tokens"].as_u64().unwrap() > 0, "{read}");
    assert!(read["cost"].is_number(), "{read}");
    assert!(read["sandbox_ms"].is_u64(), "{read}");
    assert!(read["last_used_at"].is_string(), "{read}");
    let many = "skill_id=skill_x&".repeat(101);
    let answer = gateway.get(&format!("/v1/skills/usage?{many}"), &[]).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    for bad in ["days=0", "days=401", "days=x", "filter=all", "page=%00"] {
        let answer = gateway.get(&format!("/v1/skills/usage?{bad}"), &[]).await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text());
    }
}

#[tokio::test]
async fn another_tenants_skills_and_costs_are_not_there() {
    let gateway = Gateway::start().await;
    let none = KeyLimits::default();
    let id = store_skill(&gateway, "one", "secret-name").await;
    let key = gateway.key("one", KeyScope::Use, &none).await;
    gateway
        .upstream
        .respond(turn(&[load("secret-name")], [50, 5, 0, 0]));
    gateway.upstream.respond(turn(&[], [50, 5, 0, 0]));
    let headers = [("x-api-key", key.as_str())];
    ask_with(
        &gateway,
        ClientDialect::Messages,
        json!([named(&id)]),
        &headers,
    )
    .await;
    gateway.app.flush().await;
    let mine = gateway.get("/v1/skills/usage", &headers).await.json();
    assert_eq!(mine["data"][0]["runs_loaded"], 1, "{mine}");
    let named = format!("/v1/skills/usage?skill_id={id}");
    let mine = gateway.get(&named, &headers).await.json();
    assert_eq!(mine["data"][0]["runs_loaded"], 1, "{mine}");
    // Money is for administrators.
    assert!(mine["data"][0].get("cost").is_none(), "{mine}");
    let other = gateway.key("two", KeyScope::Use, &none).await;
    let headers = [("x-api-key", other.as_str())];
    let list = gateway.get("/v1/skills/usage", &headers).await;
    assert_eq!(list.json()["data"], json!([]));
    let list = gateway.get(&named, &headers).await;
    assert_eq!(list.json()["data"], json!([]));
    let admin = gateway.key("two", KeyScope::Admin, &none).await;
    let headers = [("x-api-key", admin.as_str())];
    let list = gateway.get("/v1/usage?by=skill&tenant=one", &headers).await;
    assert!(!list.text().contains("secret-name"), "{}", list.text());
    assert_eq!(list.json()["total"]["requests"], 0);
}

#[tokio::test]
async fn a_run_is_spans_with_its_skills_and_metrics_have_the_parts() {
    let collector = MockUpstream::start().await;
    collector.respond_always(otlp::accepted());
    let gateway = otlp::traced_with(TelemetrySettings {
        content: true,
        ..otlp::settings(&collector)
    })
    .await;
    let id = store_skill(&gateway, "default", "traced-skill").await;
    let calls = [load("traced-skill"), load("no-such-skill")];
    gateway.upstream.respond(turn(&calls, [500, 5, 0, 0]));
    gateway.upstream.respond(turn(&[], [600, 7, 0, 0]));
    let answer = ask(&gateway, ClientDialect::Messages, json!([named(&id)])).await;
    gateway.app.flush().await;
    let spans = otlp::received(&collector).await;
    let run = otlp::one(&spans, "invoke_agent prowess");
    assert!(run.parent_span_id.is_empty());
    let about = otlp::attributes(&run.attributes);
    assert_eq!(about["prowess.run"], answer.header("prowess-run").unwrap());
    assert_eq!(about["prowess.skills"], json!(["traced-skill"]));
    assert_eq!(about["gen_ai.usage.input_tokens"], 1_100);
    assert_eq!(about["gen_ai.usage.output_tokens"], 12);
    let named_as = |name: &'static str| spans.iter().filter(move |span| span.name == name);
    let turns: Vec<_> = named_as("chat small").collect();
    let tools: Vec<_> = named_as("execute_tool load_skill").collect();
    assert_eq!((spans.len(), turns.len(), tools.len()), (5, 2, 2));
    for span in turns.iter().chain(&tools) {
        assert_eq!(span.parent_span_id, run.span_id);
        assert_eq!(span.trace_id, run.trace_id);
        assert!(span.start_time_unix_nano >= run.start_time_unix_nano);
        assert!(span.end_time_unix_nano <= run.end_time_unix_nano);
    }
    for (turn, (number, input)) in turns.iter().zip([(1, 500), (2, 600)]) {
        let about = otlp::attributes(&turn.attributes);
        assert_eq!(about["prowess.turn"], number);
        assert_eq!(about["gen_ai.usage.input_tokens"], input);
        assert_eq!(about["gen_ai.provider.name"], "anthropic");
        assert_eq!(about["gen_ai.response.model"], "m1");
        let output = about["gen_ai.output.messages"].as_str().unwrap();
        assert!(output.contains("Let me see."), "{output}");
        // The provider gets the span of this very turn as parent.
        let upstream_request = gateway.upstream.next_request().await;
        let (trace, span) = (otlp::hex(&turn.trace_id), otlp::hex(&turn.span_id));
        let parent = format!("00-{trace}-{span}-01");
        assert_eq!(
            upstream_request.header("traceparent"),
            Some(parent.as_str())
        );
    }
    let [first, second] = [0, 1].map(|index| otlp::attributes(&tools[index].attributes));
    assert_eq!(first["gen_ai.operation.name"], "execute_tool");
    assert_eq!(first["gen_ai.skill.name"], "traced-skill");
    assert_eq!(first["gen_ai.skill.id"], id);
    assert!(first["gen_ai.skill.version"].is_string());
    let arguments = first["gen_ai.tool.call.arguments"].as_str().unwrap();
    assert_eq!(arguments, r#"{"name":"traced-skill"}"#);
    let result = first["gen_ai.tool.call.result"].as_str().unwrap();
    assert!(result.contains("The instructions of"), "{result}");
    assert_eq!(second["error.type"], "tool_error");
    assert_eq!(tools[1].status.as_ref().unwrap().code, 2);

    let metrics = gateway.get("/metrics", &[]).await;
    for part in ["offered", "loaded"] {
        // In one process with other tests, there may be too many skills for one more label.
        let is_counted = ["traced-skill", "(other)"].iter().any(|skill| {
            let line = format!("prowess_skill_tokens_total{{skill=\"{skill}\",part=\"{part}\"}}");
            metrics.text().contains(&line)
        });
        assert!(is_counted, "{part}\n{}", metrics.text());
    }
}

#[tokio::test]
async fn a_kept_run_is_spans_in_the_clients_trace() {
    let collector = MockUpstream::start().await;
    let gateway = otlp::traced(&collector).await;
    let id = store_skill(&gateway, "default", "kept-skill").await;
    let first = turn(&[load("kept-skill")], [500, 5, 0, 0]);
    gateway.upstream.respond(first);
    gateway.upstream.respond(turn(&[], [600, 7, 0, 0]));
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    let headers = [("prowess-keep", "true"), ("traceparent", parent.as_str())];
    let skills = json!([named(&id)]);
    ask_with(&gateway, ClientDialect::Messages, skills, &headers).await;
    // Sent a moment after the run has ended, which its client does not wait for.
    let spans = otlp::decode(&collector.next_request().await);
    let run = otlp::one(&spans, "invoke_agent prowess");
    assert_eq!(otlp::hex(&run.trace_id), trace);
    assert_eq!(otlp::hex(&run.parent_span_id), "b7ad6b7169203331");
    let about = otlp::attributes(&run.attributes);
    assert_eq!(about["prowess.skills"], json!(["kept-skill"]));
    assert_eq!(about["gen_ai.usage.input_tokens"], 1_100);
    // Without the setting there are no texts.
    let tool = otlp::one(&spans, "execute_tool load_skill");
    let about = otlp::attributes(&tool.attributes);
    assert!(!about.contains_key("gen_ai.tool.call.result"));
    let turns = spans.iter().filter(|span| span.name == "chat small");
    for turn in turns {
        assert_eq!(turn.parent_span_id, run.span_id);
        let upstream_request = gateway.upstream.next_request().await;
        let parent = format!("00-{trace}-{}-01", otlp::hex(&turn.span_id));
        assert_eq!(
            upstream_request.header("traceparent"),
            Some(parent.as_str())
        );
    }
    assert_eq!(gateway.upstream.requests().await.len(), 0);
}
