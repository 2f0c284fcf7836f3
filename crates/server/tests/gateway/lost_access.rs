//! Streams that go on after a request, when its key is not accepted any more.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use prowess_store::{KeyChange, KeyGranter, KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::bodies::{CHAT_STREAM, MESSAGES_STREAM, question};
use crate::gateway::{Gateway, path};
use crate::runs::{load, model_response, request_naming, stored};

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

/// The body of a response to a request that was sent, which has started.
async fn begin_post(gateway: &Gateway, key: &str, path: &str, request: &Value) -> Body {
    let request = Request::builder()
        .method("POST")
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("x-api-key", key)
        .body(Body::from(request.to_string()));
    let response = gateway.app.service().oneshot(request.unwrap()).await;
    let response = response.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    response.into_body()
}

/// The beginning of a stream, up to the event with this text.
fn beginning(stream: &str, text: &str) -> MockResponse {
    let start = stream.find(text).unwrap();
    let end = stream[start..].find("\n\n").unwrap();
    MockResponse::sse(&stream[..start + end + 2]).then_hang()
}

/// The usage of all requests so far, once it is written.
async fn usage(gateway: &Gateway) -> Value {
    loop {
        gateway.app.flush().await;
        let answer = gateway.get("/v1/usage", &[]).await.json();
        if answer["data"][0]["output_tokens"].is_u64() {
            return answer["data"][0].clone();
        }
        tokio::task::yield_now().await;
    }
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
async fn a_response_that_has_started_ends_with_its_key() {
    for (client, model, stream, loss) in [
        // Passed through, and translated.
        (
            ClientDialect::Messages,
            "ant/m1",
            MESSAGES_STREAM,
            Loss::Key,
        ),
        (ClientDialect::Chat, "oai/m1", CHAT_STREAM, Loss::Scope),
        (ClientDialect::Messages, "oai/m1", CHAT_STREAM, Loss::Scope),
        (ClientDialect::Chat, "ant/m1", MESSAGES_STREAM, Loss::Key),
        (
            ClientDialect::Responses,
            "ant/m1",
            MESSAGES_STREAM,
            Loss::Key,
        ),
    ] {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(beginning(stream, "Looking."));
        let limits = KeyLimits::default();
        let key = gateway.key("one", KeyScope::Use, &limits).await;
        let request = question(client, model, true);
        let body = begin_post(&gateway, &key, path(client), &request).await;
        loss.happen(&gateway, &key).await;
        let text = read(body).await;
        let (_, after) = text.split_at(text.find("Looking.").unwrap());
        assert!(after.contains(loss.code()), "{client:?} {model}: {text}");
        gateway.upstream.client_disconnected().await;
        // What it has got is counted.
        let used = usage(&gateway).await;
        assert!(used["output_tokens"].as_u64() > Some(0), "{used}");
        assert_eq!(used["requests"], 1, "{used}");
    }
}

#[tokio::test]
async fn who_waits_for_a_response_is_refused_once_its_key_is() {
    for (client, model) in [
        (ClientDialect::Messages, "ant/m1"),
        (ClientDialect::Chat, "ant/m1"),
    ] {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(MockResponse::never());
        let limits = KeyLimits::default();
        let key = gateway.key("one", KeyScope::Use, &limits).await;
        let headers = [("x-api-key", key.as_str())];
        let request = question(client, model, false).to_string();
        let waiting = gateway.send(path(client), &headers, request);
        let revoking = async {
            gateway.upstream.next_request().await;
            Loss::Key.happen(&gateway, &key).await;
        };
        let both = async { tokio::join!(waiting, revoking) };
        let both = tokio::time::timeout(Duration::from_secs(30), both);
        let (refused, ()) = both.await.unwrap();
        assert_eq!(refused.status, 401, "{}", refused.text());
        assert!(refused.text().contains("key-unknown"), "{}", refused.text());
        gateway.upstream.client_disconnected().await;
    }
}

#[tokio::test]
async fn a_run_ends_with_its_key_in_any_turn() {
    for (client, stream) in [
        (ClientDialect::Messages, true),
        (ClientDialect::Chat, true),
        (ClientDialect::Messages, false),
    ] {
        let gateway = Gateway::start().await;
        let skill = stored(&gateway).await;
        let first = model_response("oai/m1", stream, "Let me see.", &load());
        gateway.upstream.respond(first);
        gateway.upstream.respond(MockResponse::never());
        let limits = KeyLimits::default();
        let key = gateway.key("default", KeyScope::Use, &limits).await;
        let request = request_naming(client, "oai/m1", &skill, stream).to_string();
        let headers = [("x-api-key", key.as_str())];
        let running = gateway.send(path(client), &headers, request);
        let revoking = async {
            for _ in 0..2 {
                gateway.upstream.next_request().await;
            }
            Loss::Key.happen(&gateway, &key).await;
        };
        let both = async { tokio::join!(running, revoking) };
        let both = tokio::time::timeout(Duration::from_secs(30), both);
        let (ended, ()) = both.await.unwrap();
        let expected = if stream { 200 } else { 401 };
        assert_eq!(ended.status, expected, "{}", ended.text());
        assert!(ended.text().contains("key-unknown"), "{}", ended.text());
        gateway.upstream.client_disconnected().await;
        // Of the turn that was made.
        let used = usage(&gateway).await;
        assert!(used["output_tokens"].as_u64() >= Some(10), "{used}");
    }
}

#[tokio::test]
async fn a_stream_of_another_endpoint_ends_with_its_key_too() {
    let gateway = Gateway::start().await;
    let event =
        "data: {\"id\":\"c1\",\"object\":\"text_completion\",\"choices\":[{\"text\":\"Hi\"}]}\n\n";
    gateway
        .upstream
        .respond(MockResponse::sse(event).then_hang());
    let limits = KeyLimits::default();
    let key = gateway.key("one", KeyScope::Use, &limits).await;
    let request = json!({"model": "oai/m1", "prompt": "Hello", "stream": true});
    let body = begin_post(&gateway, &key, "/v1/completions", &request).await;
    Loss::Key.happen(&gateway, &key).await;
    let text = read(body).await;
    assert!(text.starts_with(event), "{text}");
    assert!(text.contains("key-unknown"), "{text}");
    gateway.upstream.client_disconnected().await;
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
