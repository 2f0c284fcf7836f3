//! `/v1/admin`: keys, tenants, providers, the configuration and the audit log.

use std::sync::{Arc, LazyLock};

use axum::http::{Method, StatusCode};
use prowess_provider::Providers;
use prowess_provider::config::{ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions};
use prowess_server::{ChecksFuture, InstallationChecks, PartReport, SecretString, ServerSettings};
use prowess_store::{KeyScope, TenantId};
use prowess_testkit::SkillFixture;
use prowess_testkit::postgres::TestPostgres;
use serde_json::{Value, json};

use crate::client::{ClientResponse, Form, Server, TestDialect};

const MASTER: &str = "the-master-key-of-these-tests";
const OPEN_AI: TestDialect = TestDialect::OpenAi;

/// One database server for the tests of a process.
static POSTGRES: LazyLock<TestPostgres> = LazyLock::new(TestPostgres::start);

fn settings() -> ServerSettings {
    ServerSettings {
        master_key: Some(SecretString::new(MASTER)),
        configuration: json!({ "server": { "master_key": "env:PROWESS_MASTER_KEY" } }),
        ..ServerSettings::default()
    }
}

async fn locked() -> Server {
    Server::with(settings()).await
}

/// Generates two tests for each behaviour.
macro_rules! on_both_databases {
    ($($behaviour:ident,)+) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $behaviour() {
                super::$behaviour(super::locked().await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test]
            async fn $behaviour() {
                let server = super::Server::with_store(super::settings(), |config| {
                    config.database = super::POSTGRES.database();
                });
                super::$behaviour(server.await).await;
            })+
        }
    };
}

on_both_databases! {
    a_key_is_created_listed_changed_rotated_and_revoked,
    keys_are_listed_in_pages,
    an_admin_key_manages_its_own_tenant_only,
    no_key_grants_more_than_it_has,
    a_secret_that_was_replaced_gets_no_new_one,
    the_audit_log_has_every_change_and_every_refusal,
    the_audit_log_is_filtered_and_exported_as_lines,
    what_is_about_the_whole_server_is_for_its_owner,
}

/// A request with a JSON body, or without one.
async fn call(
    server: &Server,
    key: &str,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> ClientResponse {
    let call = server.request(OPEN_AI, method, &format!("/v1/admin{path}"));
    let call = call.key(key).header("user-agent", "tests/1");
    match body {
        Some(body) => call.json(&body).await,
        None => call.send().await,
    }
}

async fn get(server: &Server, key: &str, path: &str) -> ClientResponse {
    call(server, key, Method::GET, path, None).await
}

async fn create(server: &Server, key: &str, body: Value) -> ClientResponse {
    call(server, key, Method::POST, "/keys", Some(body)).await
}

async fn patch(server: &Server, key: &str, id: &str, body: Value) -> ClientResponse {
    let path = format!("/keys/{id}");
    call(server, key, Method::PATCH, &path, Some(body)).await
}

async fn rotate(server: &Server, key: &str, id: &str, body: Option<Value>) -> ClientResponse {
    let path = format!("/keys/{id}/rotate");
    call(server, key, Method::POST, &path, body).await
}

async fn revoke(server: &Server, key: &str, id: &str) -> ClientResponse {
    let path = format!("/keys/{id}");
    call(server, key, Method::DELETE, &path, None).await
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

async fn works(server: &Server, key: &str) -> bool {
    let answer = server.get(OPEN_AI, "/v1/skills").key(key).send().await;
    answer.status == StatusCode::OK
}

/// A value with ids, times and secrets replaced.
fn hide_varying_parts(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let value = match (name.as_str(), value) {
                    (_, Value::Null) => Value::Null,
                    ("at" | "created_at" | "expires_at" | "request_id", _) => "…".into(),
                    ("digest" | "prefix" | "key", _) => "…".into(),
                    ("id" | "object" | "version_id" | "skill" | "default_version_id", id) => {
                        let id = id.as_str().unwrap();
                        let kind = id.split_once('_').map_or(id, |(kind, _)| kind);
                        format!("{kind}_…").into()
                    }
                    (_, value) => hide_varying_parts(value),
                };
                (name.clone(), value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(hide_varying_parts).collect(),
        value => value.clone(),
    }
}

async fn a_key_is_created_listed_changed_rotated_and_revoked(server: Server) {
    let requested = json!({
        "name": "ci", "tenant": "acme", "scopes": ["use", "read"], "models": ["small*"],
        "requests_per_minute": 60, "budget": { "amount": 0.25, "period": "day" },
        "expires_in_days": 7,
    });
    let created = create(&server, MASTER, requested).await.ok();
    insta::assert_json_snapshot!(hide_varying_parts(&created));
    let (id, first) = (text(&created, "id"), text(&created, "key"));
    assert!(works(&server, first).await);

    let listed = get(&server, MASTER, "/keys?tenant=acme").await.ok();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    let got = get(&server, MASTER, &format!("/keys/{id}")).await.ok();
    assert_eq!(listed["data"][0]["id"], got["id"]);
    let secret = first.rsplit_once('-').unwrap().1;
    assert!(!listed.to_string().contains(secret) && !got.to_string().contains(secret));

    let change = json!({
        "name": "cd", "requests_per_minute": null, "tokens_per_minute": 1000, "budget": null,
        "expires_in_days": null, "models": [], "auto": true,
    });
    let changed = patch(&server, MASTER, id, change).await.ok();
    let shown = [
        "name",
        "requests_per_minute",
        "tokens_per_minute",
        "budget",
        "expires_at",
        "models",
        "auto",
        "scopes",
    ];
    let shown: Vec<&Value> = shown.iter().map(|field| &changed[field]).collect();
    assert_eq!(
        json!(shown),
        json!(["cd", null, 1000, null, null, [], true, ["read", "use"]])
    );

    let grace = Some(json!({ "grace_seconds": 600 }));
    let rotated = rotate(&server, MASTER, id, grace).await.ok();
    assert!(rotated["previous_secret_until"].is_string());
    let second = text(&rotated, "key");
    assert!(works(&server, first).await && works(&server, second).await);
    let rotated = rotate(&server, MASTER, id, None).await.ok();
    let third = text(&rotated, "key");
    assert!(!works(&server, first).await && !works(&server, second).await);
    assert!(works(&server, third).await);

    let revoked = revoke(&server, MASTER, id).await.ok();
    assert_eq!(text(&revoked, "state"), "revoked");
    assert!(!works(&server, third).await);
    assert_eq!(revoke(&server, MASTER, id).await.ok(), revoked);
    let refused = rotate(&server, MASTER, id, None).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert_eq!(refused.code(), "key-inactive");
    let refused = patch(&server, MASTER, id, json!({ "name": "x" })).await;
    assert_eq!(refused.code(), "key-inactive");
}

async fn keys_are_listed_in_pages(server: Server) {
    for number in 0..5 {
        let name = format!("key-{number}");
        create(&server, MASTER, json!({ "name": name })).await.ok();
    }
    let mut names = Vec::new();
    let mut path = "/keys?limit=2".to_owned();
    loop {
        let page = get(&server, MASTER, &path).await.ok();
        let keys = page["data"].as_array().unwrap();
        names.extend(keys.iter().map(|key| text(key, "name").to_owned()));
        assert_eq!(page["has_more"], page["next_page"].is_string());
        match page["next_page"].as_str() {
            Some(next) => path = format!("/keys?limit=2&page={next}"),
            None => break,
        }
    }
    assert_eq!(names, ["key-4", "key-3", "key-2", "key-1", "key-0"]);
}

#[tokio::test]
async fn wrong_fields_are_refused_with_their_name() {
    let server = locked().await;
    for (body, code) in [
        (json!({}), "json-invalid"),
        (json!({ "name": "" }), "value-invalid"),
        (json!({ "name": "a", "scope": ["read"] }), "json-invalid"),
        (json!({ "name": "a", "scopes": [] }), "value-invalid"),
        (json!({ "name": "a", "scopes": ["root"] }), "value-invalid"),
        (json!({ "name": "a", "tenant": "A b" }), "value-invalid"),
        (json!({ "name": "a", "models": ["a b"] }), "value-invalid"),
        (
            json!({ "name": "a", "requests_per_minute": 0 }),
            "value-invalid",
        ),
        (
            json!({ "name": "a", "budget": { "amount": -1 } }),
            "field-invalid",
        ),
        (
            json!({ "name": "a", "budget": { "amount": 1, "period": "week" } }),
            "value-invalid",
        ),
        (
            json!({ "name": "a", "expires_in_days": 0 }),
            "field-invalid",
        ),
    ] {
        let refused = create(&server, MASTER, body.clone()).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(refused.code(), code, "{body}");
    }
    let listed = get(&server, MASTER, "/keys").await.ok();
    assert_eq!(listed["data"], json!([]));
}

async fn an_admin_key_manages_its_own_tenant_only(server: Server) {
    let admin = server.key("acme", &[KeyScope::Admin]).await;
    let stranger = server.key("other", &[KeyScope::Admin]).await;
    let made = create(&server, &admin, json!({ "name": "ci" })).await.ok();
    assert_eq!(text(&made, "tenant"), "acme");
    let foreign = json!({ "name": "ci", "tenant": "other" });
    let refused = create(&server, &admin, foreign).await;
    assert_eq!(refused.code(), "tenant-not-found");

    let id = text(&made, "id");
    let path = format!("/keys/{id}");
    for answer in [
        get(&server, &stranger, &path).await,
        get(&server, &stranger, &format!("{path}?tenant=acme")).await,
        patch(&server, &stranger, id, json!({ "name": "mine" })).await,
        rotate(&server, &stranger, id, None).await,
        revoke(&server, &stranger, id).await,
    ] {
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
        assert_eq!(answer.code(), "key-not-found");
    }
    for path in ["/keys", "/keys?tenant=acme"] {
        let listed = get(&server, &stranger, path).await.ok();
        let keys = listed["data"].as_array().unwrap().iter();
        let tenants: Vec<_> = keys.map(|key| text(key, "tenant")).collect();
        assert_eq!(tenants, ["other"]);
    }
    assert!(works(&server, text(&made, "key")).await);
    // The operator sees all.
    let all = get(&server, MASTER, "/keys").await.ok();
    assert_eq!(all["data"].as_array().unwrap().len(), 3);
    revoke(&server, MASTER, id).await.ok();
}

#[tokio::test]
async fn a_key_without_the_scope_changes_nothing() {
    let server = locked().await;
    let victim = create(&server, MASTER, json!({ "name": "victim" })).await;
    let victim = victim.ok();
    let id = text(&victim, "id");
    for scope in [KeyScope::Read, KeyScope::Use, KeyScope::Publish] {
        let key = server.key("default", &[scope]).await;
        let wider = json!({ "name": "wider", "scopes": ["admin"] });
        for answer in [
            create(&server, &key, wider).await,
            patch(&server, &key, id, json!({ "scopes": ["admin"] })).await,
            rotate(&server, &key, id, None).await,
            revoke(&server, &key, id).await,
            get(&server, &key, "/keys").await,
            get(&server, &key, "/audit").await,
            get(&server, &key, "/tenants").await,
        ] {
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{scope:?}");
        }
    }
    assert!(works(&server, text(&victim, "key")).await);
    let tenant = TenantId::default_tenant();
    let keys = server.app.store().list_keys(&tenant).await.unwrap();
    let names: Vec<_> = keys.into_iter().map(|key| key.name).collect();
    assert_eq!(names, ["a key", "a key", "a key", "victim"]);
}

async fn no_key_grants_more_than_it_has(server: Server) {
    let limited = [
        json!({ "models": ["small*"] }),
        json!({ "expires_in_days": 7 }),
        json!({ "requests_per_minute": 5 }),
        json!({ "budget": { "amount": 1, "period": "day" } }),
        json!({ "auto": false }),
    ];
    let wide = json!({ "name": "wide", "scopes": ["admin"] });
    let wide = create(&server, MASTER, wide).await.ok();
    for limits in limited {
        let mut body = json!({ "name": "limited", "scopes": ["admin"] });
        let fields = body.as_object_mut().unwrap();
        fields.extend(limits.as_object().unwrap().clone());
        let made = create(&server, MASTER, body).await.ok();
        let (own, key) = (text(&made, "id"), text(&made, "key"));
        let taken_away = json!({
            "models": [], "expires_in_days": null, "requests_per_minute": null, "budget": null,
            "auto": true,
        });
        for answer in [
            create(&server, key, json!({ "name": "free" })).await,
            patch(&server, key, own, taken_away).await,
            rotate(&server, key, text(&wide, "id"), None).await,
        ] {
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{limits}");
            assert_eq!(answer.code(), "key-grants-more", "{limits}");
        }
        // Less is permitted, and its own secret.
        let less = json!({ "scopes": ["admin"], "tokens_per_minute": 10 });
        patch(&server, key, own, less).await.ok();
        rotate(&server, key, own, None).await.ok();
    }
    assert!(works(&server, text(&wide, "key")).await);
}

async fn a_secret_that_was_replaced_gets_no_new_one(server: Server) {
    let own = json!({ "name": "own", "scopes": ["admin"] });
    let made = create(&server, MASTER, own).await.ok();
    let (id, first) = (text(&made, "id"), text(&made, "key"));
    let grace = json!({ "grace_seconds": 600 });
    let rotated = rotate(&server, MASTER, id, Some(grace)).await.ok();
    let second = text(&rotated, "key");
    let refused = rotate(&server, first, id, None).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(refused.code(), "key-grants-more");
    assert!(works(&server, first).await && works(&server, second).await);
    rotate(&server, second, id, None).await.ok();
}

async fn the_audit_log_has_every_change_and_every_refusal(server: Server) {
    let reader = server.key("default", &[KeyScope::Read]).await;
    let created = create(&server, MASTER, json!({ "name": "ci" })).await.ok();
    let id = text(&created, "id");
    patch(&server, MASTER, id, json!({ "requests_per_minute": 9 }))
        .await
        .ok();
    let refused = patch(&server, &reader, id, json!({ "name": "mine" })).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let unknown = server.post(OPEN_AI, "/v1/admin/keys").key("wrong");
    assert_eq!(unknown.send().await.status, StatusCode::UNAUTHORIZED);
    rotate(&server, MASTER, id, None).await.ok();
    revoke(&server, MASTER, id).await.ok();
    rotate(&server, MASTER, id, None).await;
    let skill = server
        .post(OPEN_AI, "/v1/skills")
        .key(MASTER)
        .form(&Form::skill(&SkillFixture::new("one")))
        .await
        .ok();
    let path = format!("/v1/skills/{}", text(&skill, "id"));
    let denied = server.delete(OPEN_AI, &path).key(&reader).send().await;
    assert_eq!(denied.status, StatusCode::FORBIDDEN);
    server.delete(OPEN_AI, &path).key(MASTER).send().await.ok();
    server.delete(OPEN_AI, &path).key(MASTER).send().await;
    let form = Form::default().file("file", "notes.txt", b"notes");
    let file = server.post(TestDialect::Ga, "/v1/files").key(MASTER);
    let file = file.form(&form).await.ok();
    let path = format!("/v1/files/{}", text(&file, "id"));
    server.delete(OPEN_AI, &path).key(MASTER).send().await.ok();
    let cancel = server.post(OPEN_AI, "/v1/runs/run_0/cancel").key(MASTER);
    assert_eq!(cancel.send().await.status, StatusCode::NOT_FOUND);

    let log = get(&server, MASTER, "/audit?limit=100").await.ok();
    let mut entries = log["data"].as_array().unwrap().clone();
    entries.reverse();
    insta::assert_json_snapshot!(hide_varying_parts(&json!(entries)));
    let secret = text(&created, "key").rsplit_once('-').unwrap().1;
    assert!(!log.to_string().contains(secret));
}

async fn the_audit_log_is_filtered_and_exported_as_lines(server: Server) {
    let admin = server.key("acme", &[KeyScope::Admin]).await;
    for name in ["one", "two", "three"] {
        create(&server, &admin, json!({ "name": name })).await.ok();
    }
    create(&server, MASTER, json!({ "name": "four" }))
        .await
        .ok();
    let names = async |key: &str, query: &str| {
        let log = get(&server, key, &format!("/audit?{query}")).await.ok();
        let entries = log["data"].as_array().unwrap().iter();
        let names = entries.map(|entry| text(&entry["after"], "name").to_owned());
        names.collect::<Vec<_>>()
    };
    let own = ["three", "two", "one"];
    assert_eq!(names(&admin, "").await, own);
    assert_eq!(names(&admin, "tenant=default").await, own);
    assert_eq!(names(MASTER, "").await, ["four", "three", "two", "one"]);
    assert_eq!(names(MASTER, "tenant=acme").await, own);
    assert_eq!(names(MASTER, "actor=master&action=key").await, ["four"]);
    assert_eq!(names(MASTER, "actor=a+key&limit=1").await, ["three"]);
    assert_eq!(names(MASTER, "action=key.revoke").await, [""; 0]);
    assert_eq!(names(MASTER, "until=1h").await, [""; 0]);
    assert_eq!(names(MASTER, "since=1h&until=2999-01-01").await.len(), 4);
    let refused = get(&server, MASTER, "/audit?since=yesterday").await;
    assert_eq!(refused.code(), "query-invalid");

    let export = server.get(OPEN_AI, "/v1/admin/audit?limit=1").key(&admin);
    let export = export.header("accept", "application/x-ndjson").send().await;
    assert_eq!(export.header("content-type"), Some("application/x-ndjson"));
    let lines = String::from_utf8(export.body.to_vec()).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let exported: Vec<_> = lines
        .iter()
        .map(|line| text(&line["after"], "name"))
        .collect();
    assert_eq!(exported, own);
}

async fn what_is_about_the_whole_server_is_for_its_owner(server: Server) {
    let admin = server.key("acme", &[KeyScope::Admin]).await;
    server.skill_of(&admin, "one").await;
    for path in [
        "/tenants",
        "/providers",
        "/cluster",
        "/configuration",
        "/doctor",
    ] {
        let refused = get(&server, &admin, path).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
        assert_eq!(refused.code(), "operator-only", "{path}");
    }
    let tenants = get(&server, MASTER, "/tenants").await.ok();
    let acme = &tenants["data"][0];
    assert_eq!(text(acme, "id"), "acme");
    let counts = ["skills", "versions", "files", "keys", "runs", "requests"];
    let counts: Vec<&Value> = counts.iter().map(|field| &acme[field]).collect();
    assert_eq!(json!(counts), json!([1, 1, 0, 1, 0, 0]));
    assert!(acme["stored_bytes"].as_u64().unwrap() > 0);
    assert_eq!(text(&tenants["data"][1], "id"), "default");
    let first = get(&server, MASTER, "/tenants?limit=1").await.ok();
    let next = format!("/tenants?limit=1&page={}", text(&first, "next_page"));
    let second = get(&server, MASTER, &next).await.ok();
    assert_eq!(text(&second["data"][0], "id"), "default");
    assert_eq!(second["has_more"], false);

    let configuration = get(&server, MASTER, "/configuration").await.ok();
    assert_eq!(
        configuration["settings"],
        json!({ "server": { "master_key": "env:PROWESS_MASTER_KEY" } })
    );
    let none = get(&server, MASTER, "/providers").await.ok();
    assert_eq!(none["data"], json!([]));
    the_installation_is_checked(&server).await;
}

/// What the program that starts a server checks.
struct ProgramChecks;

impl InstallationChecks for ProgramChecks {
    fn check(&self) -> ChecksFuture<'_> {
        let advice = "run `prowess runtime install office`";
        let runtime = PartReport::missing("runtime", "`office` is not installed", advice);
        Box::pin(std::future::ready(vec![
            runtime,
            PartReport::note("packages", "there is no index", "name one"),
        ]))
    }
}

async fn the_installation_is_checked(server: &Server) {
    let report = get(server, MASTER, "/doctor").await.ok();
    assert_eq!(
        (text(&report, "type"), &report["ok"]),
        ("doctor_report", &json!(true))
    );
    let [store, sandbox] = report["data"].as_array().unwrap().as_slice() else {
        panic!("{report}");
    };
    assert_eq!((text(store, "part"), text(store, "state")), ("store", "ok"));
    assert_eq!(
        (text(sandbox, "state"), text(sandbox, "detail")),
        ("note", "off")
    );
    server.app.set_installation_checks(Arc::new(ProgramChecks));
    let report = get(server, MASTER, "/doctor").await.ok();
    assert_eq!(report["ok"], false, "{report}");
    assert_eq!(report["data"][0], *store);
    assert_eq!(
        report["data"][1],
        json!({
            "part": "runtime", "state": "missing", "detail": "`office` is not installed",
            "advice": "run `prowess runtime install office`",
        })
    );
    assert_eq!(report["data"][2]["state"], "note");
}

#[tokio::test]
async fn providers_are_listed_with_the_state_of_their_circuit_breakers() {
    let script = ScriptedOptions::Text("[[step]]\ntext = \"Hi\"\n".to_owned());
    let config = ProvidersConfig {
        providers: vec![ProviderConfig::new("stage", ProviderKind::new(script))],
        ..ProvidersConfig::default()
    };
    let server = Server::with(ServerSettings {
        providers: Some(Providers::new(config).unwrap()),
        ..ServerSettings::default()
    })
    .await;
    let listed = get(&server, "any", "/providers").await.ok();
    insta::assert_json_snapshot!(listed);
}
