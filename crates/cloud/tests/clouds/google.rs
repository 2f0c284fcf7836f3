//! Google's sources. Service accounts and users are tested where they are used, over HTTP, in
//! `prowess-provider`.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use prowess_cloud::{
    CloudError, CloudToken, CredentialSource, GoogleTokenOptions, GoogleTokens, Issued,
};
use serde_json::{Value, json};

use crate::stand_in::{StandIn, clock, fields, header, json, seconds, variables};

const IMPERSONATED: &str = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/robot@p1.iam.gserviceaccount.com:generateAccessToken";

fn write(folder: &Path, value: &Value) -> GoogleTokenOptions {
    let file = folder.join("credentials.json");
    std::fs::write(&file, value.to_string()).unwrap();
    GoogleTokenOptions {
        credentials: Some(file),
        ..GoogleTokenOptions::default()
    }
}

async fn fetch(
    options: GoogleTokenOptions,
    service: &Arc<StandIn>,
) -> Result<Issued<CloudToken>, CloudError> {
    let source = GoogleTokens::new(options, variables([]), Arc::clone(service) as _, clock());
    source.fetch().await
}

/// Google's services: the exchange of tokens, and impersonation with the exchanged token.
fn google() -> Arc<StandIn> {
    StandIn::new(|request: &Request<Bytes>| -> Option<Response<Bytes>> {
        match request.uri().host()? {
            "sts.googleapis.com" | "oauth2.googleapis.com" => json(
                200,
                json!({"access_token": "exchanged", "expires_in": 3600, "token_type": "Bearer"}),
            ),
            "issuer.example" => json(200, json!({"id_token": "from-url"})),
            "iamcredentials.googleapis.com" => {
                assert_eq!(header(request, "authorization"), Some("Bearer exchanged"));
                json(
                    200,
                    json!({"accessToken": "impersonated", "expireTime": "2026-11-15T02:50:40Z"}),
                )
            }
            _ => None,
        }
    })
}

fn external_account(source: Value) -> Value {
    json!({
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": source,
    })
}

#[tokio::test(start_paused = true)]
async fn a_token_of_another_issuer_in_a_file_is_exchanged() {
    let folder = tempfile::tempdir().unwrap();
    let subject = folder.path().join("subject");
    std::fs::write(&subject, "jwt-of-the-pod\n").unwrap();
    let service = google();
    let account = external_account(json!({"file": subject}));
    let token = fetch(write(folder.path(), &account), &service)
        .await
        .unwrap();
    assert_eq!(token.value.as_str(), "exchanged");
    assert_eq!(seconds(token.expires.unwrap()), 1_794_707_440 + 3600);
    let request = service.requests().pop().unwrap();
    let fields = fields(&request);
    let expected = [
        (
            "grant_type",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ),
        ("subject_token", "jwt-of-the-pod"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
        ("scope", "https://www.googleapis.com/auth/cloud-platform"),
    ];
    for (name, value) in expected {
        assert_eq!(fields.get(name).unwrap(), value);
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_of_another_issuer_at_an_address_impersonates_a_service_account() {
    let folder = tempfile::tempdir().unwrap();
    let service = google();
    let mut account = external_account(json!({
        "url": "https://issuer.example/token", "headers": {"x-proof": "p1"},
        "format": {"type": "json", "subject_token_field_name": "id_token"},
    }));
    account["service_account_impersonation_url"] = json!(IMPERSONATED);
    account["service_account_impersonation"] = json!({"token_lifetime_seconds": 1800});
    let token = fetch(write(folder.path(), &account), &service)
        .await
        .unwrap();
    assert_eq!(token.value.as_str(), "impersonated");
    assert_eq!(seconds(token.expires.unwrap()), 1_794_707_440 + 3600);
    let [requested, exchanged, impersonated] = service.requests().try_into().unwrap();
    assert_eq!(header(&requested, "x-proof"), Some("p1"));
    assert_eq!(fields(&exchanged).get("subject_token").unwrap(), "from-url");
    let body: Value = serde_json::from_slice(impersonated.body()).unwrap();
    assert_eq!(body["lifetime"], "1800s");
}

#[tokio::test(start_paused = true)]
async fn programs_and_addresses_in_clear_text_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let service = google();
    for (place, expected) in [
        (
            json!({"executable": {"command": "/bin/print-token"}}),
            "workload identity federation: credential_source names a program, which is not supported; use a file or a URL as credential_source",
        ),
        (
            json!({"url": "http://issuer.example/token"}),
            "workload identity federation: the address of \"issuer.example\" must begin with https://",
        ),
    ] {
        let options = write(folder.path(), &external_account(place));
        let error = fetch(options, &service).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert!(service.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn users_impersonate_by_their_file_or_by_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let service = google();
    let user = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "s", "refresh_token": "r",
    });
    let file = json!({
        "type": "impersonated_service_account", "source_credentials": user,
        "service_account_impersonation_url": IMPERSONATED,
    });
    let token = fetch(write(folder.path(), &file), &service).await.unwrap();
    assert_eq!(token.value.as_str(), "impersonated");
    let options = GoogleTokenOptions {
        impersonate: Some("robot@p1.iam.gserviceaccount.com".to_owned()),
        ..write(folder.path(), &user)
    };
    let token = fetch(options, &service).await.unwrap();
    assert_eq!(token.value.as_str(), "impersonated");
    let last = service.requests().pop().unwrap();
    assert_eq!(last.uri().to_string(), IMPERSONATED);
}

#[tokio::test(start_paused = true)]
async fn without_a_file_the_metadata_server_is_used() {
    let service = StandIn::new(|request| {
        assert_eq!(header(request, "metadata-flavor"), Some("Google"));
        json(
            200,
            json!({"access_token": "of-the-machine", "expires_in": 3599, "token_type": "Bearer"}),
        )
    });
    let token = fetch(GoogleTokenOptions::default(), &service)
        .await
        .unwrap();
    assert_eq!(token.value.as_str(), "of-the-machine");
    assert_eq!(
        service.lines(),
        [
            "GET http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn without_any_source_the_error_has_a_reason_for_each() {
    let service = StandIn::nowhere();
    let env = variables([("HOME", "/nowhere")]);
    let options = GoogleTokenOptions::default();
    let source = GoogleTokens::new(options, env, Arc::clone(&service) as _, clock());
    let error = source.fetch().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "found no Google credentials (environment: GOOGLE_APPLICATION_CREDENTIALS is not set; gcloud: \
         /nowhere/.config/gcloud/application_default_credentials.json does not exist; metadata \
         server: 169.254.169.254: it does not exist); set credentials in the provider's \
         configuration or GOOGLE_APPLICATION_CREDENTIALS to a credentials file"
    );
    // Three attempts: it may only have been slow to start.
    assert_eq!(service.requests().len(), 3);
}
