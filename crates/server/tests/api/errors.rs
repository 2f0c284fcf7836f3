//! Complete errors, in both envelopes.

use axum::http::{Method, StatusCode};
use prowess_testkit::SkillFixture;

use crate::client::{ALL, Form, Server, TestDialect};

#[tokio::test]
async fn an_invalid_skill_is_refused_with_every_place() {
    let server = Server::new().await;
    let skill = SkillFixture::new("my-skill").field("name", "Claude Helper");
    let skill = skill.field("description", "Uses <b>tags</b>.");
    let form = Form::skill(&skill);
    let refused = server.post(TestDialect::G3, "/v1/skills").form(&form).await;
    insta::assert_snapshot!("invalid_in_anthropics_envelope", refused.exchange());
    let refused = server
        .post(TestDialect::OpenAi, "/v1/skills")
        .form(&form)
        .await;
    insta::assert_snapshot!("invalid_in_openais_envelope", refused.exchange());
}

#[tokio::test]
async fn a_hostile_name_is_refused_with_its_entry() {
    let server = Server::new().await;
    let form = Form::skill(&SkillFixture::new("a")).file("files[]", "a/../../etc/passwd", b"x");
    let refused = server.post(TestDialect::Ga, "/v1/skills").form(&form).await;
    insta::assert_snapshot!(refused.exchange());
}

#[tokio::test]
async fn nothing_there_and_wrong_methods_have_envelopes_and_ids_too() {
    let server = Server::new().await;
    for dialect in ALL {
        for (method, path, status, code) in [
            (
                Method::GET,
                "/v1/nothing",
                StatusCode::NOT_FOUND,
                "route-not-found",
            ),
            (Method::GET, "/", StatusCode::NOT_FOUND, "route-not-found"),
            (
                Method::PUT,
                "/v1/skills",
                StatusCode::METHOD_NOT_ALLOWED,
                "method-not-allowed",
            ),
            (
                Method::GET,
                "/v1/skills/%ff",
                StatusCode::BAD_REQUEST,
                "path-invalid",
            ),
            (
                Method::GET,
                "/v1/skills/skill_none",
                StatusCode::NOT_FOUND,
                "skill-not-found",
            ),
            (
                Method::GET,
                "/v1/files/file_none",
                StatusCode::NOT_FOUND,
                "file-not-found",
            ),
            (
                Method::GET,
                "/v1/models/none/at/all",
                StatusCode::NOT_FOUND,
                "model-not-found",
            ),
            (
                Method::GET,
                "/v1/skills/skill_a/versions/Zero",
                StatusCode::BAD_REQUEST,
                "version-selector-invalid",
            ),
        ] {
            let answer = server.request(dialect, method, path).send().await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (status, code),
                "{path}"
            );
            let id = answer.header("request-id").unwrap().to_owned();
            assert_eq!(answer.header("x-request-id"), Some(id.as_str()));
            if dialect != TestDialect::OpenAi {
                assert_eq!(answer.json()["request_id"], id.as_str());
            }
        }
    }
}

#[tokio::test]
async fn errors_about_skills_contain_skill_and_the_id() {
    let server = Server::new().await;
    for dialect in ALL {
        for path in [
            "/v1/skills/skill_none",
            "/v1/skills/skill_none/versions",
            "/v1/skills/skill_none/versions/1",
        ] {
            let answer = server.get(dialect, path).send().await;
            let message = answer.json()["error"]["message"]
                .as_str()
                .unwrap()
                .to_owned();
            assert!(
                message.contains("skill") && message.contains("skill_none"),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn a_version_of_the_api_that_nobody_knows_is_refused() {
    let server = Server::new().await;
    let call = server
        .get(TestDialect::OpenAi, "/v1/skills")
        .header("anthropic-version", "1999-01-01");
    let answer = call.send().await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(answer.code(), "anthropic-version-unknown");
}

#[tokio::test]
async fn an_id_with_a_nul_is_no_failure_of_the_server() {
    let server = Server::new().await;
    for path in [
        "/openai/v1/containers/%00",
        "/openai/v1/containers/%00/files",
        "/openai/v1/containers/%00/files/%00/content",
        "/v1/files/%00",
        "/v1/skills/%00",
        "/v1/runs/%00",
        "/v1/responses/%00",
        "/v1/conversations/%00/items",
        "/v1/chat/completions/%00",
    ] {
        for method in [Method::GET, Method::DELETE] {
            let call = server.request(TestDialect::OpenAi, method.clone(), path);
            let refused = call.send().await;
            assert_ne!(
                refused.status,
                StatusCode::INTERNAL_SERVER_ERROR,
                "{method} {path}"
            );
        }
    }
}
