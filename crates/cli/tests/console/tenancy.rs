//! Who sees and changes what: another tenant's ids do not exist, a key that only reads changes
//! nothing, two sessions do not mix, and the cookie is good for the console alone.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;

use crate::crawl::{ChangeForm, change_forms, crawl};
use crate::stage::{OPERATOR, Stage};
use crate::story::{SCRIPT, report};

/// A word that only the first tenant's data has.
const SECRET: &str = "quarterly-figures-of-acme";

/// Prefixes of ids that name an object of a tenant.
const IDS: [&str; 5] = ["skill_", "run_", "file_", "container_", "key_"];

/// Where the pages of an administrator begin.
const START: [&str; 9] = [
    "/console/skills",
    "/console/upload",
    "/console/playground",
    "/console/runs",
    "/console/containers",
    "/console/usage",
    "/console/keys",
    "/console/audit",
    "/console/settings",
];

/// Two tenants; the first has a skill, a run with files, and keys.
struct Tenants {
    stage: Stage,
    acme: String,
    other: String,
    skill: String,
    run: String,
}

impl Tenants {
    async fn start() -> Tenants {
        let stage = Stage::start(SCRIPT);
        let acme = stage.key("acme admin", "acme", "admin");
        let other = stage.key("other admin", "other", "admin");
        let skill = report().field("description", &format!("For reports: {SECRET}."));
        let skill = stage.upload(&acme, &skill).await;
        stage
            .ask(&acme, &skill, &format!("make it: {SECRET}"))
            .await;
        let run = stage.runs(&acme, 1).await.remove(0);
        Tenants {
            stage,
            acme,
            other,
            skill,
            run,
        }
    }

    /// Everything that a change could have changed.
    async fn state(&self) -> String {
        let mut state = String::new();
        for path in [
            "/v1/skills",
            &format!("/v1/skills/{}/versions", self.skill),
            "/v1/admin/keys",
            "/v1/runs",
        ] {
            let mut listed: Value = self.stage.get(&self.acme, path).await;
            // Signing in uses a key.
            for item in listed["data"].as_array_mut().unwrap() {
                item["last_used_at"].take();
            }
            state.push_str(&listed.to_string());
            state.push('\n');
        }
        state
    }

    /// Every form that changes something, on every page that an administrator sees, and what
    /// scripts of pages send.
    async fn changes(&self) -> Vec<ChangeForm> {
        let session = self.stage.sign_in(&self.acme).await;
        let mut changes = BTreeSet::new();
        for (_, page) in crawl(&session, &START).await {
            changes.extend(change_forms(&page.text()));
        }
        changes.insert(ChangeForm {
            action: format!("/console/runs/{}/cancel", self.run),
            fields: Vec::new(),
        });
        // One of each kind is enough: ids and numbers apart, many are the same.
        let mut kinds = BTreeSet::new();
        let is_new = |change: &ChangeForm| {
            let parts = change.action.split('/');
            let name = |part: &str| match part.contains(|c: char| c.is_ascii_digit() || c == '_') {
                true => "*".to_owned(),
                false => part.to_owned(),
            };
            kinds.insert(parts.map(name).collect::<Vec<_>>())
        };
        let changes: Vec<ChangeForm> = changes.into_iter().filter(is_new).collect();
        assert!(changes.len() >= 10, "{changes:#?}");
        changes
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenant_s_pages_do_not_exist() {
    let tenants = Tenants::start().await;
    let acme = tenants.stage.sign_in(&tenants.acme).await;
    let other = tenants.stage.sign_in(&tenants.other).await;
    let pages = crawl(&acme, &START).await;
    let mut objects = 0;
    for (path, seen) in &pages {
        assert!(seen.status < 400, "{path}: {}", seen.status);
        let answer = other.get(path).await;
        let text = answer.text();
        assert!(!text.contains(SECRET), "{path}");
        // An error names the id that was asked for.
        let is_new = !path.contains(&tenants.run);
        assert!(!(is_new && text.contains(&tenants.run)), "{path}");
        let names = path.split('?').next().unwrap();
        if IDS.iter().any(|prefix| names.contains(prefix)) {
            assert_eq!(answer.status, 404, "{path}: {text}");
            objects += 1;
        }
    }
    assert!(objects >= 6, "{objects}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sessions_at_once_never_mix() {
    let tenants = Tenants::start().await;
    let acme = tenants.stage.sign_in(&tenants.acme).await;
    let other = tenants.stage.sign_in(&tenants.other).await;
    for _ in 0..10 {
        for path in [
            "/console/skills",
            "/console/runs",
            "/console/keys",
            "/console/usage",
        ] {
            let (ours, theirs) = futures_util::future::join(acme.get(path), other.get(path)).await;
            assert_eq!((ours.status, theirs.status), (200, 200), "{path}");
            assert!(theirs.text().contains("other admin"), "{path}");
            assert!(!theirs.text().contains("acme"), "{path}");
            assert!(!theirs.text().contains(SECRET), "{path}");
            assert!(ours.text().contains("acme admin"), "{path}");
        }
    }
    assert!(acme.get("/console/skills").await.text().contains(SECRET));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_only_reads_changes_nothing() {
    let tenants = Tenants::start().await;
    let key = tenants.stage.key("reader", "acme", "read");
    let before = tenants.state().await;
    let reader = tenants.stage.sign_in(&key).await;
    for change in tenants.changes().await {
        let fields: Vec<(&str, &str)> = change
            .fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let answer = reader.post(&change.action, &fields).await;
        let text = answer.text();
        assert!((400..500).contains(&answer.status), "{change:?}: {text}");
    }
    let page = reader.get("/console/skills").await.text();
    assert!(
        page.contains("read only") && page.contains(SECRET),
        "{page}"
    );
    assert_eq!(tenants.state().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_come_from_pages_of_the_console_only() {
    let tenants = Tenants::start().await;
    let before = tenants.state().await;
    let session = tenants.stage.sign_in(&tenants.acme).await;
    for ChangeForm { action: path, .. } in tenants.changes().await {
        for site in ["cross-site", "same-site", "none"] {
            let answer = session.post_from(site, &path).await;
            assert_eq!(answer.status, 403, "{path} from {site}");
        }
        let request = session.request(Method::POST, &path).body("");
        assert_eq!(session.send(request).await.status, 403, "{path}");
        let foreign = session.request(Method::POST, &path).body("");
        let foreign = foreign.header("origin", "https://attacker.invalid");
        assert_eq!(session.send(foreign).await.status, 403, "{path}");
    }
    assert_eq!(tenants.state().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cookie_is_good_for_the_console_and_ends_with_its_key() {
    let tenants = Tenants::start().await;
    let stage = &tenants.stage;
    let made = serde_json::json!({"name": "short", "scopes": ["admin"]});
    let made = stage
        .api(&tenants.acme, Method::POST, "/v1/admin/keys", made)
        .await;
    let session = stage
        .sign_in(made["secret"].as_str().or(made["key"].as_str()).unwrap())
        .await;
    assert_eq!(session.get("/console/skills").await.status, 200);
    for path in [
        "/v1/skills",
        "/v1/runs",
        "/v1/admin/keys",
        "/mcp",
        "/v1/models",
    ] {
        let answer = session.get(path).await;
        assert_eq!(answer.status, 401, "{path}: {}", answer.text());
    }
    let gone = format!("/v1/admin/keys/{}", made["id"].as_str().unwrap());
    stage
        .api(&tenants.acme, Method::DELETE, &gone, Value::Null)
        .await;
    let answer = session.get("/console/skills").await;
    assert_eq!(answer.status, 303);
    assert!(answer.header("location").starts_with("/console/sign-in"));

    let session = stage.sign_in(&tenants.acme).await;
    assert_eq!(session.post("/console/sign-out", &[]).await.status, 303);
    assert_eq!(session.get("/console/skills").await.status, 303);
    assert_eq!(
        stage
            .sign_in(OPERATOR)
            .await
            .get("/console/skills")
            .await
            .status,
        200
    );
}
