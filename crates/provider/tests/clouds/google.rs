//! Google's access tokens are fetched with a credentials file, and kept.

use std::path::Path;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use prowess_provider::config::{ProviderConfig, ProviderKind, VertexOptions};
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use serde_json::{Value, json};

use crate::common::*;

fn vertex(upstream: &MockUpstream, credentials: &Path) -> ProviderConfig {
    let kind = ProviderKind::new(VertexOptions {
        project: Some("p1".to_owned()),
        credentials: Some(credentials.to_owned()),
        ..VertexOptions::default()
    });
    ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("v", kind).with_base_url(upstream.url())
    }
}

fn field(request: &ReceivedRequest, name: &str) -> String {
    let url = format!("http://x/?{}", request.text());
    let url = url::Url::parse(&url).unwrap();
    let mut pairs = url.query_pairs();
    pairs.find(|(key, _)| key == name).unwrap().1.into_owned()
}

fn part(jwt: &[&str], at: usize) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(jwt[at]).unwrap()).unwrap()
}

#[tokio::test]
async fn a_service_account_signs_for_a_token_which_is_then_kept() {
    let upstream = MockUpstream::start().await;
    let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = key.as_der().unwrap();
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(der.as_ref())
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("account.json");
    let token_uri = format!("{}/token", upstream.url());
    let account = json!({
        "type": "service_account", "client_email": "me@p1", "private_key_id": "k1",
        "private_key": pem, "token_uri": token_uri, "project_id": "p1",
    });
    std::fs::write(&file, account.to_string()).unwrap();

    upstream
        .respond(MockResponse::json(
            200,
            r#"{"access_token":"ya29.x","expires_in":3599}"#,
        ))
        .respond_always(MockResponse::json(200, MESSAGES_RESPONSE));
    let all = providers([vertex(&upstream, &file)]);
    let route = all.route("v/claude-x").unwrap();
    call(&route, &hello(false)).await.unwrap();
    call(&route, &hello(false)).await.unwrap();

    let token_request = upstream.next_request().await;
    assert_eq!(
        (token_request.method.as_str(), token_request.path.as_str()),
        ("POST", "/token")
    );
    assert_eq!(
        token_request.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    let jwt = field(&token_request, "assertion");
    let jwt: Vec<&str> = jwt.split('.').collect();
    assert_eq!(
        part(&jwt, 0),
        json!({"alg": "RS256", "typ": "JWT", "kid": "k1"})
    );
    let claims = part(&jwt, 1);
    assert_eq!(claims["iss"], "me@p1");
    assert_eq!(claims["aud"], token_uri.as_str());
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref())
        .verify(
            format!("{}.{}", jwt[0], jwt[1]).as_bytes(),
            &URL_SAFE_NO_PAD.decode(jwt[2]).unwrap(),
        )
        .unwrap();
    for request in upstream.requests().await {
        assert_eq!(request.header("authorization"), Some("Bearer ya29.x"));
    }
}

#[tokio::test]
async fn a_users_credentials_are_exchanged_and_a_refusal_reveals_no_secret() {
    let upstream = MockUpstream::start().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("user.json");
    let user = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "user-secret-1",
        "refresh_token": "1//refresh-secret", "token_uri": format!("{}/token", upstream.url()),
    });
    std::fs::write(&file, user.to_string()).unwrap();
    upstream.respond_always(MockResponse::json(
        400,
        r#"{"error":"1//refresh-secret is bad"}"#,
    ));
    let error = call(&route_to(vertex(&upstream, &file)), &hello(false)).await;
    let error = error.unwrap_err();
    assert_eq!(
        error.to_string(),
        "provider `v` has no usable API key: could not obtain credentials: user credentials: 127.0.0.1 returned 400 Bad Request; run `gcloud auth application-default login` again"
    );
    let token_request = upstream.next_request().await;
    assert_eq!(field(&token_request, "grant_type"), "refresh_token");
    assert_eq!(field(&token_request, "refresh_token"), "1//refresh-secret");

    std::fs::write(
        &file,
        r#"{"type":"external_account","secret":"user-secret-1"}"#,
    )
    .unwrap();
    let error = call(&route_to(vertex(&upstream, &file)), &hello(false)).await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), "key-no-credentials");
    assert!(!error.to_string().contains("user-secret"), "{error}");
}

#[tokio::test]
async fn a_workload_exchanges_the_token_of_its_own_issuer() {
    let upstream = MockUpstream::start().await;
    let dir = tempfile::tempdir().unwrap();
    let (file, subject) = (dir.path().join("config.json"), dir.path().join("token"));
    std::fs::write(&subject, "jwt-of-the-pod").unwrap();
    let account = json!({
        "type": "external_account", "audience": "//iam.googleapis.com/projects/1/x",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": format!("{}/token", upstream.url()), "credential_source": {"file": subject},
    });
    std::fs::write(&file, account.to_string()).unwrap();
    upstream
        .respond(MockResponse::json(
            200,
            r#"{"access_token":"federated","expires_in":3600}"#,
        ))
        .respond_always(MockResponse::json(200, MESSAGES_RESPONSE));
    let all = providers([vertex(&upstream, &file)]);
    let route = all.route("v/claude-x").unwrap();
    call(&route, &hello(false)).await.unwrap();
    let exchange = upstream.next_request().await;
    assert_eq!(field(&exchange, "subject_token"), "jwt-of-the-pod");
    let called = upstream.next_request().await;
    assert_eq!(called.header("authorization"), Some("Bearer federated"));
}
