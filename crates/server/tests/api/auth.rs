//! Authentication: the master key, virtual keys, and none.

use axum::http::{Method, StatusCode};
use prowess_provider::Providers;
use prowess_provider::config::{
    ModelConfig, ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions,
};
use prowess_server::{SecretString, ServerSettings, route_table};
use prowess_store::{KeyScope, TenantId};

use crate::client::{ALL, Form, Server, TestDialect};
use crate::running::{Running, patient, rest};
use prowess_testkit::SkillFixture;

const MASTER: &str = "the-master-key-of-these-tests";

async fn locked() -> Server {
    Server::with(ServerSettings {
        master_key: Some(SecretString::new(MASTER)),
        providers: Some(small()),
        ..ServerSettings::default()
    })
    .await
}

/// One model that always gives the same response.
pub(crate) fn small() -> Providers {
    let script = ScriptedOptions::Text("[[step]]\ntext = \"Hi\"\n".to_owned());
    let config = ProvidersConfig {
        providers: vec![ProviderConfig::new("stage", ProviderKind::new(script))],
        models: vec![ModelConfig::new("small", "stage")],
        ..ProvidersConfig::default()
    };
    Providers::new(config).unwrap()
}

/// Every route that needs a key, with the required scopes.
const ROUTES: [(&str, &str, &[KeyScope]); 133] = [
    ("POST", "/v1/images/generations", &[KeyScope::Use]),
    ("POST", "/v1/images/edits", &[KeyScope::Use]),
    ("POST", "/v1/images/variations", &[KeyScope::Use]),
    ("POST", "/v1/audio/speech", &[KeyScope::Use]),
    ("POST", "/v1/audio/transcriptions", &[KeyScope::Use]),
    ("POST", "/v1/audio/translations", &[KeyScope::Use]),
    ("POST", "/v1/moderations", &[KeyScope::Use]),
    ("POST", "/v1/decisions", &[KeyScope::Use]),
    ("POST", "/v1/rerank", &[KeyScope::Use]),
    ("POST", "/v2/rerank", &[KeyScope::Use]),
    ("POST", "/v1/completions", &[KeyScope::Use]),
    (
        "GET",
        "/providers/provider_x/path_x",
        &[KeyScope::Providers],
    ),
    (
        "POST",
        "/providers/provider_x/path_x",
        &[KeyScope::Providers],
    ),
    (
        "PUT",
        "/providers/provider_x/path_x",
        &[KeyScope::Providers],
    ),
    (
        "PATCH",
        "/providers/provider_x/path_x",
        &[KeyScope::Providers],
    ),
    (
        "DELETE",
        "/providers/provider_x/path_x",
        &[KeyScope::Providers],
    ),
    // Records of model calls may contain their texts.
    ("GET", "/v1/runs", &[KeyScope::Use]),
    ("GET", "/v1/runs/run_x", &[KeyScope::Use]),
    ("GET", "/v1/runs/run_x/events", &[KeyScope::Use]),
    ("POST", "/v1/runs/run_x/cancel", &[KeyScope::Use]),
    ("GET", "/v1/responses/resp_x", &[KeyScope::Use]),
    ("GET", "/v1/responses/resp_x/input_items", &[KeyScope::Use]),
    ("DELETE", "/v1/responses/resp_x", &[KeyScope::Use]),
    ("POST", "/v1/responses/input_tokens", &[KeyScope::Use]),
    ("GET", "/v1/containers", &[KeyScope::Use]),
    ("POST", "/v1/containers", &[KeyScope::Use]),
    ("GET", "/v1/containers/cntr_x", &[KeyScope::Use]),
    ("DELETE", "/v1/containers/cntr_x", &[KeyScope::Use]),
    ("GET", "/v1/containers/cntr_x/files", &[KeyScope::Use]),
    ("POST", "/v1/containers/cntr_x/files", &[KeyScope::Use]),
    (
        "GET",
        "/v1/containers/cntr_x/files/file_x",
        &[KeyScope::Use],
    ),
    (
        "DELETE",
        "/v1/containers/cntr_x/files/file_x",
        &[KeyScope::Use],
    ),
    (
        "GET",
        "/v1/containers/cntr_x/files/file_x/content",
        &[KeyScope::Use],
    ),
    (
        "GET",
        "/v1/containers/cntr_x/files/file_x/preview",
        &[KeyScope::Use],
    ),
    (
        "POST",
        "/mcp",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "GET",
        "/mcp",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "DELETE",
        "/mcp",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    ("GET", "/v1/usage", &[]),
    ("GET", "/v1/admin/keys", &[]),
    ("POST", "/v1/admin/keys", &[]),
    ("GET", "/v1/admin/keys/key_x", &[]),
    ("PATCH", "/v1/admin/keys/key_x", &[]),
    ("DELETE", "/v1/admin/keys/key_x", &[]),
    ("POST", "/v1/admin/keys/key_x/rotate", &[]),
    ("GET", "/v1/admin/audit", &[]),
    ("GET", "/v1/admin/tenants", &[]),
    ("GET", "/v1/admin/providers", &[]),
    ("GET", "/v1/admin/cluster", &[]),
    ("GET", "/v1/admin/configuration", &[]),
    ("GET", "/v1/admin/doctor", &[]),
    ("POST", "/v1/admin/reload", &[]),
    ("HEAD", "/v1/runs", &[KeyScope::Use]),
    ("POST", "/v1/messages", &[KeyScope::Use]),
    ("POST", "/v1/messages/count_tokens", &[KeyScope::Use]),
    ("POST", "/v1/chat/completions", &[KeyScope::Use]),
    ("POST", "/v1/embeddings", &[KeyScope::Use]),
    ("POST", "/v1/responses", &[KeyScope::Use]),
    ("GET", "/v1/responses", &[KeyScope::Use]),
    ("GET", "/v1/skills", &[KeyScope::Read, KeyScope::Publish]),
    ("POST", "/v1/skills", &[KeyScope::Publish]),
    (
        "GET",
        "/v1/skills/search",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/skills/overlap",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    ("GET", "/v1/skills/usage", &[KeyScope::Use]),
    (
        "GET",
        "/v1/skills/skill_x",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    ("POST", "/v1/skills/skill_x", &[KeyScope::Publish]),
    ("DELETE", "/v1/skills/skill_x", &[KeyScope::Publish]),
    (
        "GET",
        "/v1/skills/skill_x/content",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/skills/skill_x/versions",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    ("POST", "/v1/skills/skill_x/versions", &[KeyScope::Publish]),
    (
        "GET",
        "/v1/skills/skill_x/versions/1",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    (
        "DELETE",
        "/v1/skills/skill_x/versions/1",
        &[KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/skills/skill_x/versions/1/content",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/skills/skill_x/versions/1/files",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/skills/skill_x/versions/1/file",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/skills/skill_x/versions/1/preview",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    (
        "POST",
        "/v1/skills/skill_x/versions/1",
        &[KeyScope::Publish],
    ),
    (
        "POST",
        "/v1/skills/skill_x/versions/1/revoke",
        &[KeyScope::Publish],
    ),
    (
        "POST",
        "/v1/skills/skill_x/versions/1/restore",
        &[KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/skills/skill_x/compare",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/skills/skill_x/labels",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    (
        "POST",
        "/v1/skills/skill_x/labels/staging",
        &[KeyScope::Publish],
    ),
    (
        "POST",
        "/v1/skills/skill_x/labels/production",
        &[KeyScope::Release],
    ),
    (
        "DELETE",
        "/v1/skills/skill_x/labels/staging",
        &[KeyScope::Publish],
    ),
    (
        "DELETE",
        "/v1/skills/skill_x/labels/production",
        &[KeyScope::Release],
    ),
    ("POST", "/v1/skills/import", &[KeyScope::Publish]),
    (
        "GET",
        "/v1/skills?custom_llm_provider=anthropic",
        &[KeyScope::Read, KeyScope::Publish],
    ),
    (
        "DELETE",
        "/v1/skills/skill_x?custom_llm_provider=anthropic",
        &[KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/files",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    ("POST", "/v1/files", &[KeyScope::Use, KeyScope::Publish]),
    (
        "GET",
        "/v1/files/file_x",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "DELETE",
        "/v1/files/file_x",
        &[KeyScope::Use, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/files/file_x/content",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/files/file_x/preview",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/models",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/models/small",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "DELETE",
        "/v1/models/small",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    ("POST", "/v1/responses/compact", &[KeyScope::Use]),
    ("POST", "/v1/responses/resp_x/cancel", &[KeyScope::Use]),
    ("POST", "/v1/conversations", &[KeyScope::Use]),
    ("GET", "/v1/conversations/conv_x", &[KeyScope::Use]),
    ("POST", "/v1/conversations/conv_x", &[KeyScope::Use]),
    ("DELETE", "/v1/conversations/conv_x", &[KeyScope::Use]),
    ("GET", "/v1/conversations/conv_x/items", &[KeyScope::Use]),
    ("POST", "/v1/conversations/conv_x/items", &[KeyScope::Use]),
    (
        "GET",
        "/v1/conversations/conv_x/items/msg_x",
        &[KeyScope::Use],
    ),
    (
        "DELETE",
        "/v1/conversations/conv_x/items/msg_x",
        &[KeyScope::Use],
    ),
    ("GET", "/v1/chat/completions", &[KeyScope::Use]),
    ("GET", "/v1/chat/completions/chatcmpl_x", &[KeyScope::Use]),
    ("POST", "/v1/chat/completions/chatcmpl_x", &[KeyScope::Use]),
    (
        "DELETE",
        "/v1/chat/completions/chatcmpl_x",
        &[KeyScope::Use],
    ),
    (
        "GET",
        "/v1/chat/completions/chatcmpl_x/messages",
        &[KeyScope::Use],
    ),
    (
        "GET",
        "/health",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "GET",
        "/model/info",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1/model/info",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "POST",
        "/v1beta/models/small:generateContent",
        &[KeyScope::Use],
    ),
    (
        "POST",
        "/v1beta/models/small:streamGenerateContent",
        &[KeyScope::Use],
    ),
    ("POST", "/v1beta/models/small:countTokens", &[KeyScope::Use]),
    (
        "GET",
        "/v1beta/models",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1beta/models/small",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1beta/files/file_x",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    (
        "GET",
        "/v1beta/files/file_x:download",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
    ("GET", "/v1/messages/batches", &[KeyScope::Use]),
    ("POST", "/v1/messages/batches", &[KeyScope::Use]),
    ("GET", "/v1/messages/batches/msgbatch_x", &[KeyScope::Use]),
    (
        "DELETE",
        "/v1/messages/batches/msgbatch_x",
        &[KeyScope::Use],
    ),
    (
        "POST",
        "/v1/messages/batches/msgbatch_x/cancel",
        &[KeyScope::Use],
    ),
    (
        "GET",
        "/v1/messages/batches/msgbatch_x/results",
        &[KeyScope::Use],
    ),
    ("GET", "/v1/batches", &[KeyScope::Use]),
    ("POST", "/v1/batches", &[KeyScope::Use]),
    ("GET", "/v1/batches/batch_x", &[KeyScope::Use]),
    ("POST", "/v1/batches/batch_x/cancel", &[KeyScope::Use]),
    ("GET", "/metrics", &[KeyScope::Metrics]),
    (
        "GET",
        "/openapi.json",
        &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
    ),
];

/// Routes about the whole server, which no key of a tenant reaches.
const OPERATOR_ONLY: [&str; 6] = [
    "/v1/admin/tenants",
    "/v1/admin/providers",
    "/v1/admin/cluster",
    "/v1/admin/configuration",
    "/v1/admin/doctor",
    "/v1/admin/reload",
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
            server.get(TestDialect::OpenAi, path).send().await.status,
            StatusCode::OK
        );
    }
}

/// Public routes.
const PUBLIC: [&str; 10] = [
    "/healthz",
    "/readyz",
    "/health/liveliness",
    "/health/liveness",
    "/health/readiness",
    "/.well-known/agent-skills/index.json",
    "/.well-known/agent-skills/{file}",
    "/.well-known/agent-skills/{name}/SKILL.md",
    "/.well-known/skills/index.json",
    "/.well-known/skills/{name}/{path}",
];

#[test]
fn the_table_of_scopes_has_every_route() {
    let pattern = |path: &str| {
        let path = path.split('?').next().unwrap_or_default();
        let parts = path.split('/').map(|part| {
            // In Google's paths the method follows the name.
            let (name, method) = part.split_once(':').unwrap_or((part, ""));
            let name = match name {
                "small" | "1" | "staging" | "production" => "{}",
                name if name.starts_with('{') || name.ends_with("_x") => "{}",
                name => name,
            };
            format!("{name}:{method}")
        });
        parts.collect::<Vec<_>>().join("/")
    };
    for route in route_table() {
        let same = |(verb, listed, _): &(&str, &str, &[KeyScope])| {
            let below = ["/v1beta", "/v1"].map(|mount| listed.strip_prefix(mount));
            let mut forms = [Some(*listed), below[0], below[1]].into_iter().flatten();
            let path = pattern(&route.path_below_mount);
            *verb == route.method && forms.any(|form| pattern(form) == path)
        };
        let known = ROUTES.iter().any(same) || PUBLIC.contains(&route.path.as_str());
        assert!(known, "{route:?}: which scope does it need?");
    }
}

#[tokio::test]
async fn a_key_reaches_as_far_as_its_scopes() {
    let server = locked().await;
    for scope in [
        KeyScope::Read,
        KeyScope::Use,
        KeyScope::Publish,
        KeyScope::Release,
        KeyScope::Providers,
        KeyScope::Metrics,
        KeyScope::Admin,
    ] {
        let key = server.key("default", &[scope]).await;
        for (method, path, enough) in ROUTES {
            let method: Method = method.parse().unwrap();
            let answer = server
                .request(TestDialect::Ga, method.clone(), path)
                .key(&key)
                .send()
                .await;
            let refused = answer.status == StatusCode::FORBIDDEN;
            // Paths of providers and metrics are given by the operator alone.
            let is_admin = scope == KeyScope::Admin
                && !OPERATOR_ONLY.contains(&path)
                && !enough.contains(&KeyScope::Providers)
                && !enough.contains(&KeyScope::Metrics);
            let reaches = is_admin || enough.contains(&scope);
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
            .get(TestDialect::Ga, "/v1/skills")
            .header(name, &value)
            .send()
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{name}: {value}");
    }
    let basic = server
        .get(TestDialect::Ga, "/v1/skills")
        .header("authorization", &format!("Basic {MASTER}"));
    assert_eq!(basic.send().await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let server = locked().await;
    let key = server.key("default", &[KeyScope::Read]).await;
    assert_eq!(
        server
            .get(TestDialect::Ga, "/v1/skills")
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
    let refused = server
        .get(TestDialect::Ga, "/v1/skills")
        .key(&key)
        .send()
        .await;
    insta::assert_snapshot!(refused.exchange());
}

#[tokio::test]
async fn without_a_master_key_any_key_or_none_will_do_from_this_machine() {
    let server = Server::new().await;
    for key in [None, Some("sk-ant-whatever"), Some("k")] {
        let call = server.get(TestDialect::Ga, "/v1/skills");
        let call = match key {
            Some(key) => call.key(key),
            None => call,
        };
        assert_eq!(call.send().await.status, StatusCode::OK);
    }
    // A text with the prefix of a virtual key that is not one is an error.
    let mistaken = server
        .get(TestDialect::Ga, "/v1/skills")
        .key("sk-pw-0123456789-abc")
        .send()
        .await;
    assert_eq!(mistaken.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn web_pages_cannot_use_an_open_server() {
    let server = Server::new().await;
    let page = server
        .get(TestDialect::Ga, "/v1/skills")
        .header("origin", "https://evil.example");
    assert_eq!(page.send().await.code(), "not-local");
    let form = Form::skill(&SkillFixture::new("planted"));
    let page = server
        .post(TestDialect::OpenAi, "/v1/skills")
        .header("origin", "https://evil.example");
    assert_eq!(page.form(&form).await.status, StatusCode::FORBIDDEN);
    let page = server
        .get(TestDialect::Ga, "/v1/skills")
        .header("sec-fetch-site", "cross-site");
    assert_eq!(page.send().await.code(), "not-local");
    let list = server.get(TestDialect::Ga, "/v1/skills").send().await.ok();
    assert_eq!(list["data"], serde_json::json!([]));
}

/// Only its bytes can be sent: no client takes such a value as text.
#[tokio::test]
async fn an_origin_that_cannot_be_read_is_foreign_to_an_open_server() {
    let running = Running::start(ServerSettings::default(), patient()).await;
    for (origin, status) in [
        (&b"http://ev\xeel.example"[..], "HTTP/1.1 403"),
        (&b"http://localhost"[..], "HTTP/1.1 200"),
    ] {
        let head: &[u8] =
            b"GET /v1/skills HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\norigin: ";
        let stream = running.send(&[head, origin, b"\r\n\r\n"].concat()).await;
        let answer = rest(stream).await;
        assert!(answer.starts_with(status.as_bytes()), "{origin:?}");
    }
}

#[tokio::test]
async fn the_master_key_acts_for_the_tenant_it_names() {
    let server = locked().await;
    let key = server
        .key("acme", &[KeyScope::Publish, KeyScope::Read])
        .await;
    let form = Form::skill(&SkillFixture::new("theirs"));
    let made = server
        .post(TestDialect::OpenAi, "/v1/skills")
        .key(&key)
        .form(&form)
        .await
        .ok();
    let path = format!("/v1/skills/{}", made["id"].as_str().unwrap());
    let own = server
        .get(TestDialect::OpenAi, &path)
        .key(MASTER)
        .send()
        .await;
    assert_eq!(own.status, StatusCode::NOT_FOUND);
    let theirs = server
        .get(TestDialect::OpenAi, &path)
        .key(MASTER)
        .header("prowess-tenant", "acme");
    assert_eq!(theirs.send().await.status, StatusCode::OK);
    let odd = server
        .get(TestDialect::OpenAi, &path)
        .key(MASTER)
        .header("prowess-tenant", "A b");
    assert_eq!(odd.send().await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_request_with_two_keys_or_two_tenants_is_refused() {
    let server = locked().await;
    let key = server.key("acme", &[KeyScope::Read]).await;
    let bearer = format!("Bearer {key}");
    for (name, first, second) in [
        ("x-api-key", MASTER, key.as_str()),
        ("x-api-key", key.as_str(), MASTER),
        ("authorization", bearer.as_str(), "Bearer other"),
        ("prowess-tenant", "acme", "default"),
    ] {
        for path in ["/v1/skills", "/mcp"] {
            let call = server.get(TestDialect::OpenAi, path);
            let call = match name {
                "prowess-tenant" => call.key(MASTER),
                _ => call,
            };
            let refused = call.header(name, first).header(name, second).send().await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{name} {path}");
        }
    }
    // A client may send its key in both headers, and twice in one.
    let both = server.get(TestDialect::OpenAi, "/v1/skills").key(&key);
    let both = both.header("authorization", &bearer);
    let twice = both.header("authorization", &bearer);
    assert_eq!(twice.send().await.status, StatusCode::OK);
}

#[tokio::test]
async fn metrics_count_requests_by_route_and_hold_no_ids() {
    let server = locked().await;
    server
        .get(TestDialect::Ga, "/v1/skills/skill_secret_id")
        .key(MASTER)
        .send()
        .await;
    let metrics = server
        .get(TestDialect::OpenAi, "/metrics")
        .key(MASTER)
        .send()
        .await;
    let text = String::from_utf8(metrics.body.to_vec()).unwrap();
    assert!(text.contains("prowess_http_requests_total{method=\"GET\",route=\"/v1/skills/{skill}\",status=\"404\"}"), "{text}");
    assert!(
        text.contains("prowess_http_request_seconds_bucket"),
        "{text}"
    );
    assert!(!text.contains("skill_secret_id"));
}
