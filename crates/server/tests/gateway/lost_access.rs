//! Streams that go on after a request, when its key is not accepted any more.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use prowess_store::{KeyChange, KeyGranter, KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::json;
use tower::ServiceExt;

use crate::bodies::question;
use crate::gateway::{Gateway, path};

/// What is done to a key.
#[derive(Debug, Clone, Copy)]
enum Loss {
    Key,
    Scope,
}

impl Loss {
    /// The code of the error.
    fn code(self) -> &'static str {
        match self {
            Loss::Key => "key-unknown",
            Loss::Scope => "key-scope",
        }
    }

    async fn happen(self, gateway: &Gateway, key: &str) {
        let store = gateway.app.store();
        let record = store.authenticate(key).await.unwrap().unwrap();
        let tenant = &record.tenant;
        match self {
            Loss::Key => store.revoke_key(tenant, &record.id).await.unwrap(),
            Loss::Scope => {
                let change = KeyChange {
                    scopes: Some(vec![KeyScope::Read]),
                    ..KeyChange::default()
                };
                let granter = KeyGranter::Operator;
                let changed = store.update_key(Some(tenant), &record.id, &change, &granter);
                changed.await.unwrap();
            }
        }
    }
}

/// The body of a stream that has started.
async fn begin(gateway: &Gateway, key: &str, path: &str) -> Body {
    let request = Request::builder()
        .uri(path)
        .header("host", "localhost")
        .header("x-api-key", key)
        .body(Body::empty());
    let response = gateway.app.service().oneshot(request.unwrap()).await;
    let response = response.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    response.into_body()
}

/// All of a stream, once it has ended.
async fn read(body: Body) -> String {
    let body = tokio::time::timeout(Duration::from_secs(30), to_bytes(body, usize::MAX));
    String::from_utf8(body.await.unwrap().unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn who_follows_a_run_does_so_as_long_as_its_key_is_accepted() {
    for loss in [Loss::Key, Loss::Scope] {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(MockResponse::never());
        let limits = KeyLimits::default();
        let key = gateway.key("one", KeyScope::Use, &limits).await;
        let request = json!({"model": "ant/m1", "input": "Hello", "background": true});
        let headers = [("x-api-key", key.as_str())];
        let started = gateway
            .send("/v1/responses", &headers, request.to_string())
            .await;
        let (run, response) = (started.header("prowess-run").unwrap(), started.json());
        let response = response["id"].as_str().unwrap();
        let events = format!("/v1/runs/{run}/events");
        let events = begin(&gateway, &key, &events).await;
        let steps = format!("/v1/runs/{run}/events?format=steps");
        let steps = begin(&gateway, &key, &steps).await;
        let stream = format!("/v1/responses/{response}?stream=true");
        let stream = begin(&gateway, &key, &stream).await;
        // One of another key of the tenant goes on.
        let other = gateway.key("one", KeyScope::Use, &limits).await;
        let followed = begin(&gateway, &other, &format!("/v1/runs/{run}/events")).await;
        loss.happen(&gateway, &key).await;
        for body in [events, stream] {
            let text = read(body).await;
            assert!(text.contains("event: error\n"), "{text}");
            assert!(text.contains(loss.code()), "{text}");
            // The run itself goes on.
            assert!(!text.contains("response.failed"), "{text}");
        }
        let text = read(steps).await;
        let last = text.trim_end().rsplit("\n\n").next().unwrap();
        assert!(last.starts_with("data: {\"kind\":\"error\""), "{text}");
        assert!(last.contains(loss.code()), "{text}");
        let cancel = format!("/v1/runs/{run}/cancel");
        let headers = [("x-api-key", other.as_str())];
        gateway.send(&cancel, &headers, "").await;
        let text = read(followed).await;
        assert!(!text.contains(loss.code()), "{text}");
    }
}

#[tokio::test]
async fn who_waits_for_a_kept_run_is_refused_once_its_key_is() {
    for stream in [false, true] {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(MockResponse::never());
        let limits = KeyLimits::default();
        let key = gateway.key("one", KeyScope::Use, &limits).await;
        let client = ClientDialect::Messages;
        let body = question(client, "ant/m1", stream).to_string();
        let headers = [("x-api-key", key.as_str()), ("prowess-keep", "true")];
        let waiting = gateway.send(path(client), &headers, body);
        let revoking = async {
            gateway.upstream.next_request().await;
            Loss::Key.happen(&gateway, &key).await;
        };
        let both = async { tokio::join!(waiting, revoking) };
        let both = tokio::time::timeout(Duration::from_secs(30), both);
        let (refused, ()) = both.await.unwrap();
        assert_eq!(refused.status, 401, "{}", refused.text());
        assert!(refused.text().contains("key-unknown"), "{}", refused.text());
    }
}

#[tokio::test]
async fn an_idempotency_key_names_a_request_of_one_dialect() {
    let gateway = Gateway::start().await;
    let body = json!({
        "model": "stage/hero", "max_tokens": 50,
        "messages": [{"role": "user", "content": "Hello"}],
    });
    let body = body.to_string();
    let headers = [("idempotency-key", "order-17")];
    let send = |client| gateway.send(path(client), &headers, body.clone());
    let first = send(ClientDialect::Messages).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let other = send(ClientDialect::Chat).await;
    assert_eq!(other.status, 409, "{}", other.text());
    assert_eq!(other.code(), "idempotency-key-reused");
    let again = send(ClientDialect::Messages).await;
    assert_eq!(again.json(), first.json());
}
