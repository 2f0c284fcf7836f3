//! Batches over HTTP, up to where their requests are run.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, StatusCode};
use prowess_provider::Providers;
use prowess_provider::config::{
    AnthropicOptions, ModelConfig, ProviderConfig, ProviderKind, ProvidersConfig,
};
use prowess_server::{BatchSettings, SecretString, ServerSettings};
use prowess_store::KeyScope;
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use serde_json::{Value, json};

use crate::auth::small;
use crate::client::{ClientResponse, Form, Server, TestDialect};
use crate::running::{Running, patient};

const MESSAGES: &str = "/v1/messages/batches";

async fn server() -> Server {
    Server::with(ServerSettings {
        request_bytes: 10_000,
        batches: BatchSettings {
            max_requests: 3,
            max_bytes: 100_000,
            max_open: 2,
            ..BatchSettings::default()
        },
        ..ServerSettings::default()
    })
    .await
}

fn request(custom_id: &str) -> Value {
    let params = json!({"model": "m", "max_tokens": 1, "messages": []});
    json!({"custom_id": custom_id, "params": params})
}

async fn create(server: &Server, requests: &[Value]) -> ClientResponse {
    let call = server.post(TestDialect::Ga, MESSAGES);
    call.json(&json!({ "requests": requests })).await
}

fn message(response: &ClientResponse) -> String {
    assert_eq!(response.status, StatusCode::BAD_REQUEST, "{response:?}");
    let body = response.json();
    body["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_batch_of_messages_is_created_listed_cancelled_and_deleted() {
    let server = server().await;
    let batch = create(&server, &[request("a"), request("b")]).await.ok();
    assert_eq!(batch["type"], "message_batch");
    assert_eq!(batch["processing_status"], "in_progress");
    assert_eq!(batch["request_counts"]["processing"], 2);
    assert_eq!(batch["results_url"], Value::Null);
    let path = format!("{MESSAGES}/{}", batch["id"].as_str().unwrap());
    let get = async |path: &str| server.get(TestDialect::Ga, path).send().await;
    assert_eq!(get(&path).await.ok(), batch);
    let list = get(MESSAGES).await.ok();
    assert_eq!(
        (&list["data"][0], &list["has_more"]),
        (&batch, &json!(false))
    );
    let results = format!("{path}/results");
    assert_eq!(get(&results).await.code(), "batch-in-progress");
    let refused = server.delete(TestDialect::Ga, &path).send().await;
    assert_eq!(refused.code(), "batch-in-progress");
    let cancel = server.post(TestDialect::Ga, &format!("{path}/cancel"));
    let cancelled = cancel.send().await.ok();
    assert_eq!(cancelled["processing_status"], "ended");
    assert_eq!(cancelled["request_counts"]["canceled"], 2);
    let results = get(cancelled["results_url"].as_str().unwrap()).await;
    let lines = String::from_utf8(results.body.to_vec()).unwrap();
    assert_eq!(
        lines.lines().next(),
        Some(r#"{"custom_id":"a","result":{"type":"canceled"}}"#)
    );
    assert_eq!(lines.lines().count(), 2);
    let deleted = server.delete(TestDialect::Ga, &path).send().await.ok();
    assert_eq!(deleted["type"], "message_batch_deleted");
    assert_eq!(get(&path).await.code(), "batch-not-found");
}

#[tokio::test]
async fn a_mistake_names_its_request_and_leaves_no_batch() {
    let server = server().await;
    let twice = create(&server, &[request("a"), request("a")]).await;
    assert!(message(&twice).starts_with("requests.1.custom_id: `a` is used"));
    let name = create(&server, &[request("a"), request("a b")]).await;
    assert!(message(&name).starts_with("requests.1.custom_id: `a b` is not"));
    let four: Vec<_> = ["a", "b", "c", "d"].map(request).into();
    let many = create(&server, &four).await;
    assert_eq!(many.code(), "batch-too-many-requests");
    assert_eq!(create(&server, &[]).await.code(), "batch-empty");
    let large = request(&"x".repeat(20_000));
    let large = create(&server, &[large]).await;
    assert!(message(&large).starts_with("requests.0: the request has more than 10000"));
    for text in ["", "[]", "{\"requests\":[", "{}"] {
        let call = server.post(TestDialect::Ga, MESSAGES);
        let refused = call.body(Body::from(text)).await;
        assert_eq!(refused.code(), "json-invalid", "{text}");
    }
    let spaces = " ".repeat(200_000);
    let call = server.post(TestDialect::Ga, MESSAGES);
    let refused = call.body(Body::from(spaces)).await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    let list = server.get(TestDialect::Ga, MESSAGES).send().await.ok();
    assert_eq!(list["data"], json!([]));
}

#[tokio::test]
async fn a_batch_of_a_file_is_created_listed_and_cancelled() {
    let server = server().await;
    let upload = async |purpose: &str| {
        let form = Form::default()
            .text("purpose", purpose)
            .file("file", "in.jsonl", b"{}\n");
        let file = server.post(TestDialect::OpenAi, "/v1/files").form(&form);
        file.await.ok()["id"].as_str().unwrap().to_owned()
    };
    let create = async |change: Value| {
        let mut body = json!({
            "input_file_id": upload("batch").await,
            "endpoint": "/v1/responses",
            "completion_window": "24h",
            "metadata": {"a": "b"},
        });
        let body_fields = body.as_object_mut().unwrap();
        body_fields.extend(change.as_object().unwrap().clone());
        let call = server.post(TestDialect::OpenAi, "/v1/batches");
        call.json(&body).await
    };
    let other = upload("user_data").await;
    for (change, field) in [
        (json!({"endpoint": "/v1/embeddings"}), "endpoint"),
        (json!({"completion_window": "1h"}), "completion_window"),
        (json!({"input_file_id": other}), "input_file_id"),
        (json!({"output_expires_after": {}}), "output_expires_after"),
    ] {
        let refused = create(change).await;
        assert_eq!(refused.json()["error"]["param"], field);
    }
    let missing = create(json!({"input_file_id": "file_0"})).await;
    assert_eq!(missing.code(), "file-not-found");
    let batch = create(json!({})).await.ok();
    assert_eq!(
        (&batch["object"], &batch["status"]),
        (&json!("batch"), &json!("validating"))
    );
    assert_eq!(batch["metadata"], json!({"a": "b"}));
    let path = format!("/v1/batches/{}", batch["id"].as_str().unwrap());
    let found = server.get(TestDialect::OpenAi, &path).send().await.ok();
    assert_eq!(found, batch);
    let list = server.get(TestDialect::OpenAi, "/v1/batches").send().await;
    assert_eq!(list.ok()["data"], json!([batch]));
    let cancel = async || {
        let call = server.post(TestDialect::OpenAi, &format!("{path}/cancel"));
        call.send().await.ok()["status"].clone()
    };
    assert_eq!(cancel().await, "cancelled");
    assert_eq!(cancel().await, "cancelled");
    // The second time there was nothing to cancel.
    let log = "/v1/admin/audit?action=batch.cancel";
    let log = server.get(TestDialect::OpenAi, log).send().await.ok();
    assert_eq!(log["data"].as_array().unwrap().len(), 1, "{log}");
    // A tenant has so many at once.
    create(json!({})).await.ok();
    create(json!({})).await.ok();
    let refused = create(json!({})).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (429, "too-many-batches")
    );
    assert_eq!(refused.header("retry-after"), Some("60"));
    let refused = server.post(TestDialect::Ga, MESSAGES);
    let refused = refused.json(&json!({ "requests": [request("a")] })).await;
    assert_eq!(refused.code(), "too-many-batches");
    assert_eq!(refused.header("retry-after"), Some("60"));
}

#[tokio::test]
async fn a_batch_is_created_once_for_an_idempotency_key() {
    let server = server().await;
    let create = async |key: &str, requests: &[Value]| {
        let call = server.post(TestDialect::Ga, MESSAGES);
        let call = call.header("idempotency-key", key);
        call.json(&json!({ "requests": requests })).await
    };
    let first = create("one", &[request("a")]).await.ok();
    let again = create("one", &[request("a")]).await.ok();
    assert_eq!(first, again);
    let other = create("one", &[request("b")]).await;
    assert_eq!(
        (other.status, other.code().as_str()),
        (StatusCode::CONFLICT, "idempotency-key-reused")
    );
    assert_eq!(other.header("x-should-retry"), Some("false"));
    assert_eq!(create("one", &[request("a")]).await.ok()["id"], first["id"]);
    // A request that was refused has created nothing.
    assert_eq!(create("two", &[]).await.code(), "batch-empty");
    let second = create("two", &[request("a")]).await.ok();
    assert_ne!(first["id"], second["id"]);
    let list = server.get(TestDialect::Ga, MESSAGES).send().await.ok();
    assert_eq!(list["data"].as_array().unwrap().len(), 2);
    let refused = create("", &[request("a")]).await;
    assert_eq!(refused.code(), "idempotency-key-invalid");
}

#[tokio::test]
async fn a_batch_of_a_file_is_created_once_for_an_idempotency_key() {
    let server = server().await;
    let form = Form::default()
        .text("purpose", "batch")
        .file("file", "in.jsonl", b"{}\n");
    let file = server.post(TestDialect::OpenAi, "/v1/files").form(&form);
    let file = file.await.ok()["id"].as_str().unwrap().to_owned();
    let create = async |endpoint: &str| {
        let body = json!({
            "input_file_id": file,
            "endpoint": endpoint,
            "completion_window": "24h",
        });
        let call = server.post(TestDialect::OpenAi, "/v1/batches");
        call.header("idempotency-key", "one").json(&body).await
    };
    let first = create("/v1/responses").await.ok();
    assert_eq!(create("/v1/responses").await.ok()["id"], first["id"]);
    let delete = server.delete(TestDialect::OpenAi, &format!("/v1/files/{file}"));
    delete.send().await.ok();
    assert_eq!(create("/v1/responses").await.ok()["id"], first["id"]);
    let refused = create("/v1/chat/completions").await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (StatusCode::CONFLICT, "idempotency-key-reused")
    );
}

/// Batches are scheduled once the server has a socket, so all requests wait until then.
#[tokio::test]
async fn a_key_that_loses_its_scope_sends_no_more_requests_of_its_batches() {
    const MASTER: &str = "the-master-key-of-these-tests";
    let server = Server::with(ServerSettings {
        master_key: Some(SecretString::new(MASTER)),
        providers: Some(small()),
        ..ServerSettings::default()
    })
    .await;
    let mut batches = Vec::new();
    for tenant in ["kept", "changed"] {
        let key = server.key(tenant, &[KeyScope::Use]).await;
        let params = json!({"model": "small", "max_tokens": 9, "messages": [
            {"role": "user", "content": "Hello"},
        ]});
        let requests = json!({"requests": [{"custom_id": "a", "params": params}]});
        let created = server.post(TestDialect::Ga, MESSAGES).key(&key);
        let batch = created.json(&requests).await.ok();
        batches.push((tenant, batch["id"].as_str().unwrap().to_owned()));
    }
    let keys = server.get(TestDialect::OpenAi, "/v1/admin/keys?tenant=changed");
    let keys = keys.key(MASTER).send().await.ok();
    let path = format!("/v1/admin/keys/{}", keys["data"][0]["id"].as_str().unwrap());
    let change = server.request(TestDialect::OpenAi, Method::PATCH, &path);
    let change = change.key(MASTER);
    change.json(&json!({"scopes": ["read"]})).await.ok();

    let running = Running::serve(server, patient()).await;
    let mut results = Vec::new();
    for (tenant, id) in batches {
        let get = async |path: &str| {
            let call = running.server.get(TestDialect::Ga, path).key(MASTER);
            call.header("prowess-tenant", tenant).send().await
        };
        let path = format!("{MESSAGES}/{id}");
        while get(&path).await.ok()["processing_status"] != "ended" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let result = get(&format!("{path}/results")).await;
        results.push(serde_json::from_slice::<Value>(&result.body).unwrap());
    }
    assert_eq!(results[0]["result"]["type"], "succeeded", "{results:?}");
    let refused = &results[1]["result"];
    assert_eq!(refused["type"], "errored", "{refused}");
    let error = &refused["error"]["error"];
    assert_eq!(error["type"], "permission_error", "{refused}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("lacks a required scope: use"), "{message}");
}

#[tokio::test]
async fn the_betas_that_a_batch_is_created_with_are_those_of_its_requests() {
    let upstream = MockUpstream::start().await;
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn",
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    upstream.respond_always(MockResponse::json(200, &message.to_string()));
    let provider = ProviderConfig::new("ant", ProviderKind::new(AnthropicOptions::default()));
    let providers = Providers::new(ProvidersConfig {
        providers: vec![
            provider
                .with_base_url(upstream.url())
                .with_api_key("the-key-at-anthropic"),
        ],
        models: vec![ModelConfig::new("m", "ant")],
        ..ProvidersConfig::default()
    });
    let server = Server::with(ServerSettings {
        providers: Some(providers.unwrap()),
        ..ServerSettings::default()
    })
    .await;
    let params = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Hello"},
    ]});
    let requests = json!({"requests": [{"custom_id": "a", "params": params}]});
    let created = server.post(TestDialect::Ga, MESSAGES).header(
        "anthropic-beta",
        "message-batches-2024-09-24, context-1m-2025-08-07",
    );
    created.json(&requests).await.ok();
    let _running = Running::serve(server, patient()).await;
    let sent = upstream.next_request().await;
    let betas = sent.header("anthropic-beta").unwrap_or_default();
    assert!(betas.contains("context-1m-2025-08-07"), "{betas}");
    assert!(!betas.contains("message-batches"), "{betas}");
}

#[tokio::test]
async fn a_batch_refuses_a_clients_key_of_a_provider_instead_of_using_another() {
    let server = server().await;
    for (path, body) in [
        (MESSAGES, json!({ "requests": [request("a")] })),
        (
            "/v1/batches",
            json!({
                "input_file_id": "file_1", "endpoint": "/v1/chat/completions",
                "completion_window": "24h",
            }),
        ),
    ] {
        let call = server.post(TestDialect::OpenAi, path);
        let refused = call
            .header("prowess-provider-key", "mine")
            .json(&body)
            .await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
        assert_eq!(refused.code(), "batch-with-provider-key");
        assert!(!refused.exchange().contains("mine"), "{refused:?}");
    }
}
