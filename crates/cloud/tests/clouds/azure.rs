//! Azure's sources.

use std::sync::Arc;

use prowess_cloud::{
    AzureCloud, AzureTokenOptions, AzureTokens, CloudError, CloudToken, CredentialSource, Issued,
    Variables,
};
use serde_json::json;

use crate::stand_in::{StandIn, clock, fields, header, json, seconds, variables};

async fn fetch(
    options: AzureTokenOptions,
    variables: Variables,
    service: &Arc<StandIn>,
) -> Result<Issued<CloudToken>, CloudError> {
    let source = AzureTokens::new(options, variables, Arc::clone(service) as _, clock());
    source.fetch().await
}

fn entra() -> Arc<StandIn> {
    StandIn::new(|_| json(200, json!({"access_token": "entra", "expires_in": 3599})))
}

#[tokio::test(start_paused = true)]
async fn an_application_proves_itself_with_its_secret() {
    let service = entra();
    let env = variables([
        ("AZURE_TENANT_ID", "t1"),
        ("AZURE_CLIENT_ID", "c1"),
        ("AZURE_CLIENT_SECRET", "s1"),
    ]);
    let token = fetch(AzureTokenOptions::default(), env, &service).await;
    assert_eq!(token.unwrap().value.as_str(), "entra");
    assert_eq!(
        service.lines(),
        ["POST https://login.microsoftonline.com/t1/oauth2/v2.0/token"]
    );
    let fields = fields(&service.requests().pop().unwrap());
    assert_eq!(fields.get("client_secret").unwrap(), "s1");
    assert_eq!(fields.get("grant_type").unwrap(), "client_credentials");
    let scope = "https://cognitiveservices.azure.com/.default";
    assert_eq!(fields.get("scope").unwrap(), scope);
}

#[tokio::test(start_paused = true)]
async fn models_of_a_national_cloud_get_tokens_of_that_cloud() {
    let env = || {
        variables([
            ("AZURE_TENANT_ID", "t1"),
            ("AZURE_CLIENT_ID", "c1"),
            ("AZURE_CLIENT_SECRET", "s1"),
        ])
    };
    for (host, authority, scope) in [
        (
            "acme.openai.azure.us",
            "login.microsoftonline.us",
            "https://cognitiveservices.azure.us/.default",
        ),
        (
            "acme.openai.azure.cn",
            "login.partner.microsoftonline.cn",
            "https://cognitiveservices.azure.cn/.default",
        ),
        (
            "proxy.example",
            "login.microsoftonline.com",
            "https://cognitiveservices.azure.com/.default",
        ),
    ] {
        let service = entra();
        let options = AzureTokenOptions {
            cloud: AzureCloud::of_host(host),
            ..AzureTokenOptions::default()
        };
        fetch(options, env(), &service).await.unwrap();
        let request = service.requests().pop().unwrap();
        assert_eq!(request.uri().host(), Some(authority));
        assert_eq!(fields(&request).get("scope").unwrap(), scope);
    }

    let service = StandIn::new(|_| {
        let token = json!({"access_token": "identity", "expires_on": "1794711040"});
        json(200, token)
    });
    let options = AzureTokenOptions {
        cloud: AzureCloud::UsGovernment,
        ..AzureTokenOptions::default()
    };
    fetch(options, variables([]), &service).await.unwrap();
    let resource = "resource=https%3A%2F%2Fcognitiveservices.azure.us";
    assert!(service.lines().iter().all(|line| line.contains(resource)));
}

#[tokio::test(start_paused = true)]
async fn a_workload_proves_itself_with_the_token_of_another_issuer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "jwt-of-the-pod").unwrap();
    let service = entra();
    let env = variables([
        ("AZURE_TENANT_ID", "t1"),
        ("AZURE_CLIENT_ID", "c1"),
        ("AZURE_FEDERATED_TOKEN_FILE", file.to_str().unwrap()),
        ("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.us/"),
    ]);
    fetch(AzureTokenOptions::default(), env, &service)
        .await
        .unwrap();
    let request = service.requests().pop().unwrap();
    assert_eq!(request.uri().host(), Some("login.microsoftonline.us"));
    assert_eq!(
        fields(&request).get("client_assertion").unwrap(),
        "jwt-of-the-pod"
    );

    let incomplete = AzureTokenOptions {
        federated_token_file: Some(file),
        ..AzureTokenOptions::default()
    };
    let error = fetch(incomplete, variables([]), &service)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "workload identity: AZURE_TENANT_ID is not set, nor configured"
    );
}

#[tokio::test(start_paused = true)]
async fn managed_identities_have_one_address_per_sort_of_host() {
    let service = StandIn::new(|request| {
        let expires = match header(request, "metadata") {
            // One of them writes a text, the other a number.
            Some("true") => json!("1794711040"),
            _ => json!(1_794_711_040),
        };
        json(
            200,
            json!({"access_token": "identity", "expires_on": expires}),
        )
    });
    let machine = fetch(AzureTokenOptions::default(), variables([]), &service)
        .await
        .unwrap();
    assert_eq!(seconds(machine.expires.unwrap()), 1_794_711_040);
    let env = variables([
        ("IDENTITY_ENDPOINT", "http://localhost:4141/msi/token"),
        ("IDENTITY_HEADER", "h1"),
        ("AZURE_CLIENT_ID", "user-assigned"),
    ]);
    fetch(AzureTokenOptions::default(), env, &service)
        .await
        .unwrap();
    let resource = "resource=https%3A%2F%2Fcognitiveservices.azure.com";
    assert_eq!(
        service.lines(),
        [
            format!(
                "GET http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&{resource}"
            ),
            format!(
                "GET http://localhost:4141/msi/token?api-version=2019-08-01&{resource}&client_id=user-assigned"
            )
        ]
    );
    let app = service.requests().pop().unwrap();
    assert_eq!(header(&app, "x-identity-header"), Some("h1"));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_named_by_its_code_and_quotes_nothing_else() {
    let service = StandIn::new(|_| {
        json(
            401,
            json!({"error": "invalid_client", "error_description": "s1 is wrong"}),
        )
    });
    let env = variables([
        ("AZURE_TENANT_ID", "t1"),
        ("AZURE_CLIENT_ID", "c1"),
        ("AZURE_CLIENT_SECRET", "s1"),
    ]);
    let error = fetch(AzureTokenOptions::default(), env, &service)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "client secret: login.microsoftonline.com returned 401 Unauthorized (invalid_client)"
    );
    // A refusal is not repeated.
    assert_eq!(service.requests().len(), 1);

    let none = fetch(
        AzureTokenOptions::default(),
        variables([]),
        &StandIn::nowhere(),
    )
    .await;
    assert_eq!(
        none.unwrap_err().to_string(),
        "found no Azure credentials (client secret: AZURE_CLIENT_SECRET is not set; workload \
         identity: AZURE_FEDERATED_TOKEN_FILE is not set; managed identity: 169.254.169.254: it \
         does not exist); set api_key in the provider's configuration, or AZURE_TENANT_ID, \
         AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
    );
}
