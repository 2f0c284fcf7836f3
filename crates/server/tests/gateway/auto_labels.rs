//! Requests with `auto` and a label: only skills that have it are open, in the versions that it
//! points to. Here without a sandbox: skills are read, not run.

use prowess_skill::{LoadOptions, Skill};
use prowess_store::{LabelName, NewSkill, NewVersion, TenantId, VersionSelector};
use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::runs::{model_response, sent};

/// More than are offered whatever the task.
const OTHERS: usize = 70;
const TASK: &str = "Reconcile the zebrafish ledger, then count the zebras";

const MESSAGES: &str = "/v1/messages";
const CHAT: &str = "/v1/chat/completions";
const GEMINI: &str = "/v1beta/models/oai/m1:generateContent";

fn skill(name: &str, version: u32) -> Skill {
    let text = format!(
        "---\nname: {name}\ndescription: Reconciles zebrafish, edition {version}.\n---\n\
         Instructions {version} of {name}.\n"
    );
    let loaded = Skill::from_text(&text, &LoadOptions::default());
    loaded.skill.unwrap()
}

/// Stores a skill with two versions, and gives one of them a label.
async fn store(gateway: &Gateway, name: &str, label: Option<(&str, &str)>) -> String {
    let (store, tenant) = (gateway.app.store(), TenantId::default_tenant());
    let (first, second) = (skill(name, 1), skill(name, 2));
    let first = NewSkill::from_skill(&first);
    let made = store.create_skill(&tenant, &first).await;
    let id = made.unwrap().skill.id;
    let second = NewVersion::from_skill(&second);
    store.create_version(&tenant, &id, &second).await.unwrap();
    if let Some((label, version)) = label {
        let label = LabelName::parse(label).unwrap();
        let version = VersionSelector::parse(version).unwrap();
        let set = store.set_label(&tenant, &id, &label, &version).await;
        set.unwrap();
    }
    id
}

fn body(path: &str, version: &str) -> Value {
    let skill = json!({"type": "custom", "skill_id": "auto", "version": version});
    let container = json!({"skills": [skill]});
    match path {
        GEMINI => json!({
            "container": container, "contents": [{"role": "user", "parts": [{"text": TASK}]}],
        }),
        _ => json!({
            "model": "oai/m1", "max_tokens": 50, "container": container,
            "messages": [{"role": "user", "content": TASK}],
        }),
    }
}

/// Has the model search and load, and returns the system prompt and the results of its calls.
async fn run(gateway: &Gateway, path: &str, version: &str, load: &str) -> (String, Vec<String>) {
    let upstream = &gateway.upstream;
    let calls = [
        ("search_skills", json!({"query": "zebrafish"})),
        ("load_skill", json!({"name": load})),
    ];
    upstream.respond(model_response("oai/m1", false, "", &calls));
    upstream.respond(model_response("oai/m1", false, "Done.", &[]));
    let answer = gateway.post(path, body(path, version).to_string()).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    let prompt = sent(gateway).await["messages"][0]["content"].to_string();
    let second = sent(gateway).await;
    let messages = second["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    let results = results.map(|message| message["content"].as_str().unwrap().to_owned());
    (prompt, results.collect())
}

#[tokio::test]
async fn a_label_opens_the_skills_that_have_it_in_its_versions() {
    let gateway = Gateway::start().await;
    store(&gateway, "zebra-ledger", Some(("production", "1"))).await;
    store(&gateway, "zebra-trial", Some(("staging", "2"))).await;
    store(&gateway, "zebra-plain", None).await;
    let small = "with few skills";
    for case in [small, "with many"] {
        if case != small {
            for number in 0..OTHERS {
                store(&gateway, &format!("zebra-{number}"), None).await;
            }
        }
        for path in [MESSAGES, CHAT, GEMINI] {
            let (prompt, results) = run(&gateway, path, "production", "zebra-ledger").await;
            assert!(prompt.contains("edition 1"), "{case} {path}: {prompt}");
            for other in ["edition 2", "zebra-trial", "zebra-plain", "zebra-0"] {
                assert!(!prompt.contains(other), "{case} {path}: {other}: {prompt}");
            }
            let found = "- zebra-ledger: Reconciles zebrafish, edition 1.";
            assert_eq!(results[0], found, "{case} {path}");
            let loaded = "Instructions 1 of zebra-ledger.";
            assert!(results[1].contains(loaded), "{case} {path}: {results:?}");
        }
        // A skill without the label cannot be loaded by its name either.
        let (_, results) = run(&gateway, MESSAGES, "production", "zebra-plain").await;
        assert!(results[1].contains("there is no skill"), "{results:?}");
        let (prompt, results) = run(&gateway, MESSAGES, "latest", "zebra-ledger").await;
        assert!(prompt.contains("edition 2"), "{case}: {prompt}");
        assert!(results[1].contains("Instructions 2"), "{case}: {results:?}");
    }
}

#[tokio::test]
async fn a_filter_can_name_the_label() {
    let gateway = Gateway::start().await;
    store(&gateway, "zebra-ledger", Some(("production", "1"))).await;
    store(&gateway, "zebra-plain", None).await;
    let done = || model_response("oai/m1", false, "Done.", &[]);
    for path in [MESSAGES, CHAT, GEMINI] {
        gateway.upstream.respond(done());
        let mut request = body(path, "latest");
        request["container"]["skills"][0]["filter"] = json!({"label": "production"});
        let answer = gateway.post(path, request.to_string()).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let prompt = sent(&gateway).await["messages"][0]["content"].to_string();
        let line = "- zebra-ledger: Reconciles zebrafish, edition 1.";
        assert!(prompt.contains(line), "{path}: {prompt}");
        assert!(!prompt.contains("zebra-plain"), "{path}: {prompt}");
    }
}

#[tokio::test]
async fn other_versions_cannot_be_chosen_for_all_skills() {
    let gateway = Gateway::start().await;
    for version in ["2", "default", "No label"] {
        for path in [MESSAGES, CHAT, GEMINI] {
            let answer = gateway.post(path, body(path, version).to_string()).await;
            assert_eq!(answer.status, 400, "{path} {version}");
            let text = answer.text();
            assert!(text.contains("container.skills[0].version"), "{text}");
            assert!(text.contains("must be `latest` or a label"), "{text}");
        }
    }
}
