//! Credentials of a cloud that cannot be obtained, as clients see it.

use prowess_provider::config::{ProviderConfig, ProviderKind, ProvidersConfig, VertexOptions};
use prowess_provider::{Env, Providers};
use prowess_server::ServerSettings;
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;
use serde_json::json;

use crate::bodies::{MESSAGES, question};
use crate::gateway::{Gateway, path};
use crate::runs::stored;

const CLIENTS: [ClientDialect; 3] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
];

/// A gateway with a provider in Google's cloud, whose source of tokens answers with a status.
async fn gateway(status: u16) -> (Gateway, MockUpstream, tempfile::TempDir) {
    let cloud = MockUpstream::start().await;
    cloud.respond_with(move |request| match request.path.as_str() {
        "/token" => MockResponse::json(status, r#"{"error":"no"}"#),
        _ => MockResponse::json(200, MESSAGES),
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("user.json");
    let user = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "s",
        "refresh_token": "r", "token_uri": format!("{}/token", cloud.url()),
    });
    std::fs::write(&file, user.to_string()).unwrap();
    let kind = ProviderKind::new(VertexOptions {
        project: Some("p1".to_owned()),
        credentials: Some(file),
        ..VertexOptions::default()
    });
    let providers = Providers::new(ProvidersConfig {
        providers: vec![ProviderConfig::new("v", kind).with_base_url(cloud.url())],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    });
    let settings = ServerSettings {
        providers: Some(providers.unwrap()),
        ..ServerSettings::default()
    };
    (Gateway::with(settings).await, cloud, folder)
}

#[tokio::test]
async fn a_source_of_credentials_that_fails_for_now_makes_clients_try_again() {
    for (status, expected, after) in [(503, 503, Some("1")), (400, 401, None)] {
        let (gateway, cloud, _folder) = gateway(status).await;
        for client in CLIENTS {
            for stream in [false, true] {
                let body = question(client, "v/claude-x", stream).to_string();
                let answer = gateway.post(path(client), body).await;
                assert_eq!(answer.status.as_u16(), expected, "{}", answer.text());
                assert_eq!(answer.header("retry-after"), after);
                let error = &answer.json()["error"];
                let message = error["message"].as_str().unwrap();
                assert!(
                    message.contains("could not obtain credentials"),
                    "{message}"
                );
            }
        }
        let skill = stored(&gateway).await;
        let mut run = question(ClientDialect::Messages, "v/claude-x", false);
        run["container"] = json!({"skills": [{"type": "custom", "skill_id": skill}]});
        let answer = gateway.post("/v1/messages", run.to_string()).await;
        assert_eq!(answer.status.as_u16(), expected, "{}", answer.text());
        assert_eq!(answer.header("retry-after"), after);
        let requests = cloud.requests().await;
        assert!(requests.iter().all(|request| request.path == "/token"));
    }
}
