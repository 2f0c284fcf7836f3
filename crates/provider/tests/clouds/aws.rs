//! Bedrock with credentials of AWS's chain.

use prowess_provider::config::{BedrockOptions, ProviderConfig, ProviderKind, ProvidersConfig};
use prowess_provider::{CallError, Env, Providers};
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};

use crate::common::*;

const ROLE: &str = "arn:aws:iam::123456789012:role/reader";

/// Bedrock and all services that give credentials, at one address.
async fn aws() -> MockUpstream {
    let aws = MockUpstream::start().await;
    aws.respond_with(|request: &ReceivedRequest| match request.path.as_str() {
        path if path.starts_with("/model/") => MockResponse::json(200, MESSAGES_RESPONSE),
        "/latest/api/token" => MockResponse::bytes(200, "text/plain", "session-1")
            .header("x-aws-ec2-metadata-token-ttl-seconds", "21600"),
        "/latest/meta-data/iam/security-credentials/" => {
            MockResponse::bytes(200, "text/plain", "role-1")
        }
        "/latest/meta-data/iam/security-credentials/role-1" => credentials("AKINSTANCE"),
        "/v2/credentials/1" => credentials("AKTASK"),
        "/" => sts(request),
        _ => MockResponse::json(404, "{}"),
    });
    aws
}

fn credentials(key: &str) -> MockResponse {
    let json = format!(
        r#"{{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"{key}","SecretAccessKey":"sk-secret-1","Token":"session-secret-1","Expiration":"2999-01-01T00:00:00Z","LastUpdated":"2026-01-01T00:00:00Z"}}"#
    );
    MockResponse::json(200, &json)
}

/// Both ways to assume a role.
fn sts(request: &ReceivedRequest) -> MockResponse {
    let (action, key) = match request.text().contains("Action=AssumeRoleWithWebIdentity") {
        true => ("AssumeRoleWithWebIdentity", "AKWEB"),
        false => ("AssumeRole", "AKROLE"),
    };
    let xml = format!(
        "<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result>\
         <Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>sk-secret-1</SecretAccessKey>\
         <SessionToken>session-secret-1</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration>\
         </Credentials></{action}Result></{action}Response>"
    );
    MockResponse::bytes(200, "text/xml", xml)
}

fn bedrock<const N: usize>(
    aws: &MockUpstream,
    options: BedrockOptions,
    env: [(&str, &str); N],
) -> Providers {
    let kind = ProviderKind::new(BedrockOptions {
        region: Some("us-east-1".to_owned()),
        ..options
    });
    let provider = ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("aws", kind).with_base_url(aws.url())
    };
    Providers::new(ProvidersConfig {
        providers: vec![provider],
        env: Env::from_pairs(env),
        ..ProvidersConfig::default()
    })
    .unwrap()
}

/// Calls a model, and returns the key id that signed the request to it.
async fn signed_by(providers: &Providers, aws: &MockUpstream) -> Result<String, CallError> {
    let route = providers.route("aws/anthropic.claude-x").unwrap();
    call(&route, &hello(false)).await?;
    let mut requests = aws.requests().await.into_iter();
    let request = requests.find(|request| request.path.starts_with("/model/"));
    let request = request.unwrap();
    assert_eq!(
        request.header("x-amz-security-token"),
        Some("session-secret-1")
    );
    let (_, signature) = request
        .header("authorization")
        .unwrap()
        .split_once("Credential=")
        .unwrap();
    Ok(signature.split('/').next().unwrap().to_owned())
}

#[tokio::test]
async fn requests_are_signed_with_the_credentials_of_the_instance() {
    let aws = aws().await;
    let env = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", aws.url())];
    let providers = bedrock(&aws, BedrockOptions::default(), env);
    let key = signed_by(&providers, &aws).await.unwrap();
    assert_eq!(key, "AKINSTANCE");
}

#[tokio::test]
async fn requests_are_signed_with_the_credentials_of_the_container() {
    let aws = aws().await;
    let url = format!("{}/v2/credentials/1", aws.url());
    let env = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str())];
    let providers = bedrock(&aws, BedrockOptions::default(), env);
    let key = signed_by(&providers, &aws).await.unwrap();
    assert_eq!(key, "AKTASK");
}

#[tokio::test]
async fn requests_are_signed_with_the_credentials_of_a_web_identity() {
    let aws = aws().await;
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "jwt").unwrap();
    let env = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.to_str().unwrap()),
        ("AWS_ROLE_ARN", ROLE),
        ("AWS_ENDPOINT_URL_STS", aws.url()),
    ];
    let providers = bedrock(&aws, BedrockOptions::default(), env);
    let key = signed_by(&providers, &aws).await.unwrap();
    assert_eq!(key, "AKWEB");
}

#[tokio::test]
async fn a_role_is_assumed_with_keys_in_variables() {
    let aws = aws().await;
    let options = BedrockOptions {
        role_arn: Some(ROLE.to_owned()),
        ..BedrockOptions::default()
    };
    let env = [
        ("AWS_ACCESS_KEY_ID", "AKENV"),
        ("AWS_SECRET_ACCESS_KEY", "sk-secret-2"),
        ("AWS_ENDPOINT_URL_STS", aws.url()),
    ];
    let providers = bedrock(&aws, options, env);
    let key = signed_by(&providers, &aws).await.unwrap();
    assert_eq!(key, "AKROLE");
}

#[tokio::test]
async fn many_first_calls_fetch_credentials_once() {
    let aws = aws().await;
    let url = format!("{}/v2/credentials/1", aws.url());
    let env = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str())];
    let providers = bedrock(&aws, BedrockOptions::default(), env);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let route = providers.route("aws/anthropic.claude-x").unwrap();
        calls.spawn(async move { call(&route, &hello(false)).await.map(|_| ()) });
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap().unwrap();
    }
    let requests = aws.requests().await;
    let fetches = requests.iter().filter(|r| r.path == "/v2/credentials/1");
    assert_eq!((fetches.count(), requests.len()), (1, 101));
}

#[tokio::test]
async fn without_credentials_the_error_of_the_first_call_names_the_sources() {
    let aws = MockUpstream::start().await;
    let env = [("AWS_EC2_METADATA_DISABLED", "true"), ("HOME", "/nowhere")];
    let providers = bedrock(&aws, BedrockOptions::default(), env);
    let error = signed_by(&providers, &aws).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "provider `aws` has no usable API key: could not obtain credentials: found no AWS \
             credentials (environment: AWS_ACCESS_KEY_ID is not set; profile \"default\": "
        ),
        "{text}"
    );
    assert_eq!(error.to_api_error().status, 401);
    assert_eq!(error.retry_after(), None);
    assert!(aws.requests().await.is_empty());
}
