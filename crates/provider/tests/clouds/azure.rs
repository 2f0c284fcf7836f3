//! Azure's models with tokens of Entra ID.

use prowess_provider::config::{AzureOptions, ProviderConfig, ProviderKind, ProvidersConfig};
use prowess_provider::{Env, KeySource, Providers};
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};

use crate::common::*;

/// The models, the service that gives tokens, and both services for managed identities.
async fn azure() -> MockUpstream {
    let azure = MockUpstream::start().await;
    azure.respond_with(|request: &ReceivedRequest| {
        let path = request.path.split('?').next().unwrap_or_default();
        let token = |name: &str| {
            let json = format!(
                r#"{{"access_token":"{name}","expires_in":3599,"expires_on":"32503680000"}}"#
            );
            MockResponse::json(200, &json)
        };
        match path {
            "/t1/oauth2/v2.0/token" => token("of-the-application"),
            "/metadata/identity/oauth2/token" => token("of-the-machine"),
            "/msi/token" => token("of-the-app-service"),
            _ => MockResponse::json(200, CHAT_RESPONSE),
        }
    });
    azure
}

fn provider<const N: usize>(
    azure: &MockUpstream,
    options: AzureOptions,
    env: [(&str, &str); N],
) -> Providers {
    let provider = ProviderConfig {
        policies: quick(),
        ..ProviderConfig::new("az", ProviderKind::new(options)).with_base_url(azure.url())
    };
    Providers::new(ProvidersConfig {
        providers: vec![provider],
        env: Env::from_pairs(env),
        ..ProvidersConfig::default()
    })
    .unwrap()
}

/// Calls a model, and returns the request for a token and the token that was used.
async fn token(providers: &Providers, azure: &MockUpstream) -> (ReceivedRequest, String) {
    let route = providers.route("az/d1").unwrap();
    call(&route, &hello(false)).await.unwrap();
    let mut requests = azure.requests().await.into_iter();
    let (requested, called) = (requests.next().unwrap(), requests.next().unwrap());
    let authorization = called.header("authorization").unwrap();
    assert_eq!(called.header("api-key"), None);
    (requested, authorization.to_owned())
}

#[tokio::test]
async fn an_application_with_a_secret_gets_tokens() {
    let azure = azure().await;
    let options = AzureOptions {
        tenant_id: Some("t1".to_owned()),
        client_id: Some("c1".to_owned()),
        client_secret: Some(KeySource::parse("env:APP_SECRET")),
        ..AzureOptions::default()
    };
    let env = [
        ("APP_SECRET", "secret-1"),
        ("AZURE_AUTHORITY_HOST", azure.url()),
    ];
    let (requested, token) = token(&provider(&azure, options, env), &azure).await;
    assert_eq!(token, "Bearer of-the-application");
    assert!(requested.text().contains("client_secret=secret-1"));
}

#[tokio::test]
async fn a_managed_identity_gets_tokens_from_its_host() {
    let azure = azure().await;
    let options = || AzureOptions {
        client_id: Some("c1".to_owned()),
        ..AzureOptions::default()
    };
    let env = [("AZURE_POD_IDENTITY_AUTHORITY_HOST", azure.url())];
    let (requested, machine) = token(&provider(&azure, options(), env), &azure).await;
    assert_eq!(machine, "Bearer of-the-machine");
    assert_eq!(requested.header("metadata"), Some("true"));
    assert!(requested.path.ends_with("&client_id=c1"));

    let endpoint = format!("{}/msi/token", azure.url());
    let env = [
        ("IDENTITY_ENDPOINT", endpoint.as_str()),
        ("IDENTITY_HEADER", "h1"),
    ];
    let (requested, app) = token(&provider(&azure, options(), env), &azure).await;
    assert_eq!(app, "Bearer of-the-app-service");
    assert_eq!(requested.header("x-identity-header"), Some("h1"));
}

#[tokio::test]
async fn a_new_configuration_goes_on_with_the_token_of_the_same_application() {
    let azure = azure().await;
    let configured = |client: &str, secret: &str| {
        let options = AzureOptions {
            tenant_id: Some("t1".to_owned()),
            client_id: Some(client.to_owned()),
            client_secret: Some(KeySource::parse(secret)),
            ..AzureOptions::default()
        };
        provider(&azure, options, [("AZURE_AUTHORITY_HOST", azure.url())])
    };
    let first = configured("c1", "secret-1");
    token(&first, &azure).await;
    // From now on the service gives no tokens.
    azure.respond_with(
        |request: &ReceivedRequest| match request.path.starts_with("/t1/oauth2/") {
            true => MockResponse::json(401, r#"{"error":"invalid_client"}"#),
            false => MockResponse::json(200, CHAT_RESPONSE),
        },
    );
    let call_next = async |client: &str, secret: &str| {
        let next = configured(client, secret);
        next.take_over(&first);
        let route = next.route("az/d1").unwrap();
        call(&route, &hello(false)).await.is_ok()
    };
    assert!(call_next("c1", "secret-1").await);
    assert!(!call_next("c2", "secret-1").await);
    assert!(!call_next("c1", "secret-2").await);
}

#[tokio::test]
async fn no_token_is_sent_to_an_address_that_is_not_azures_unless_an_identity_is_configured() {
    let azure = azure().await;
    let env = [("AZURE_POD_IDENTITY_AUTHORITY_HOST", azure.url())];
    let providers = provider(&azure, AzureOptions::default(), env);
    let route = providers.route("az/d1").unwrap();
    call(&route, &hello(false)).await.unwrap_err();
    assert!(azure.requests().await.is_empty());
}
