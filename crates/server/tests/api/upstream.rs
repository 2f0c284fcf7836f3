//! Requests for Anthropic's own skills, with a mock of Anthropic.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use prowess_provider::KeySource;
use prowess_server::{AnthropicAccount, ServerSettings, SkillsLocation};
use prowess_store::KeyScope;
use prowess_testkit::SkillFixture;
use serde_json::json;

use crate::client::{Form, Server, TestDialect};

/// A request that the mock received.
#[derive(Debug, Clone)]
struct AnthropicRequest {
    line: String,
    headers: axum::http::HeaderMap,
    body: String,
}

type Log = Arc<Mutex<Vec<AnthropicRequest>>>;

/// A server that answers everything with the same object.
async fn anthropic() -> (String, Log) {
    let log = Log::default();
    let seen = log.clone();
    let answer = move |request: Request| async move {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        seen.lock().unwrap().push(AnthropicRequest {
            line: format!("{} {}", parts.method, parts.uri),
            headers: parts.headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        });
        let headers = [
            ("request-id", "req_of_anthropic"),
            ("x-internal", "not for clients"),
        ];
        (
            StatusCode::OK,
            headers,
            axum::Json(json!({ "id": "skill_at_anthropic" })),
        )
            .into_response()
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}"), log)
}

async fn server(location: SkillsLocation) -> (Server, Log) {
    let (base_url, log) = anthropic().await;
    let settings = ServerSettings {
        anthropic: Some(AnthropicAccount {
            base_url,
            api_key: KeySource::parse("the-key-at-anthropic"),
        }),
        skills_location: location,
        ..ServerSettings::default()
    };
    (Server::with(settings).await, log)
}

#[tokio::test]
async fn requests_for_anthropic_go_there_with_its_key_and_come_back_as_they_are() {
    let (server, log) = server(SkillsLocation::Store).await;
    for (method, path, sent) in [
        (
            Method::GET,
            "/v1/skills?limit=2&custom_llm_provider=anthropic",
            "GET /v1/skills?limit=2",
        ),
        (
            Method::GET,
            "/v1/skills/skill_1?custom_llm_provider=anthropic",
            "GET /v1/skills/skill_1",
        ),
        (
            Method::DELETE,
            "/v1/skills/skill_1?custom_llm_provider=anthropic",
            "DELETE /v1/skills/skill_1",
        ),
        (
            Method::GET,
            "/anthropic/v1/skills/skill_1/versions?custom_llm_provider=anthropic",
            "GET /v1/skills/skill_1/versions",
        ),
        (
            Method::GET,
            "/v1/skills/skill_1/versions/1/content?custom_llm_provider=anthropic",
            "GET /v1/skills/skill_1/versions/1/content",
        ),
    ] {
        let answer = server
            .request(TestDialect::Beta, method, path)
            .key("clients-own")
            .send()
            .await;
        assert_eq!(answer.ok()["id"], "skill_at_anthropic");
        assert_eq!(answer.header("request-id"), Some("req_of_anthropic"));
        assert_eq!(answer.header("x-internal"), None);
        let received = log.lock().unwrap().pop().unwrap();
        assert_eq!(received.line, sent);
        assert_eq!(received.headers["x-api-key"], "the-key-at-anthropic");
        assert_eq!(received.headers["anthropic-version"], "2023-06-01");
        assert!(
            received.headers["anthropic-beta"]
                .to_str()
                .unwrap()
                .contains("skills-2025-10-02")
        );
    }
    let by_header = server
        .get(TestDialect::OpenAi, "/v1/skills")
        .header("custom-llm-provider", "anthropic");
    assert_eq!(by_header.send().await.ok()["id"], "skill_at_anthropic");
    let received = log.lock().unwrap().pop().unwrap();
    assert_eq!(
        received.headers["anthropic-version"], "2023-06-01",
        "a version is always sent"
    );
    assert!(!received.headers.contains_key("authorization"));
}

#[tokio::test]
async fn an_upload_goes_there_by_query_or_by_form() {
    let (server, log) = server(SkillsLocation::Store).await;
    let form = Form::skill(&SkillFixture::new("pdf-forms")).text("display_title", "Forms");
    let by_query = server.post(
        TestDialect::Beta,
        "/v1/skills?custom_llm_provider=anthropic",
    );
    by_query.form(&form).await.ok();
    let by_form = form.clone().text("custom_llm_provider", "anthropic");
    server
        .post(TestDialect::Beta, "/v1/skills")
        .form(&by_form)
        .await
        .ok();
    server
        .post(TestDialect::Beta, "/v1/skills/skill_1/versions")
        .form(&by_form)
        .await
        .ok();
    let log = log.lock().unwrap().clone();
    let lines: Vec<_> = log.iter().map(|received| received.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "POST /v1/skills",
            "POST /v1/skills",
            "POST /v1/skills/skill_1/versions"
        ]
    );
    for received in &log {
        assert!(
            received.body.contains("pdf-forms/SKILL.md"),
            "{}",
            received.body
        );
        assert!(
            received.body.contains("name=\"files[]\"") && received.body.contains("display_title")
        );
        assert!(!received.body.contains("custom_llm_provider"));
    }
    assert_eq!(
        server.get(TestDialect::Ga, "/v1/skills").send().await.ok()["data"],
        json!([])
    );
}

#[tokio::test]
async fn fields_that_anthropic_does_not_have_are_refused_and_not_dropped() {
    let (server, log) = server(SkillsLocation::Anthropic).await;
    let form = Form::skill(&SkillFixture::new("pdf-forms"));
    for (field, value) in [
        ("description", "Fills in forms."),
        ("instructions", "Fill it in."),
        ("metadata", "{\"team\": \"support\"}"),
        ("default", "true"),
        ("unknown", "x"),
    ] {
        for path in ["/v1/skills", "/v1/skills/skill_1/versions"] {
            let form = form.clone().text(field, value);
            let refused = server.post(TestDialect::Beta, path).form(&form).await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{field} at {path}");
            assert_eq!(refused.code(), "form-field-unknown");
            assert_eq!(refused.json()["error"]["details"]["param"], field);
        }
    }
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_default_may_be_anthropic_and_a_request_may_override_it() {
    let (server, log) = server(SkillsLocation::Anthropic).await;
    assert_eq!(
        server.get(TestDialect::Ga, "/v1/skills").send().await.ok()["id"],
        "skill_at_anthropic"
    );
    let form = Form::skill(&SkillFixture::new("pdf-forms"));
    server
        .post(TestDialect::Ga, "/v1/skills")
        .form(&form)
        .await
        .ok();
    assert_eq!(log.lock().unwrap().len(), 2);
    let here = server
        .get(
            TestDialect::Ga,
            "/v1/skills?custom_llm_provider=litellm_proxy",
        )
        .send()
        .await;
    assert_eq!(here.ok()["data"], json!([]));
    let form = form.text("custom_llm_provider", "litellm_proxy");
    let made = server
        .post(TestDialect::Ga, "/v1/skills")
        .form(&form)
        .await
        .ok();
    assert_eq!(made["type"], "skill");
    assert_eq!(log.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn what_cannot_be_sent_there_is_refused() {
    let (server, log) = server(SkillsLocation::Store).await;
    let key = server.key("acme", &[KeyScope::Admin]).await;
    let foreign = server
        .get(TestDialect::Ga, "/v1/skills?custom_llm_provider=anthropic")
        .key(&key)
        .send()
        .await;
    assert_eq!(
        (foreign.status, foreign.code().as_str()),
        (StatusCode::FORBIDDEN, "skill-provider-tenant")
    );
    let unknown = server
        .get(TestDialect::Ga, "/v1/skills?custom_llm_provider=acme")
        .send()
        .await;
    assert_eq!(unknown.code(), "skill-provider-unknown");
    for path in [
        "/v1/skills/..",
        "/v1/skills/%2e%2e/versions",
        "/v1/skills/a%2F..%2F..%2Fmessages",
    ] {
        let sly = server
            .get(
                TestDialect::Ga,
                &format!("{path}?custom_llm_provider=anthropic"),
            )
            .send()
            .await;
        assert_eq!(sly.status, StatusCode::NOT_FOUND, "{path}");
    }
    assert!(log.lock().unwrap().is_empty());
    let unconfigured = Server::new().await;
    let answer = unconfigured
        .get(TestDialect::Ga, "/v1/skills?custom_llm_provider=anthropic")
        .send()
        .await;
    assert_eq!(answer.code(), "skill-provider-unconfigured");
}
