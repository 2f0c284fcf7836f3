//! The public index, as installers read it.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use prowess_server::ServerSettings;
use prowess_skill::{Bundle, BundleLimits, Digest};
use prowess_store::TenantId;
use prowess_testkit::SkillFixture;
use tower::ServiceExt;

use crate::client::{Form, Server, TestDialect};

async fn public() -> Server {
    public_with(ServerSettings::default()).await
}

async fn public_with(settings: ServerSettings) -> Server {
    let server = Server::with(ServerSettings {
        index_tenant: Some(TenantId::default_tenant()),
        ..settings
    })
    .await;
    let many = SkillFixture::new("many-files").script("scripts/run.sh", "echo hi\n");
    for skill in [SkillFixture::new("one-file"), many] {
        server
            .post(TestDialect::Ga, "/v1/skills")
            .form(&Form::skill(&skill))
            .await
            .ok();
    }
    server
}

#[tokio::test]
async fn the_index_is_off_by_default() {
    let server = Server::new().await;
    for path in [
        "/.well-known/agent-skills/index.json",
        "/.well-known/skills/index.json",
        "/.well-known/agent-skills/a.tar.gz",
        "/.well-known/skills/a/SKILL.md",
    ] {
        let answer = server.get(TestDialect::OpenAi, path).send().await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (StatusCode::NOT_FOUND, "index-off"),
            "{path}"
        );
        let message = answer.json()["error"]["message"].to_string();
        assert!(
            message.contains("set index_tenant under [server]"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn the_index_names_artifacts_by_digests_that_hold() {
    let server = public().await;
    let index = server
        .get(TestDialect::OpenAi, "/.well-known/agent-skills/index.json")
        .send()
        .await;
    insta::assert_snapshot!(index.exchange());
    for skill in index.ok()["skills"].as_array().unwrap() {
        let path = format!(
            "/.well-known/agent-skills/{}",
            skill["url"].as_str().unwrap()
        );
        let artifact = server.get(TestDialect::OpenAi, &path).send().await;
        assert_eq!(artifact.status, StatusCode::OK);
        assert_eq!(
            Digest::from_content(&artifact.body).to_string(),
            skill["digest"].as_str().unwrap()
        );
        let again = server.get(TestDialect::OpenAi, &path).send().await;
        assert_eq!(again.body, artifact.body);
    }
    let archive = server
        .get(
            TestDialect::OpenAi,
            "/.well-known/agent-skills/many-files.tar.gz",
        )
        .send()
        .await;
    assert_eq!(archive.header("content-type"), Some("application/gzip"));
    let bundle = Bundle::from_tar_gz(&archive.body, &BundleLimits::default()).unwrap();
    assert_eq!((bundle.folder(), bundle.len()), (None, 2));
}

#[tokio::test]
async fn the_older_index_lists_files_that_are_there() {
    let server = public().await;
    let index = server
        .get(TestDialect::OpenAi, "/.well-known/skills/index.json")
        .send()
        .await;
    insta::assert_snapshot!(index.exchange());
    for skill in index.ok()["skills"].as_array().unwrap() {
        for file in skill["files"].as_array().unwrap() {
            let path = format!(
                "/.well-known/skills/{}/{}",
                skill["name"].as_str().unwrap(),
                file.as_str().unwrap()
            );
            assert_eq!(
                server.get(TestDialect::OpenAi, &path).send().await.status,
                StatusCode::OK,
                "{path}"
            );
        }
    }
    let up = "/.well-known/skills/many-files/../../etc/passwd";
    assert_eq!(
        server.get(TestDialect::OpenAi, up).send().await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn installers_may_ask_with_head() {
    let server = public().await;
    let path = "/.well-known/agent-skills/index.json";
    let head = server
        .request(TestDialect::OpenAi, Method::HEAD, path)
        .send()
        .await;
    assert_eq!(head.status, StatusCode::OK);
    assert!(head.body.is_empty());
}

#[tokio::test]
async fn what_anybody_may_download_is_little_at_a_time() {
    let server = public_with(ServerSettings {
        uploads: 2,
        upload_wait: Duration::ZERO,
        ..ServerSettings::default()
    })
    .await;
    for path in [
        "/.well-known/agent-skills/many-files.tar.gz",
        "/.well-known/agent-skills/one-file/SKILL.md",
        "/.well-known/skills/many-files/scripts/run.sh",
    ] {
        check_few_at_a_time(&server, path).await;
    }
}

/// While a client has not read a file, another one of its network gets none.
async fn check_few_at_a_time(server: &Server, path: &str) {
    let request = Request::get(path).body(Body::empty()).unwrap();
    let unread = server.front.clone().oneshot(request).await.unwrap();
    assert_eq!(unread.status(), StatusCode::OK, "{path}");
    let size: usize = unread.headers()["content-length"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    let refused = server.get(TestDialect::OpenAi, path).send().await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (StatusCode::TOO_MANY_REQUESTS, "transfers-busy")
    );
    // Those with a key have permits of their own.
    let id = server.skill(&format!("another-{size}")).await;
    let own = format!("/v1/skills/{id}/content");
    let downloaded = server.get(TestDialect::OpenAi, &own).send().await;
    assert_eq!(downloaded.status, StatusCode::OK);
    drop(unread);
    let again = server.get(TestDialect::OpenAi, path).send().await;
    assert_eq!((again.status, again.body.len()), (StatusCode::OK, size));
}
