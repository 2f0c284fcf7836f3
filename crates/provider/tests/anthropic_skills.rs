//! Requests about the skills of an account at Anthropic.

mod common;

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use common::*;
use http::{HeaderValue, Method};
use http_body::{Body, Frame};
use http_body_util::{Empty, Full};
use prowess_provider::{
    AnthropicAccount, AnthropicSkills, CallError, Env, KeySource, SkillUpload, SkillUploadFile,
    SkillsPath, SkillsRequest,
};
use prowess_testkit::upstream::{MockResponse, MockUpstream};

fn skills(base_url: &str, key: &str) -> AnthropicSkills {
    let account = AnthropicAccount {
        base_url: base_url.to_owned(),
        api_key: KeySource::parse(key),
    };
    AnthropicSkills::new(account, Env::from_pairs([]))
}

#[tokio::test]
async fn a_request_goes_there_with_the_accounts_key_and_comes_back_as_it_is() {
    let upstream = MockUpstream::start().await;
    let answer = MockResponse::json(404, r#"{"type":"error"}"#);
    upstream.respond(
        answer
            .header("request-id", "req_1")
            .header("x-internal", "1"),
    );
    let client = headers([
        ("authorization", "Bearer virtual"),
        ("x-api-key", "virtual"),
        ("user-agent", "sdk"),
        ("accept", "application/json"),
        ("anthropic-beta", "skills-2025-10-02"),
        ("anthropic-beta", "other"),
    ]);
    let skills = skills(&format!("{}/v1/", upstream.url()), KEY);
    let request = SkillsRequest {
        method: Method::GET,
        path: SkillsPath::parse("/skills").unwrap(),
        query: "limit=2",
        headers: &client,
    };
    let response = skills.forward(request, None::<Empty<Bytes>>).await.unwrap();
    assert_eq!(response.status, 404);
    assert_eq!(response.headers["request-id"], "req_1");
    assert!(!response.headers.contains_key("x-internal"));
    let body = drain(response.body).await;
    assert_eq!(body, (br#"{"type":"error"}"#.to_vec(), None));
    insta::assert_snapshot!(upstream.next_request().await.render(), @"
    GET /v1/skills?limit=2
    anthropic-beta: skills-2025-10-02
    anthropic-beta: other
    accept: application/json
    anthropic-version: 2023-06-01
    x-api-key: sk-test-0123456789
    ");
}

#[tokio::test]
async fn a_body_is_sent_as_it_arrives() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, "{}"));
    let client = headers([("content-type", "application/json")]);
    let request = SkillsRequest {
        method: Method::POST,
        path: SkillsPath::parse("/skills/skill_1").unwrap(),
        query: "",
        headers: &client,
    };
    let body = Full::new(Bytes::from_static(b"{\"default_version\":\"2\"}"));
    let skills = skills(upstream.url(), KEY);
    assert_eq!(
        skills.forward(request, Some(body)).await.unwrap().status,
        200
    );
    let received = upstream.next_request().await;
    assert_eq!(received.text(), "{\"default_version\":\"2\"}");
    assert_eq!(received.header("content-type"), Some("application/json"));
}

/// A client that is gone before its body is complete.
struct BrokenBody;

impl Body for BrokenBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(Some(Err(std::io::Error::other("gone"))))
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_fails_the_request() {
    let upstream = MockUpstream::start().await;
    upstream.respond(MockResponse::json(200, "{}"));
    let client = headers([]);
    let request = SkillsRequest {
        method: Method::POST,
        path: SkillsPath::parse("/skills").unwrap(),
        query: "",
        headers: &client,
    };
    let skills = skills(upstream.url(), KEY);
    let failed = skills.forward(request, Some(BrokenBody)).await.unwrap_err();
    assert!(
        matches!(failed, CallError::Unreachable { .. }),
        "{failed:?}"
    );
}

#[tokio::test]
async fn an_upload_is_a_form_with_its_files() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(200, "{}"));
    let skills = skills(upstream.url(), KEY);
    for (beta, title) in [
        ("skills-2025-10-02", "display_title"),
        ("x", "display_name"),
    ] {
        let client = headers([("anthropic-beta", beta), ("content-type", "text/plain")]);
        let upload = SkillUpload {
            title: Some("Forms".to_owned()),
            files: vec![SkillUploadFile {
                name: "pdf/SKILL.md".to_owned(),
                content_type: Some(HeaderValue::from_static("text/markdown")),
                data: Bytes::from_static(b"---\nname: pdf\n---\n"),
            }],
        };
        let path = SkillsPath::parse("/skills").unwrap();
        let response = skills.upload(path, &client, upload).await.unwrap();
        assert_eq!(response.status, 200);
        let received = upstream.next_request().await;
        assert!(received.header("transfer-encoding").is_none());
        let kind = received.header("content-type").unwrap();
        let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
        let text = received.text().replace(boundary, "BOUNDARY");
        let expected = format!(
            "--BOUNDARY\r\nContent-Disposition: form-data; name=\"{title}\"\r\n\r\nForms\r\n\
             --BOUNDARY\r\nContent-Disposition: form-data; name=\"files[]\"; \
             filename=\"pdf/SKILL.md\"\r\nContent-Type: text/markdown\r\n\r\n\
             ---\nname: pdf\n---\n\r\n--BOUNDARY--\r\n"
        );
        assert_eq!(text, expected);
    }
}

#[tokio::test]
async fn without_a_key_or_an_address_nothing_is_sent() {
    let upstream = MockUpstream::start().await;
    let client = headers([]);
    let get = || SkillsRequest {
        method: Method::GET,
        path: SkillsPath::parse("/skills").unwrap(),
        query: "",
        headers: &client,
    };
    let keyless = skills(upstream.url(), "env:NOT_SET");
    let failed = keyless.forward(get(), None::<Empty<Bytes>>).await;
    assert_eq!(failed.unwrap_err().code(), "key-not-set");
    let nowhere = skills("not a url", KEY);
    let failed = nowhere.forward(get(), None::<Empty<Bytes>>).await;
    assert_eq!(failed.unwrap_err().code(), "upstream-unreachable");
    assert!(upstream.requests().await.is_empty());
}
