//! Keys: the master's, virtual ones, none.

use axum::http::{Method, StatusCode};
use prowess_provider::Providers;
use prowess_provider::config::{Config, Kind, ModelConfig, ProviderConfig, ScriptedOptions};
use prowess_server::{Secret, Settings};
use prowess_store::{Scope, TenantId};

use crate::client::{ALL, As, Form, Server};
use prowess_testkit::SkillFixture;

const MASTER: &str = "the-master-key-of-these-tests";

async fn locked() -> Server {
    Server::with(Settings {
        master_key: Some(Secret::new(MASTER)),
        providers: Some(small()),
        ..Settings::default()
    })
    .await
}

/// One model that always says the same.
fn small() -> Providers {
    let script = ScriptedOptions::Text("[[step]]\ntext = \"Hi\"\n".to_owned());
    let config = Config {
        providers: vec![ProviderConfig::new("stage", Kind::Scripted(script))],
        models: vec![ModelConfig::new("small", "stage")],
        ..Config::default()
    };
    Providers::new(config).unwrap()
}

/// Every route that needs a key, with what it needs.
const ROUTES: [(&str, &str, &[Scope]); 72] = [
    // What became of requests to models may hold their texts.
    ("GET", "/v1/runs", &[Scope::Use]),
    ("GET", "/v1/runs/run_x", &[Scope::Use]),
    ("GET", "/v1/responses/resp_x", &[Scope::Use]),
    ("GET", "/v1/responses/resp_x/input_items", &[Scope::Use]),
    ("DELETE", "/v1/responses/resp_x", &[Scope::Use]),
    ("POST", "/v1/responses/input_tokens", &[Scope::Use]),
    ("GET", "/v1/containers", &[Scope::Use]),
    ("POST", "/v1/containers", &[Scope::Use]),
    ("GET", "/v1/containers/cntr_x", &[Scope::Use]),
    ("DELETE", "/v1/containers/cntr_x", &[Scope::Use]),
    ("GET", "/v1/containers/cntr_x/files", &[Scope::Use]),
    ("POST", "/v1/containers/cntr_x/files", &[Scope::Use]),
    ("GET", "/v1/containers/cntr_x/files/file_x", &[Scope::Use]),
    (
        "DELETE",
        "/v1/containers/cntr_x/files/file_x",
        &[Scope::Use],
    ),
    (
        "GET",
        "/v1/containers/cntr_x/files/file_x/content",
        &[Scope::Use],
    ),
    ("POST", "/mcp", &[Scope::Read, Scope::Use, Scope::Publish]),
    ("GET", "/mcp", &[Scope::Read, Scope::Use, Scope::Publish]),
    ("DELETE", "/mcp", &[Scope::Read, Scope::Use, Scope::Publish]),
    ("GET", "/v1/usage", &[]),
    ("HEAD", "/v1/runs", &[Scope::Use]),
    ("POST", "/v1/messages", &[Scope::Use]),
    ("POST", "/v1/messages/count_tokens", &[Scope::Use]),
    ("POST", "/v1/chat/completions", &[Scope::Use]),
    ("POST", "/v1/responses", &[Scope::Use]),
    ("GET", "/v1/skills", &[Scope::Read, Scope::Publish]),
    ("POST", "/v1/skills", &[Scope::Publish]),
    ("GET", "/v1/skills/skill_x", &[Scope::Read, Scope::Publish]),
    ("POST", "/v1/skills/skill_x", &[Scope::Publish]),
    ("DELETE", "/v1/skills/skill_x", &[Scope::Publish]),
    (
        "GET",
        "/v1/skills/skill_x/content",
        &[Scope::Read, Scope::Publish],
    ),
    (
        "GET",
        "/v1/skills/skill_x/versions",
        &[Scope::Read, Scope::Publish],
    ),
    ("POST", "/v1/skills/skill_x/versions", &[Scope::Publish]),
    (
        "GET",
        "/v1/skills/skill_x/versions/1",
        &[Scope::Read, Scope::Publish],
    ),
    ("DELETE", "/v1/skills/skill_x/versions/1", &[Scope::Publish]),
    (
        "GET",
        "/v1/skills/skill_x/versions/1/content",
        &[Scope::Read, Scope::Publish],
    ),
    (
        "GET",
        "/v1/skills?custom_llm_provider=anthropic",
        &[Scope::Read, Scope::Publish],
    ),
    (
        "DELETE",
        "/v1/skills/skill_x?custom_llm_provider=anthropic",
        &[Scope::Publish],
    ),
    (
        "GET",
        "/v1/files",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    ("POST", "/v1/files", &[Scope::Use, Scope::Publish]),
    (
        "GET",
        "/v1/files/file_x",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    ("DELETE", "/v1/files/file_x", &[Scope::Use, Scope::Publish]),
    (
        "GET",
        "/v1/files/file_x/content",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    (
        "GET",
        "/v1/models",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    (
        "GET",
        "/v1/models/small",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    (
        "DELETE",
        "/v1/models/small",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    ("POST", "/v1/responses/compact", &[Scope::Use]),
    ("POST", "/v1/responses/resp_x/cancel", &[Scope::Use]),
    ("POST", "/v1/conversations", &[Scope::Use]),
    ("GET", "/v1/conversations/conv_x", &[Scope::Use]),
    ("POST", "/v1/conversations/conv_x", &[Scope::Use]),
    ("DELETE", "/v1/conversations/conv_x", &[Scope::Use]),
    ("GET", "/v1/conversations/conv_x/items", &[Scope::Use]),
    ("POST", "/v1/conversations/conv_x/items", &[Scope::Use]),
    ("GET", "/v1/conversations/conv_x/items/msg_x", &[Scope::Use]),
    (
        "DELETE",
        "/v1/conversations/conv_x/items/msg_x",
        &[Scope::Use],
    ),
    ("GET", "/v1/chat/completions", &[Scope::Use]),
    ("GET", "/v1/chat/completions/chatcmpl_x", &[Scope::Use]),
    ("POST", "/v1/chat/completions/chatcmpl_x", &[Scope::Use]),
    ("DELETE", "/v1/chat/completions/chatcmpl_x", &[Scope::Use]),
    (
        "GET",
        "/v1/chat/completions/chatcmpl_x/messages",
        &[Scope::Use],
    ),
    ("GET", "/health", &[Scope::Read, Scope::Use, Scope::Publish]),
    (
        "GET",
        "/model/info",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    (
        "GET",
        "/v1/model/info",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    (
        "POST",
        "/v1beta/models/small:generateContent",
        &[Scope::Use],
    ),
    (
        "POST",
        "/v1beta/models/small:streamGenerateContent",
        &[Scope::Use],
    ),
    ("POST", "/v1beta/models/small:countTokens", &[Scope::Use]),
    (
        "GET",
        "/v1beta/models",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    (
        "GET",
        "/v1beta/models/small",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    (
        "GET",
        "/v1beta/files/file_x",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    (
        "GET",
        "/v1beta/files/file_x:download",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
    ("GET", "/metrics", &[]),
    (
        "GET",
        "/openapi.json",
        &[Scope::Read, Scope::Use, Scope::Publish],
    ),
];

#[tokio::test]
async fn with_a_master_key_every_route_needs_a_key() {
    let server = locked().await;
    for dialect in ALL {
        for (method, path, _) in ROUTES {
            let method: Method = method.parse().unwrap();
            let none = server.request(dialect, method.clone(), path).send().await;
            assert_eq!(none.status, StatusCode::UNAUTHORIZED, "{method} {path}");
            let wrong = server
                .request(dialect, method.clone(), path)
                .key("wrong")
                .send()
                .await;
            assert_eq!(wrong.status, StatusCode::UNAUTHORIZED, "{method} {path}");
            let right = server
                .request(dialect, method.clone(), path)
                .key(MASTER)
                .send()
                .await;
            assert_ne!(right.status, StatusCode::UNAUTHORIZED, "{method} {path}");
            assert_ne!(right.status, StatusCode::FORBIDDEN, "{method} {path}");
        }
    }
    for path in [
        "/healthz",
        "/readyz",
        "/health/liveliness",
        "/health/liveness",
        "/health/readiness",
    ] {
        assert_eq!(
            server.get(As::OpenAi, path).send().await.status,
            StatusCode::OK
        );
    }
}

/// Routes that are open to everyone.
const PUBLIC: [&str; 7] = [
    "/healthz",
    "/readyz",
    "/health/liveliness",
    "/health/liveness",
    "/health/readiness",
    "/.well-known/agent-skills/index.json",
    "/.well-known/skills/index.json",
];

#[tokio::test]
async fn the_table_of_scopes_has_every_route_that_is_described() {
    let server = locked().await;
    let document = server.get(As::OpenAi, "/openapi.json").key(MASTER);
    let document = document.send().await.ok();
    let pattern = |path: &str| {
        let path = path.split('?').next().unwrap_or_default();
        let parts = path.split('/').map(|part| {
            // Google writes what is wanted behind the name.
            let (name, method) = part.split_once(':').unwrap_or((part, ""));
            let name = match name {
                "small" | "1" => "{}",
                name if name.starts_with('{') || name.ends_with("_x") => "{}",
                name => name,
            };
            format!("{name}:{method}")
        });
        parts.collect::<Vec<_>>().join("/")
    };
    for (described, methods) in document["paths"].as_object().unwrap() {
        let path = described.replace("/anthropic/v1", "/v1");
        let path = path.replace("/openai/v1", "/v1");
        let path = path.replace("/gemini/v1beta", "/v1beta");
        for method in methods.as_object().unwrap().keys() {
            let same = |(verb, listed, _): &(&str, &str, &[Scope])| {
                verb.eq_ignore_ascii_case(method) && pattern(listed) == pattern(&path)
            };
            let known = ROUTES.iter().any(same) || PUBLIC.contains(&path.as_str());
            assert!(known, "{method} {described}: which scope does it need?");
        }
    }
}

#[tokio::test]
async fn a_key_reaches_as_far_as_its_scopes() {
    let server = locked().await;
    for scope in [Scope::Read, Scope::Use, Scope::Publish, Scope::Admin] {
        let key = server.key("default", &[scope]).await;
        for (method, path, enough) in ROUTES {
            let method: Method = method.parse().unwrap();
            let answer = server
                .request(As::Ga, method.clone(), path)
                .key(&key)
                .send()
                .await;
            let refused = answer.status == StatusCode::FORBIDDEN;
            let reaches = scope == Scope::Admin || enough.contains(&scope);
            assert_eq!(
                refused, !reaches,
                "{scope:?} {method} {path}: {}",
                answer.status
            );
        }
    }
}

#[tokio::test]
async fn keys_come_in_either_header() {
    let server = locked().await;
    for (name, value) in [
        ("x-api-key", MASTER.to_owned()),
        ("authorization", format!("Bearer {MASTER}")),
        ("authorization", format!("bearer {MASTER}")),
    ] {
        let answer = server
            .get(As::Ga, "/v1/skills")
            .header(name, &value)
            .send()
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{name}: {value}");
    }
    let basic = server
        .get(As::Ga, "/v1/skills")
        .header("authorization", &format!("Basic {MASTER}"));
    assert_eq!(basic.send().await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let server = locked().await;
    let key = server.key("default", &[Scope::Read]).await;
    assert_eq!(
        server
            .get(As::Ga, "/v1/skills")
            .key(&key)
            .send()
            .await
            .status,
        StatusCode::OK
    );
    let tenant = TenantId::default_tenant();
    let store = server.app.store();
    let id = store.list_keys(&tenant).await.unwrap()[0].id.clone();
    store.revoke_key(&tenant, &id).await.unwrap();
    let refused = server.get(As::Ga, "/v1/skills").key(&key).send().await;
    insta::assert_snapshot!(refused.exchange());
}

#[tokio::test]
async fn without_a_master_key_any_key_or_none_will_do_from_this_machine() {
    let server = Server::new().await;
    for key in [None, Some("sk-ant-whatever"), Some("k")] {
        let call = server.get(As::Ga, "/v1/skills");
        let call = match key {
            Some(key) => call.key(key),
            None => call,
        };
        assert_eq!(call.send().await.status, StatusCode::OK);
    }
    // Something that looks like one of our keys, and is none, is a mistake.
    let mistaken = server
        .get(As::Ga, "/v1/skills")
        .key("sk-pw-0123456789-abc")
        .send()
        .await;
    assert_eq!(mistaken.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn web_pages_cannot_use_an_open_server() {
    let server = Server::new().await;
    let page = server
        .get(As::Ga, "/v1/skills")
        .header("origin", "https://evil.example");
    assert_eq!(page.send().await.code(), "not-local");
    let form = Form::skill(&SkillFixture::new("planted"));
    let page = server
        .post(As::OpenAi, "/v1/skills")
        .header("origin", "https://evil.example");
    assert_eq!(page.form(&form).await.status, StatusCode::FORBIDDEN);
    let list = server.get(As::Ga, "/v1/skills").send().await.ok();
    assert_eq!(list["data"], serde_json::json!([]));
}

#[tokio::test]
async fn the_master_key_acts_for_the_tenant_it_names() {
    let server = locked().await;
    let key = server.key("acme", &[Scope::Publish, Scope::Read]).await;
    let form = Form::skill(&SkillFixture::new("theirs"));
    let made = server
        .post(As::OpenAi, "/v1/skills")
        .key(&key)
        .form(&form)
        .await
        .ok();
    let path = format!("/v1/skills/{}", made["id"].as_str().unwrap());
    let own = server.get(As::OpenAi, &path).key(MASTER).send().await;
    assert_eq!(own.status, StatusCode::NOT_FOUND);
    let theirs = server
        .get(As::OpenAi, &path)
        .key(MASTER)
        .header("prowess-tenant", "acme");
    assert_eq!(theirs.send().await.status, StatusCode::OK);
    let odd = server
        .get(As::OpenAi, &path)
        .key(MASTER)
        .header("prowess-tenant", "A b");
    assert_eq!(odd.send().await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn metrics_count_requests_by_route_and_hold_no_ids() {
    let server = locked().await;
    server
        .get(As::Ga, "/v1/skills/skill_secret_id")
        .key(MASTER)
        .send()
        .await;
    let metrics = server.get(As::OpenAi, "/metrics").key(MASTER).send().await;
    let text = String::from_utf8(metrics.body.to_vec()).unwrap();
    assert!(text.contains("prowess_http_requests_total{method=\"GET\",route=\"/v1/skills/{skill}\",status=\"404\"}"), "{text}");
    assert!(
        text.contains("prowess_http_request_seconds_bucket"),
        "{text}"
    );
    assert!(!text.contains("skill_secret_id"));
}
