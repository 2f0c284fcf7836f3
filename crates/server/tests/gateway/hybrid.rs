//! Searching stored skills by words and vectors together.

use std::time::Duration;

use prowess_engine::{EmbeddingSettings, EngineSettings};
use prowess_provider::config::{
    OpenAiOptions, Policies, ProviderConfig, ProviderKind, ProvidersConfig, RetryPolicy,
    ScriptedOptions,
};
use prowess_provider::{Env, Providers};
use prowess_server::ServerSettings;
use prowess_skill::{LoadOptions, Skill};
use prowess_store::{KeyLimits, KeyScope, NewSkill, TenantId};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::runs::model_response;

/// Words without a common word that mean the same to the embedding model.
const SYNONYMS: &str = "[embeddings]\nsynonyms = [[\"car\", \"automobile\"]]\n";
/// Longer than any call of a scripted model takes.
const PATIENT: Duration = Duration::from_secs(60);

const ACTIONS: [&str; 8] = [
    "merge",
    "split",
    "translate",
    "sign",
    "encrypt",
    "publish",
    "archive",
    "compare",
];
const OBJECTS: [&str; 8] = [
    "pdf",
    "invoice",
    "calendar",
    "photo",
    "contract",
    "podcast",
    "spreadsheet",
    "recipe",
];

fn settings(kind: ProviderKind, url: Option<&str>, deadline: Duration) -> ServerSettings {
    let mut embedder = ProviderConfig {
        policies: Policies {
            retry: RetryPolicy {
                max_attempts: 1,
                ..RetryPolicy::default()
            },
            ..Policies::default()
        },
        ..ProviderConfig::new("vec", kind)
    };
    if let Some(url) = url {
        embedder = embedder
            .with_base_url(format!("{url}/v1"))
            .with_api_key("k");
    }
    let mut providers = vec![embedder];
    if let Some(url) = url {
        let chat = ProviderKind::new(OpenAiOptions::default());
        let chat = ProviderConfig::new("oai", chat).with_base_url(format!("{url}/v1"));
        providers.push(chat.with_api_key("k"));
    }
    let providers = Providers::new(ProvidersConfig {
        providers,
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    });
    ServerSettings {
        providers: Some(providers.unwrap()),
        runs: EngineSettings {
            embedding: Some(EmbeddingSettings {
                model: "vec/words".to_owned(),
                deadline,
            }),
            ..EngineSettings::default()
        },
        ..ServerSettings::default()
    }
}

async fn scripted(script: &str) -> Gateway {
    let script = ScriptedOptions::Text(script.to_owned());
    Gateway::with(settings(ProviderKind::new(script), None, PATIENT)).await
}

/// A gateway whose embedding model is a mock upstream.
async fn mocked(upstream: &MockUpstream, deadline: Duration) -> Gateway {
    let kind = ProviderKind::new(OpenAiOptions::default());
    Gateway::with(settings(kind, Some(upstream.url()), deadline)).await
}

async fn store_skill(gateway: &Gateway, tenant: &str, name: &str, description: &str) -> String {
    let text = format!("---\nname: {name}\ndescription: {description}\n---\nDo it well.\n");
    let skill = Skill::from_text(&text, &LoadOptions::default())
        .skill
        .unwrap();
    let tenant = TenantId::new(tenant).unwrap();
    let store = gateway.app.store();
    store.ensure_tenant(&tenant, "").await.unwrap();
    let made = store
        .create_skill(&tenant, &NewSkill::from_skill(&skill))
        .await;
    made.unwrap().skill.id
}

/// One skill for each action and object.
async fn store_labelled(gateway: &Gateway) {
    for action in ACTIONS {
        for object in OBJECTS {
            let name = format!("{action}-{object}");
            let description = format!("Can {action} any {object}. Use for one or many.");
            store_skill(gateway, "default", &name, &description).await;
        }
    }
}

async fn write_vectors(gateway: &Gateway) -> u64 {
    gateway.app.engine().write_missing_vectors().await.unwrap()
}

async fn search(gateway: &Gateway, query: &str) -> Value {
    let query = query.replace(' ', "+");
    let path = format!("/v1/skills/search?query={query}&limit=20");
    let answer = gateway.get(&path, &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn names(answer: &Value) -> Vec<&str> {
    let data = answer["data"].as_array().unwrap().iter();
    data.map(|skill| skill["name"].as_str().unwrap()).collect()
}

/// What words alone find: names and scores.
async fn by_words(gateway: &Gateway, query: &str) -> Vec<(String, f64)> {
    let tenant = TenantId::default_tenant();
    let routed = gateway.app.store().route_skills(&tenant, query, 20).await;
    let routed = routed.unwrap().into_iter();
    routed.map(|skill| (skill.name, skill.score)).collect()
}

async fn assert_by_words(gateway: &Gateway, query: &str) {
    let answer = search(gateway, query).await;
    let expected = by_words(gateway, query).await;
    assert!(!expected.is_empty());
    let data = answer["data"].as_array().unwrap().iter();
    let found = data.map(|skill| {
        assert_eq!(skill["similarity"], Value::Null);
        let name = skill["name"].as_str().unwrap().to_owned();
        (name, skill["score"].as_f64().unwrap())
    });
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(answer["vectors"], false);
}

/// Questions, and the skill that each is about.
fn questions() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for action in ACTIONS {
        for object in OBJECTS {
            let gold = format!("{action}-{object}");
            all.push((
                format!("Please {action} this {object} for me"),
                gold.clone(),
            ));
            all.push((
                format!("I have many {object}s that I want to {action}"),
                gold,
            ));
        }
    }
    all
}

/// How many of the questions have their skill first, and among the first five.
async fn hits(gateway: &Gateway, with_vectors: bool) -> (usize, usize) {
    let (mut first, mut among_five) = (0, 0);
    for (question, gold) in questions() {
        let found: Vec<String> = if with_vectors {
            let answer = search(gateway, &question).await;
            names(&answer).into_iter().map(str::to_owned).collect()
        } else {
            let found = by_words(gateway, &question).await;
            found.into_iter().map(|(name, _)| name).collect()
        };
        first += usize::from(found.first() == Some(&gold));
        among_five += usize::from(found.iter().take(5).any(|name| *name == gold));
    }
    (first, among_five)
}

#[tokio::test]
async fn a_task_in_other_words_is_found_by_its_vector() {
    let gateway = scripted(SYNONYMS).await;
    store_labelled(&gateway).await;
    store_skill(&gateway, "default", "car-wash", "Washes a car.").await;
    let query = "automobile";
    assert_eq!(by_words(&gateway, query).await, []);
    assert_eq!(names(&search(&gateway, query).await), [""; 0]);
    assert_eq!(write_vectors(&gateway).await, 65);
    let answer = search(&gateway, query).await;
    assert_eq!(names(&answer), ["car-wash"], "{answer}");
    assert_eq!(answer["vectors"], true);
    let best = &answer["data"][0];
    assert!(best["similarity"].as_f64().unwrap() > 0.2, "{best}");
    assert_eq!(best["matched"], json!([]));
    // Words count as before.
    let answer = search(&gateway, "merge pdf").await;
    assert_eq!(answer["data"][0]["name"], "merge-pdf");
    assert!(!answer["data"][0]["matched"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn vectors_do_not_make_the_ranking_worse() {
    // Vectors by words, the same vector for every text, and vectors that mean nothing.
    let upstream = MockUpstream::start().await;
    for kind in 0..3 {
        let gateway = match kind {
            0 => scripted("").await,
            _ => mocked(&upstream, PATIENT).await,
        };
        upstream.respond_with(move |request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let texts = body["input"].as_array().unwrap().iter();
            let data: Vec<_> = texts
                .map(|text| json!({ "embedding": meaningless(text.as_str().unwrap(), kind == 2) }))
                .collect();
            MockResponse::json(200, &json!({ "data": data }).to_string())
        });
        store_labelled(&gateway).await;
        assert_eq!(write_vectors(&gateway).await, 64);
        let (words, hybrid) = (hits(&gateway, false).await, hits(&gateway, true).await);
        let points = |hits: usize| 100.0 * hits as f64 / questions().len() as f64;
        let case = format!("{kind}: {words:?} {hybrid:?}");
        assert!(points(hybrid.0) >= points(words.0) - 1.0, "{case}");
        assert!(points(hybrid.1) >= points(words.1) - 1.0, "{case}");
    }
}

fn meaningless(text: &str, by_text: bool) -> Vec<f32> {
    let seed = text.bytes().fold(17_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut state = if by_text { seed | 1 } else { 1 };
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..256).map(|_| next()).collect()
}

#[tokio::test]
async fn without_the_model_words_alone_decide() {
    let down = "[embeddings]\nerror = { status = 503, message = \"down\" }\n";
    let gateway = scripted(down).await;
    store_labelled(&gateway).await;
    let failed = gateway.app.engine().write_missing_vectors().await;
    assert!(failed.unwrap_err().to_string().ends_with("down"));
    assert_by_words(&gateway, "merge these pdf files").await;

    // It fails later: the vectors of skills are there, that of the query is not.
    let upstream = MockUpstream::start().await;
    let gateway = mocked(&upstream, Duration::from_millis(30)).await;
    store_labelled(&gateway).await;
    upstream.respond_with(prowess_testkit::embedding_vendors::respond);
    write_vectors(&gateway).await;
    upstream.requests().await;
    upstream.respond_always(MockResponse::never());
    assert_by_words(&gateway, "merge these pdf files").await;
    assert_eq!(upstream.requests().await.len(), 1, "it was called");
    // The search did not wait for it any longer, so the next one does not even call it.
    assert_by_words(&gateway, "translate a recipe").await;
}

#[tokio::test]
async fn tenants_find_their_own_skills_and_share_only_the_work() {
    let upstream = MockUpstream::start().await;
    upstream.respond_with(prowess_testkit::embedding_vendors::respond);
    let gateway = mocked(&upstream, PATIENT).await;
    let key = gateway
        .key("beta", KeyScope::Read, &KeyLimits::default())
        .await;
    store_skill(&gateway, "alpha", "car-wash", "Washes a car.").await;
    store_skill(
        &gateway,
        "alpha",
        "long-name-of-a-skill",
        "Does something else entirely.",
    )
    .await;
    for tenant in ["alpha", "beta"] {
        store_skill(&gateway, tenant, "shared", "The same text in both tenants.").await;
    }
    assert_eq!(write_vectors(&gateway).await, 4);
    let calls = upstream.requests().await;
    let texts = calls.iter().map(|call| {
        let body: Value = serde_json::from_slice(&call.body).unwrap();
        body["input"].as_array().unwrap().len()
    });
    assert_eq!(texts.sum::<usize>(), 3, "the shared text is embedded once");
    let bearer = format!("Bearer {key}");
    for query in ["car", "something+else", "Washes+a+car"] {
        let path = format!("/v1/skills/search?query={query}");
        let answer = gateway
            .get(&path, &[("authorization", &bearer)])
            .await
            .json();
        for name in names(&answer) {
            assert_eq!(name, "shared", "{answer}");
        }
    }
}

#[tokio::test]
async fn a_changed_skill_waits_for_its_new_vector() {
    let gateway = scripted(SYNONYMS).await;
    store_labelled(&gateway).await;
    let id = store_skill(&gateway, "default", "vehicle", "Washes a car.").await;
    write_vectors(&gateway).await;
    assert_eq!(names(&search(&gateway, "automobile").await), ["vehicle"]);
    let text = "---\nname: vehicle\ndescription: Paints a boat.\n---\nDo it well.\n";
    let skill = Skill::from_text(text, &LoadOptions::default())
        .skill
        .unwrap();
    let store = gateway.app.store();
    let tenant = TenantId::default_tenant();
    let new = prowess_store::NewVersion::from_skill(&skill);
    store.create_version(&tenant, &id, &new).await.unwrap();
    assert_eq!(names(&search(&gateway, "automobile").await), [""; 0]);
    assert_eq!(write_vectors(&gateway).await, 1);
    assert_eq!(names(&search(&gateway, "automobile").await), [""; 0]);
}

#[tokio::test]
async fn routing_offers_what_vectors_find_within_the_filter() {
    let upstream = MockUpstream::start().await;
    let gateway = mocked(&upstream, PATIENT).await;
    // Some vectors of their own for two texts, and another for all others.
    upstream.respond_with(|request| {
        if request.path.ends_with("/chat/completions") {
            return model_response("oai/m1", false, "Done.", &[]);
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let texts = body["input"].as_array().unwrap().iter();
        let data: Vec<_> = texts
            .map(|text| {
                let text = text.as_str().unwrap();
                let is_about = text.contains("limousine") || text.contains("zzz");
                json!({ "embedding": if is_about { [1.0, 0.1] } else { [0.1, 1.0] } })
            })
            .collect();
        MockResponse::json(200, &json!({ "data": data }).to_string())
    });
    store_labelled(&gateway).await;
    for number in 0..4 {
        let description = format!("Handles case {number} of nothing.");
        store_skill(&gateway, "default", &format!("case-{number}"), &description).await;
    }
    store_skill(&gateway, "default", "limo", "Orders a limousine.").await;
    write_vectors(&gateway).await;
    upstream.requests().await;
    for (filter, is_offered) in [(json!({}), true), (json!({"names": ["case-*"]}), false)] {
        let skill = json!({"type": "custom", "skill_id": "auto", "filter": filter});
        let request = json!({
            "model": "oai/m1", "container": {"skills": [skill]},
            "messages": [{"role": "user", "content": "zzz"}],
        });
        let answer = gateway
            .post("/v1/chat/completions", request.to_string())
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let calls = upstream.requests().await;
        let call = calls
            .iter()
            .find(|call| call.path.ends_with("/chat/completions"));
        assert_eq!(call.unwrap().text().contains("- limo:"), is_offered);
    }
}
