//! Requests with `auto`: stored skills are offered that fit what the user wrote. Here without a
//! sandbox: skills are read, not run.

use prowess_engine::EngineSettings as Runs;
use prowess_server::ServerSettings;
use prowess_skill::{LoadOptions, Skill};
use prowess_store::{KeyLimits, KeyScope, NewKey, NewSkill, TenantId};
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::gateway::{ClientResponse, Gateway, path};
use crate::runs::{model_response, sent, text_of};

/// Stored skills: more than a catalogue can list.
const SKILLS: usize = 300;
/// Bytes of the catalogue, and of the text around it.
const CATALOGUE_BYTES: usize = 16_000;
const INTRO_BYTES: usize = 700;

const GOLD: &str = "zebrafish-ledger";
const TASK: &str = "Please reconcile the zebrafish ledger with the monthly report";

async fn store_skill(gateway: &Gateway, tenant: &TenantId, name: &str, text: &str) {
    let loaded = Skill::from_text(text, &LoadOptions::default());
    let skill = loaded.skill.unwrap_or_else(|| panic!("{name}: {text}"));
    let new = NewSkill::from_skill(&skill);
    let made = gateway.app.store().create_skill(tenant, &new).await;
    made.unwrap();
}

async fn store_plain(gateway: &Gateway, tenant: &TenantId, name: &str, description: &str) {
    let text = format!(
        "---\nname: {name}\ndescription: {description}\n---\nThe instructions of {name}.\n"
    );
    store_skill(gateway, tenant, name, &text).await;
}

/// A gateway with many skills, one of which fits the task.
async fn gateway_with_skills(runs: Runs) -> Gateway {
    let gateway = Gateway::with(ServerSettings {
        runs,
        ..ServerSettings::default()
    })
    .await;
    let tenant = TenantId::default_tenant();
    for number in 0..SKILLS {
        let description = format!(
            "Writes the report of department {number}. It checks every figure against the books, \
             formats the tables and lists what is missing. Use when a monthly report is needed."
        );
        store_plain(&gateway, &tenant, &format!("report-{number}"), &description).await;
    }
    let gold = "Reconciles the zebrafish ledger. Use when zebrafish are counted.";
    store_plain(&gateway, &tenant, GOLD, gold).await;
    let other = "Translates whale songs into sheet music. Use when a whale sings.";
    store_plain(&gateway, &tenant, "whale-songs", other).await;
    gateway
}

fn auto() -> Value {
    json!({"type": "custom", "skill_id": "auto"})
}

/// A request with `auto` and these messages.
fn request(
    client: ClientDialect,
    model: &str,
    skill: Value,
    stream: bool,
    messages: Value,
) -> Value {
    let container = json!({"skills": [skill]});
    match client {
        ClientDialect::Messages => json!({
            "model": model, "max_tokens": 50, "stream": stream, "container": container,
            "messages": messages,
        }),
        _ => json!({
            "model": model, "stream": stream, "container": container, "messages": messages,
        }),
    }
}

fn ask(client: ClientDialect, skill: Value, text: &str) -> String {
    let messages = json!([{"role": "user", "content": text}]);
    request(client, "oai/m1", skill, false, messages).to_string()
}

/// The system prompt that a Chat upstream received.
fn system_prompt(sent: &Value) -> String {
    let first = &sent["messages"][0];
    assert_eq!(first["role"], "system", "{sent}");
    match &first["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap().to_owned(),
    }
}

fn offered(prompt: &str) -> Vec<&str> {
    let lines = prompt.lines().filter_map(|line| line.strip_prefix("- "));
    lines.map(|line| line.split(':').next().unwrap()).collect()
}

fn load(name: &str) -> [(&'static str, Value); 1] {
    [("load_skill", json!({"name": name}))]
}

/// Lets the model make these calls, then answer; returns what it was sent on both turns.
async fn run_calls(
    gateway: &Gateway,
    client: ClientDialect,
    body: String,
    stream: bool,
    calls: &[(&str, Value)],
) -> (ClientResponse, Value, Value) {
    let upstream = &gateway.upstream;
    upstream.respond(model_response("oai/m1", stream, "Let me see.", calls));
    upstream.respond(model_response("oai/m1", stream, "Done.", &[]));
    let answer = gateway.post(path(client), body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(text_of(&answer).ends_with("Done."), "{}", answer.text());
    let (first, second) = (sent(gateway).await, sent(gateway).await);
    (answer, first, second)
}

#[tokio::test]
async fn the_fitting_skill_is_offered_within_the_budget_and_loaded() {
    let gateway = gateway_with_skills(Runs::default()).await;
    for client in [ClientDialect::Messages, ClientDialect::Chat] {
        for stream in [false, true] {
            let case = format!("{client:?} {stream}");
            let messages = json!([{"role": "user", "content": TASK}]);
            let body = request(client, "oai/m1", auto(), stream, messages).to_string();
            let (_, first, second) = run_calls(&gateway, client, body, stream, &load(GOLD)).await;
            let prompt = system_prompt(&first);
            let names = offered(&prompt);
            assert_eq!(names.first(), Some(&GOLD), "{case}: {prompt}");
            assert!(names.len() > 50, "{case}: {} are offered", names.len());
            assert!(
                prompt.len() <= CATALOGUE_BYTES + INTRO_BYTES,
                "{case}: {}",
                prompt.len()
            );
            assert!(
                prompt.lines().all(|line| line.len() <= 600),
                "{case}: each description is short"
            );
            let tools = first["tools"].as_array().unwrap().iter();
            let tools: Vec<_> = tools.map(|tool| &tool["function"]["name"]).collect();
            assert_eq!(tools, ["load_skill", "search_skills"], "{case}");
            assert!(!first.to_string().contains("The instructions of"), "{case}");
            let instructions = format!("The instructions of {GOLD}.");
            assert!(
                second.to_string().contains(&instructions),
                "{case}: {second}"
            );
            assert_eq!(system_prompt(&second), prompt, "{case}");
            assert_eq!(first["tools"], second["tools"], "{case}");
        }
    }
}

#[tokio::test]
async fn a_conversation_keeps_its_prompt_and_a_new_topic_is_a_note() {
    let gateway = gateway_with_skills(Runs::default()).await;
    let client = ClientDialect::Messages;
    let mut messages = json!([{"role": "user", "content": TASK}]);
    let body = request(client, "oai/m1", auto(), false, messages.clone()).to_string();
    let (answer, first, _) = run_calls(&gateway, client, body, false, &load(GOLD)).await;

    let later = messages.as_array_mut().unwrap();
    later.push(json!({"role": "assistant", "content": answer.json()["content"]}));
    later.push(json!({"role": "user", "content": "Now translate what the whale sings"}));
    let body = request(client, "oai/m1", auto(), false, messages.clone()).to_string();
    let calls = load("whale-songs");
    let (answer, next, loaded) = run_calls(&gateway, client, body, false, &calls).await;
    assert_eq!(system_prompt(&next), system_prompt(&first));
    assert_eq!(next["tools"], first["tools"]);
    let note = next["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .to_string();
    assert!(note.contains("More skills that may fit"), "{note}");
    assert!(note.contains("- whale-songs: Translates"), "{note}");
    assert!(!system_prompt(&first).contains("whale-songs"));
    assert!(
        loaded
            .to_string()
            .contains("The instructions of whale-songs.")
    );

    // What was sent before is the beginning of what is sent next.
    let later = messages.as_array_mut().unwrap();
    later.push(json!({"role": "assistant", "content": answer.json()["content"]}));
    later.push(json!({"role": "user", "content": "Thanks"}));
    let body = request(client, "oai/m1", auto(), false, messages).to_string();
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "You're welcome.", &[]));
    gateway.post(path(client), body).await;
    let last = sent(&gateway).await;
    assert_eq!(last["tools"], loaded["tools"]);
    let before = loaded["messages"].as_array().unwrap();
    let all = last["messages"].as_array().unwrap();
    assert_eq!(all.get(..before.len()), Some(before.as_slice()));
}

#[tokio::test]
async fn a_conversation_keeps_its_offer_when_other_skills_are_stored() {
    let gateway = gateway_with_skills(Runs::default()).await;
    let tenant = TenantId::default_tenant();
    for (client, name) in [
        (ClientDialect::Messages, "zebrafish-monthly"),
        (ClientDialect::Chat, "zebrafish-reconciler"),
    ] {
        let mut messages = json!([{"role": "user", "content": TASK}]);
        let body = request(client, "oai/m1", auto(), false, messages.clone()).to_string();
        let (_, first, _) = run_calls(&gateway, client, body, false, &load(GOLD)).await;
        let prompt = system_prompt(&first);
        assert!(!prompt.contains(name), "{prompt}");

        // It fits the first text too, but that has been routed.
        let description = "Reconciles the zebrafish ledger with the monthly report, twice.";
        store_plain(&gateway, &tenant, name, description).await;
        let later = messages.as_array_mut().unwrap();
        later.push(json!({"role": "assistant", "content": "Done."}));
        later.push(json!({"role": "user", "content": "And the zebrafish ledger twice?"}));
        let body = request(client, "oai/m1", auto(), false, messages).to_string();
        let calls = [load(name), load(GOLD)].concat();
        let (_, next, loaded) = run_calls(&gateway, client, body, false, &calls).await;
        assert_eq!(system_prompt(&next), prompt, "{client:?}");
        let note = next["messages"].as_array().unwrap().last().unwrap();
        assert!(note.to_string().contains(&format!("- {name}: ")), "{note}");
        for name in [name, GOLD] {
            let instructions = format!("The instructions of {name}.");
            assert!(loaded.to_string().contains(&instructions), "{loaded}");
        }

        // A new conversation is offered what is stored now.
        let answered = model_response("oai/m1", false, "Done.", &[]);
        gateway.upstream.respond(answered);
        gateway.post(path(client), ask(client, auto(), TASK)).await;
        let prompt = system_prompt(&sent(&gateway).await);
        assert!(prompt.contains(&format!("- {name}: ")), "{prompt}");
    }
}

#[tokio::test]
async fn search_skills_asks_the_store_and_what_it_finds_can_be_loaded() {
    let gateway = gateway_with_skills(Runs::default()).await;
    let upstream = &gateway.upstream;
    let search =
        |query: &str, limit: u32| [("search_skills", json!({"query": query, "limit": limit}))];
    upstream.respond(model_response(
        "oai/m1",
        false,
        "",
        &search("whale songs", 1),
    ));
    upstream.respond(model_response(
        "oai/m1",
        false,
        "",
        &search("monthly report", 900),
    ));
    upstream.respond(model_response("oai/m1", false, "", &search(" ", 3)));
    upstream.respond(model_response(
        "oai/m1",
        false,
        "",
        &search(&"x".repeat(2_001), 3),
    ));
    upstream.respond(model_response("oai/m1", false, "", &load("no-such-skill")));
    upstream.respond(model_response("oai/m1", false, "", &load("whale-songs")));
    upstream.respond(model_response("oai/m1", false, "Done.", &[]));
    let answer = gateway
        .post("/v1/messages", ask(ClientDialect::Messages, auto(), TASK))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut last = sent(&gateway).await;
    assert!(!last.to_string().contains("whale"));
    let mut results = Vec::new();
    for _ in 0..6 {
        last = sent(&gateway).await;
        let result = last["messages"].as_array().unwrap().last().unwrap();
        results.push(result["content"].as_str().unwrap().to_owned());
    }
    assert_eq!(
        results[0],
        "- whale-songs: Translates whale songs into sheet music. Use when a whale sings."
    );
    assert_eq!(results[1].lines().count(), 10, "{}", results[1]);
    insta::assert_snapshot!(results[2], @"Error: Error: argument `query` must have a word");
    insta::assert_snapshot!(results[3], @"Error: Error: argument `query` has 2001 bytes; at most 2000 are allowed");
    insta::assert_snapshot!(results[4], @"Error: Error: there is no skill `no-such-skill`. Find skills with `search_skills`");
    assert!(
        results[5].contains("The instructions of whale-songs."),
        "{}",
        results[5]
    );
    let run = answer.header("prowess-run").unwrap().to_owned();
    // It is written in the background.
    let read = loop {
        let read = gateway.get(&format!("/v1/runs/{run}"), &[]).await;
        if read.status == 200 && read.json()["status"] != "running" {
            break read.json();
        }
        tokio::task::yield_now().await;
    };
    let skills = read["skills"].as_array().unwrap();
    let loaded: Vec<_> = skills
        .iter()
        .filter(|skill| skill["loaded"] == true)
        .collect();
    assert_eq!(loaded.len(), 1, "{read}");
    assert_eq!(loaded[0]["name"], "whale-songs");
    assert!(
        loaded[0]["version"].as_str().unwrap().starts_with("skver_"),
        "{read}"
    );
    assert_eq!(read["events"][1]["kind"], "skills_offered");
    assert!(read["events"][1]["count"].as_u64().unwrap() > 50, "{read}");
}

#[tokio::test]
async fn mentions_triggers_and_filters_decide_what_is_offered() {
    let gateway = gateway_with_skills(Runs::default()).await;
    let tenant = TenantId::default_tenant();
    let text = "---\nname: heron\ndescription: Wades.\ntriggers: [monthly report]\nmetadata:\n  tags: birds\n---\nWade.\n";
    store_skill(&gateway, &tenant, "heron", text).await;
    let hidden = "---\nname: hidden\ndescription: Reconciles zebrafish ledger.\ndisable-model-invocation: true\n---\nNo.\n";
    store_skill(&gateway, &tenant, "hidden", hidden).await;
    let filtered = |filter: Value| json!({"skill_id": "auto", "filter": filter});
    let mentioned = format!("{TASK} /report-299 $whale-songs /usr/bin");
    for (skill, task, expected, others) in [
        (
            auto(),
            mentioned.as_str(),
            &["report-299", "whale-songs", "heron", GOLD][..],
            true,
        ),
        (
            filtered(json!({"names": ["zebra*", "whale-*"]})),
            TASK,
            &[GOLD],
            false,
        ),
        (
            filtered(json!({"tags": ["Birds"]})),
            "wades",
            &["heron"],
            false,
        ),
        (
            filtered(json!({"names": ["none-*"]})),
            "zebrafish /heron",
            &[],
            false,
        ),
    ] {
        gateway
            .upstream
            .respond(model_response("oai/m1", false, "Done.", &[]));
        let answer = gateway
            .post("/v1/messages", ask(ClientDialect::Messages, skill, task))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let prompt = system_prompt(&sent(&gateway).await);
        let names = offered(&prompt);
        assert_eq!(
            names.get(..expected.len()),
            Some(expected),
            "{task}: {prompt}"
        );
        assert_eq!(names.len() > expected.len(), others, "{task}: {prompt}");
        assert!(!prompt.contains("hidden"), "{prompt}");
    }
    let wrong = filtered(json!({"owner": "x"}));
    let answer = gateway
        .post("/v1/messages", ask(ClientDialect::Messages, wrong, TASK))
        .await;
    assert_eq!(answer.status, 400);
    assert!(
        answer.text().contains("container.skills[0].filter.owner"),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn named_skills_come_first_and_are_not_offered_again() {
    let gateway = gateway_with_skills(Runs::default()).await;
    let found = gateway.get("/v1/skills?limit=1", &[]).await.json();
    let id = found["data"][0]["id"].as_str().unwrap();
    let mut body: Value =
        serde_json::from_str(&ask(ClientDialect::Messages, auto(), TASK)).unwrap();
    let skills = body["container"]["skills"].as_array_mut().unwrap();
    skills.push(json!({"type": "custom", "skill_id": id}));
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Done.", &[]));
    gateway.post("/v1/messages", body.to_string()).await;
    let prompt = system_prompt(&sent(&gateway).await);
    let names = offered(&prompt);
    assert_eq!(names[..2], ["whale-songs", GOLD], "{prompt}");
    assert_eq!(
        names.iter().filter(|name| **name == "whale-songs").count(),
        1
    );
    assert!(prompt.len() <= CATALOGUE_BYTES + INTRO_BYTES);
}

#[tokio::test]
async fn another_tenants_skills_are_never_offered_found_or_loaded() {
    let gateway = gateway_with_skills(Runs::default()).await;
    let none = KeyLimits::default();
    let key = gateway.key("other", KeyScope::Use, &none).await;
    let other = TenantId::new("other").unwrap();
    store_plain(
        &gateway,
        &other,
        "zebra-stripes",
        "Paints the zebrafish ledger.",
    )
    .await;
    let upstream = &gateway.upstream;
    let search = [("search_skills", json!({"query": "zebrafish ledger report"}))];
    upstream.respond(model_response("oai/m1", false, "", &search));
    upstream.respond(model_response("oai/m1", false, "", &load(GOLD)));
    upstream.respond(model_response("oai/m1", false, "Done.", &[]));
    let task = format!("{TASK} /{GOLD}");
    let body = ask(ClientDialect::Messages, auto(), &task);
    let answer = gateway
        .send("/v1/messages", &[("x-api-key", &key)], body)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let first = sent(&gateway).await;
    assert_eq!(offered(&system_prompt(&first)), ["zebra-stripes"]);
    sent(&gateway).await;
    let last = sent(&gateway).await["messages"].clone();
    let results: Vec<_> = last
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["role"] == "tool")
        .collect();
    let text = |at: usize| results[at]["content"].as_str().unwrap();
    assert_eq!(text(0), "- zebra-stripes: Paints the zebrafish ledger.");
    assert!(
        text(1).starts_with(&format!("Error: Error: there is no skill `{GOLD}`")),
        "{}",
        text(1)
    );
    assert!(!last.to_string().contains("The instructions of"), "{last}");
}

#[tokio::test]
async fn the_operator_can_open_all_skills_for_every_run() {
    let runs = Runs {
        auto: true,
        ..Runs::default()
    };
    let gateway = gateway_with_skills(runs).await;
    let found = gateway.get("/v1/skills?limit=1", &[]).await.json();
    let id = found["data"][0]["id"].as_str().unwrap();
    let named = json!({"type": "custom", "skill_id": id});
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Done.", &[]));
    gateway
        .post("/v1/messages", ask(ClientDialect::Messages, named, TASK))
        .await;
    let prompt = system_prompt(&sent(&gateway).await);
    assert_eq!(offered(&prompt)[..2], ["whale-songs", GOLD], "{prompt}");
    // A request without skills is none of its business.
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Done.", &[]));
    let plain = json!({"model": "oai/m1", "messages": [{"role": "user", "content": TASK}]});
    gateway
        .post("/v1/chat/completions", plain.to_string())
        .await;
    assert!(
        !sent(&gateway)
            .await
            .to_string()
            .contains("zebrafish-ledger")
    );
}

/// What a request of a key with this setting offers.
async fn offered_to_key(gateway: &Gateway, auto: Option<bool>, skill: Value) -> Vec<String> {
    let new = NewKey {
        name: "test",
        scopes: &[KeyScope::Use],
        expires_in: None,
        auto,
    };
    let store = gateway.app.store();
    let made = store.create_key(&TenantId::default_tenant(), &new).await;
    let key = made.unwrap().1.reveal().to_owned();
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Done.", &[]));
    let body = ask(ClientDialect::Messages, skill, TASK);
    let answer = gateway
        .send("/v1/messages", &[("x-api-key", &key)], body)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let prompt = system_prompt(&sent(gateway).await);
    offered(&prompt).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_request_decides_before_the_key_and_the_key_before_the_operator() {
    for operator in [false, true] {
        let runs = Runs {
            auto: operator,
            ..Runs::default()
        };
        let gateway = gateway_with_skills(runs).await;
        let found = gateway.get("/v1/skills?limit=1", &[]).await.json();
        let named = json!({"type": "custom", "skill_id": found["data"][0]["id"]});
        for key in [None, Some(false), Some(true)] {
            let case = format!("operator {operator}, key {key:?}");
            let names = offered_to_key(&gateway, key, named.clone()).await;
            assert_eq!(names[0], "whale-songs", "{case}");
            let is_open = key.unwrap_or(operator);
            assert_eq!(names.len() > 50, is_open, "{case}: {names:?}");
            assert_eq!(names.iter().any(|name| name == GOLD), is_open, "{case}");
            let names = offered_to_key(&gateway, key, auto()).await;
            assert_eq!(names[0], GOLD, "{case}");
        }
    }
}

#[tokio::test]
async fn a_declared_trigger_is_offered_whatever_its_rank() {
    let tenant = TenantId::default_tenant();
    let task = "Summarise the quarterly plumage of the colony";
    let mut gateway = gateway_with_skills(Runs::default()).await;
    let heron = |triggers: &str| {
        format!("---\nname: heron\ndescription: Wades.\n{triggers}---\nSee the colony.\n")
    };
    let text = heron("");
    store_skill(&gateway, &tenant, "heron", &text).await;
    let text = heron("triggers: [quarterly plumage]\n").replace("heron", "egret");
    store_skill(&gateway, &tenant, "egret", &text).await;
    // It has no word of the task but its trigger.
    let crane = "---\nname: crane\ndescription: Lifts.\nmetadata:\n  keywords: Plumage of the colony\n---\nGo.\n";
    store_skill(&gateway, &tenant, "crane", crane).await;
    // They fit better, and there are more of them than a catalogue has.
    for number in 0..150 {
        let description = format!(
            "Summarises the quarterly plumage of colony {number}. It counts feathers, compares \
             them with those of earlier years and draws a chart of what was found."
        );
        store_plain(&gateway, &tenant, &format!("ibis-{number}"), &description).await;
    }
    // Within the budget, and without any.
    for catalogue_tokens in [4_000, 1] {
        let runs = Runs {
            catalogue_tokens,
            ..Runs::default()
        };
        gateway = gateway.restarted_with(runs).await;
        gateway
            .upstream
            .respond(model_response("oai/m1", false, "Done.", &[]));
        let body = ask(ClientDialect::Messages, auto(), task);
        gateway.post("/v1/messages", body).await;
        let prompt = system_prompt(&sent(&gateway).await);
        let mut names = offered(&prompt);
        assert!(names.len() < 150 && !names.contains(&"heron"), "{prompt}");
        assert_eq!(names.len() > 2, catalogue_tokens > 1, "{prompt}");
        names.truncate(2);
        names.sort_unstable();
        assert_eq!(names, ["crane", "egret"], "{prompt}");
    }
}

#[tokio::test]
async fn what_a_long_text_mentions_or_triggers_is_offered() {
    let tenant = TenantId::default_tenant();
    // No space for what only fits.
    let gateway = gateway_with_skills(Runs {
        catalogue_tokens: 1,
        ..Runs::default()
    })
    .await;
    for (name, trigger) in [("heron", "plumage report"), ("crane", "月度报表")] {
        let text =
            format!("---\nname: {name}\ndescription: Wades.\ntriggers: [{trigger}]\n---\nGo.\n");
        store_skill(&gateway, &tenant, name, &text).await;
    }
    let words: Vec<_> = (0..150).map(|number| format!("word{number}")).collect();
    let words = words.join(" ");
    let pasted = "Some text that was pasted. ".repeat(400);
    for (task, expected) in [
        (
            format!("{words}. Now the Plumage Reports: 请生成月度报表"),
            &["crane", "heron"][..],
        ),
        (
            format!("{pasted} /whale-songs {pasted} $report-7"),
            &["report-7", "whale-songs"],
        ),
    ] {
        gateway
            .upstream
            .respond(model_response("oai/m1", false, "Done.", &[]));
        let body = ask(ClientDialect::Messages, auto(), &task);
        gateway.post("/v1/messages", body).await;
        let prompt = system_prompt(&sent(&gateway).await);
        let mut names = offered(&prompt);
        names.sort_unstable();
        assert_eq!(names, expected, "{prompt}");
    }
}

#[tokio::test]
async fn few_skills_are_all_offered_and_none_at_all_is_no_error() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Done.", &[]));
    let hello = || ask(ClientDialect::Chat, auto(), "Hello!");
    let answer = gateway.post("/v1/chat/completions", hello()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(sent(&gateway).await.get("tools"), None);
    let tenant = TenantId::default_tenant();
    for name in ["ant", "bee", "cat"] {
        store_plain(&gateway, &tenant, name, "Does something else.").await;
    }
    gateway
        .upstream
        .respond(model_response("oai/m1", false, "Done.", &[]));
    gateway.post("/v1/chat/completions", hello()).await;
    let prompt = system_prompt(&sent(&gateway).await);
    assert_eq!(offered(&prompt), ["ant", "bee", "cat"]);
}
