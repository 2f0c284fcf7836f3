//! LiteLLM's endpoints at its paths, for its clients and monitors.

use prowess_server::{SecretString, ServerSettings};
use prowess_store::{KeyLimits, KeyScope};
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::question;
use crate::gateway::{Gateway, path};

#[tokio::test]
async fn models_are_called_without_v1() {
    let gateway = Gateway::start().await;
    for client in [
        ClientDialect::Chat,
        ClientDialect::Responses,
        ClientDialect::Messages,
    ] {
        let short = path(client).strip_prefix("/v1").unwrap();
        let request = question(client, "stage/hero", false).to_string();
        let answer = gateway.post(short, request).await;
        assert_eq!(answer.status, 200, "{short}: {}", answer.text());
        assert!(answer.text().contains("You said"), "{}", answer.text());
        let wrong = gateway.post(short, "{}").await;
        assert_eq!(wrong.status, 400, "{short}");
        assert_eq!(
            wrong.json()["type"] == "error",
            client == ClientDialect::Messages,
            "each in its own words"
        );
    }
    let counted = question(ClientDialect::Messages, "stage/hero", false).to_string();
    let counted = gateway.post("/messages/count_tokens", counted).await;
    assert!(counted.json()["input_tokens"].is_u64());
}

#[tokio::test]
async fn what_is_kept_is_found_without_v1() {
    let gateway = Gateway::start().await;
    let request = json!({"model": "stage/hero", "input": "Hi"}).to_string();
    let id = gateway.post("/responses", request).await.json()["id"].clone();
    let path = format!("/responses/{}", id.as_str().unwrap());
    assert_eq!(gateway.get(&path, &[]).await.json()["id"], id);
    assert_eq!(
        gateway
            .get(&format!("{path}/input_items"), &[])
            .await
            .status,
        200
    );
    assert_eq!(gateway.delete(&path, &[]).await.status, 200);
    assert_eq!(gateway.post("/conversations", "{}").await.status, 200);
    for path in ["/models", "/models/small", "/files", "/chat/completions"] {
        assert_eq!(gateway.get(path, &[]).await.status, 200, "{path}");
    }
    let wrong = gateway.get("/messages", &[]).await;
    assert_eq!(wrong.status, 405);
    assert_eq!(wrong.header("allow"), Some("POST"));
}

#[tokio::test]
async fn health_is_public_in_litellms_shapes() {
    let gateway = Gateway::with(ServerSettings {
        master_key: Some(SecretString::new("the-master-key-of-these-tests")),
        ..ServerSettings::default()
    })
    .await;
    for path in ["/health/liveliness", "/health/liveness"] {
        let alive = gateway.get(path, &[]).await;
        assert_eq!(alive.text(), "\"I'm alive!\"");
        assert_eq!(alive.header("content-type"), Some("application/json"));
    }
    let ready = gateway.get("/health/readiness", &[]).await;
    assert_eq!(ready.status, 200);
    assert_eq!(
        ready.json(),
        json!({"status": "healthy", "db": "connected"})
    );
    for path in ["/health", "/model/info", "/v1/model/info"] {
        assert_eq!(gateway.get(path, &[]).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn models_are_described_in_litellms_shapes() {
    let gateway = Gateway::start().await;
    let info = gateway.get("/model/info", &[]).await;
    insta::assert_snapshot!("model_info", info.render());
    assert_eq!(gateway.get("/v1/model/info", &[]).await.json(), info.json());
    let one = gateway
        .get("/model/info?litellm_model_id=patient", &[])
        .await;
    assert_eq!(one.json()["data"].as_array().unwrap().len(), 1);
    let health = gateway.get("/health", &[]).await.json();
    assert_eq!(health["healthy_count"], 2);
    assert_eq!(health["healthy_endpoints"][0]["model"], "ant/m1");
    assert_eq!(health["unhealthy_endpoints"], json!([]));
    // A key sees the models that it may use.
    let limits = KeyLimits {
        models: vec!["small".to_owned()],
        ..KeyLimits::default()
    };
    let key = gateway.key("one", KeyScope::Use, &limits).await;
    let seen = gateway.get("/model/info", &[("x-api-key", &key)]).await;
    let seen = seen.json();
    let names: Vec<&Value> = seen["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| &model["model_name"])
        .collect();
    assert_eq!(names, ["small"]);
}

#[tokio::test]
async fn a_model_is_not_deleted_over_http() {
    let gateway = Gateway::start().await;
    let refused = gateway.delete("/v1/models/small", &[]).await;
    insta::assert_snapshot!("not_deletable", refused.render());
    let unknown = gateway.delete("/v1/models/none", &[]).await;
    assert_eq!(unknown.status, 404);
    let there = gateway.get("/v1/models/small", &[]).await;
    assert_eq!(there.status, 200);
}
