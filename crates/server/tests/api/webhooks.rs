//! Webhooks: signed, repeated until they are delivered, and fair among tenants.
//!
//! Runs are cancelled in the store before a server has claimed them, which ends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_lc_rs::hmac;
use axum::body::Body;
use axum::http::Request;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_server::{
    App, ServeOptions, ServerSettings, SigningSecret, WebhookEndpoint, WebhookSettings, serve,
};
use prowess_store::{KeyScope, NewJournalRun, NewKey, NewWebhook, Store, StoreConfig, TenantId};
use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::running::NEVER;

const SECRET: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY: &str = r#"{"object":"event","id":"evt_1"}"#;

/// A data folder with ended runs, over which servers start.
struct Outbox {
    folder: TempDir,
    store: Store,
}

/// A server that delivers webhooks.
struct Delivering {
    stop: CancellationToken,
    served: JoinHandle<std::io::Result<()>>,
    app: App,
}

impl Outbox {
    async fn new() -> Outbox {
        let folder = tempfile::tempdir().unwrap();
        let config = StoreConfig::local(folder.path());
        let store = Store::open(&config).await.unwrap();
        Outbox { folder, store }
    }

    /// Ends a run with a webhook to a receiver.
    async fn end_run(&self, tenant: &str, receiver: &MockUpstream) {
        let tenant = TenantId::new(tenant).unwrap();
        self.store.ensure_tenant(&tenant, "a tenant").await.unwrap();
        let id = Store::new_run_id().unwrap();
        let new = NewJournalRun {
            id: &id,
            api_key: None,
            dialect: "responses",
            model: "m",
            kept: true,
            format: 1,
            idempotency_key: None,
            request_digest: "",
            request: b"",
        };
        self.store.enqueue_run(&tenant, &new).await.unwrap();
        let webhook = NewWebhook {
            url: &hook(receiver),
            body: BODY,
        };
        let cancelled = self.store.cancel_run(&tenant, &id, &[webhook]).await;
        cancelled.unwrap();
    }

    async fn serve(&self, receivers: &[&MockUpstream], settings: WebhookSettings) -> Delivering {
        let config = StoreConfig::local(self.folder.path());
        let store = Store::open(&config).await.unwrap();
        let endpoints = receivers.iter().map(|receiver| {
            let secret = SigningSecret::parse(&format!("whsec_{SECRET}")).unwrap();
            WebhookEndpoint::new(&hook(receiver), secret).unwrap()
        });
        let webhooks = WebhookSettings {
            endpoints: endpoints.collect(),
            allow_private: true,
            ..settings
        };
        let settings = ServerSettings {
            webhooks,
            ..ServerSettings::default()
        };
        let app = App::new(store, settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stop = CancellationToken::new();
        let served = serve(listener, app.clone(), stop.clone(), ServeOptions::default());
        Delivering {
            stop,
            served: tokio::spawn(served),
            app,
        }
    }

    /// Whether a webhook is still to be delivered, at whatever time.
    async fn contains(&self, id: &str) -> bool {
        let now = self.store.postpone_webhook(id, Duration::ZERO).await;
        now.unwrap();
        let due = self.store.take_due_webhooks(NEVER, 100, &[]).await.unwrap();
        due.iter().any(|webhook| webhook.id == id)
    }
}

impl Delivering {
    /// Stops it; attempts that have a response are then stored.
    async fn stop(self) {
        self.stop.cancel();
        self.served.await.unwrap().unwrap();
    }
}

fn hook(receiver: &MockUpstream) -> String {
    format!("{}/hook", receiver.url())
}

/// Repeats failed attempts at once.
fn impatient() -> WebhookSettings {
    WebhookSettings {
        first_retry: Duration::from_millis(5),
        longest_retry: Duration::from_millis(10),
        ..WebhookSettings::default()
    }
}

fn ok() -> MockResponse {
    MockResponse::json(200, "{}")
}

fn id(request: &ReceivedRequest) -> String {
    request.header("webhook-id").unwrap().to_owned()
}

/// As a receiver verifies a webhook.
fn is_signed(request: &ReceivedRequest) -> bool {
    let header = |name| request.header(name).unwrap();
    let signed = format!(
        "{}.{}.{}",
        header("webhook-id"),
        header("webhook-timestamp"),
        request.text()
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(SECRET).unwrap());
    let signature = header("webhook-signature").strip_prefix("v1,").unwrap();
    let signature = STANDARD.decode(signature).unwrap();
    hmac::verify(&key, signed.as_bytes(), &signature).is_ok()
}

#[tokio::test]
async fn a_webhook_is_signed_and_delivered_once() {
    let outbox = Outbox::new().await;
    let receiver = MockUpstream::start().await;
    receiver.respond_always(ok());
    outbox.end_run("acme", &receiver).await;
    let server = outbox.serve(&[&receiver], impatient()).await;
    let request = receiver.next_request().await;
    assert_eq!((&*request.method, &*request.path), ("POST", "/hook"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.text(), BODY);
    assert!(id(&request).starts_with("whd_"));
    assert!(is_signed(&request), "{request:?}");
    // One that comes later is found too.
    outbox.end_run("acme", &receiver).await;
    assert!(is_signed(&receiver.next_request().await));
    let service = server.app.service();
    server.stop().await;
    assert!(!outbox.contains(&id(&request)).await);
    assert_eq!(receiver.requests().await, []);
    let request = Request::get("/metrics").header("host", "localhost");
    let response = service.oneshot(request.body(Body::empty()).unwrap()).await;
    let metrics = axum::body::to_bytes(response.unwrap().into_body(), usize::MAX).await;
    let metrics = String::from_utf8(metrics.unwrap().to_vec()).unwrap();
    let delivered = r#"prowess_webhooks_total{outcome="delivered"}"#;
    assert!(metrics.contains(delivered), "{metrics}");
}

#[tokio::test]
async fn a_failed_attempt_is_repeated_with_the_same_id() {
    let outbox = Outbox::new().await;
    let receiver = MockUpstream::start().await;
    receiver.respond(MockResponse::json(500, "{}"));
    receiver.respond(MockResponse::hang_up());
    receiver.respond_always(ok());
    outbox.end_run("acme", &receiver).await;
    let server = outbox.serve(&[&receiver], impatient()).await;
    let first = receiver.next_request().await;
    for _ in 0..2 {
        let again = receiver.next_request().await;
        assert_eq!(id(&again), id(&first));
        assert_eq!(again.text(), first.text());
        assert!(is_signed(&again));
    }
    server.stop().await;
    assert!(!outbox.contains(&id(&first)).await);
    assert_eq!(receiver.requests().await, []);
}

#[tokio::test]
async fn a_receiver_that_is_slow_for_one_tenant_does_not_delay_another() {
    let outbox = Outbox::new().await;
    let (slow, fast) = (MockUpstream::start().await, MockUpstream::start().await);
    slow.respond_always(MockResponse::never());
    fast.respond_always(ok());
    for _ in 0..30 {
        outbox.end_run("slow", &slow).await;
    }
    outbox.end_run("fast", &fast).await;
    let patient = WebhookSettings {
        timeout: NEVER,
        ..impatient()
    };
    let server = outbox.serve(&[&slow, &fast], patient).await;
    assert!(is_signed(&fast.next_request().await));
    for _ in 0..4 {
        slow.next_request().await;
    }
    // The fast tenant still has room while the slow one has none.
    outbox.end_run("fast", &fast).await;
    fast.next_request().await;
    assert_eq!(slow.requests().await.len(), 0, "four at once");
    server.served.abort();
}

#[tokio::test]
async fn a_webhook_that_failed_is_delivered_after_a_restart() {
    let outbox = Outbox::new().await;
    let receiver = MockUpstream::start().await;
    let up = Arc::new(AtomicBool::new(false));
    let state = Arc::clone(&up);
    receiver.respond_with(move |_| match state.load(Ordering::SeqCst) {
        true => ok(),
        false => MockResponse::json(503, "{}"),
    });
    outbox.end_run("acme", &receiver).await;
    let first = outbox.serve(&[&receiver], impatient()).await;
    let attempt = receiver.next_request().await;
    first.stop().await;
    receiver.requests().await;
    up.store(true, Ordering::SeqCst);
    let second = outbox.serve(&[&receiver], impatient()).await;
    let delivered = receiver.next_request().await;
    assert_eq!(id(&delivered), id(&attempt));
    assert!(is_signed(&delivered));
    second.stop().await;
    assert!(!outbox.contains(&id(&attempt)).await);
}

#[tokio::test]
async fn a_webhook_is_given_up_after_its_last_attempt() {
    let outbox = Outbox::new().await;
    let receiver = MockUpstream::start().await;
    receiver.respond_always(MockResponse::json(500, "{}"));
    outbox.end_run("acme", &receiver).await;
    let twice = WebhookSettings {
        max_attempts: 2,
        ..impatient()
    };
    let server = outbox.serve(&[&receiver], twice).await;
    let first = receiver.next_request().await;
    receiver.next_request().await;
    server.stop().await;
    assert!(!outbox.contains(&id(&first)).await);
    assert_eq!(receiver.requests().await, []);
}

#[tokio::test]
async fn a_receiver_that_is_gone_gets_nothing_more() {
    let outbox = Outbox::new().await;
    let receiver = MockUpstream::start().await;
    receiver.respond_always(MockResponse::json(410, "{}"));
    outbox.end_run("acme", &receiver).await;
    let server = outbox.serve(&[&receiver], impatient()).await;
    let first = receiver.next_request().await;
    server.stop().await;
    assert!(!outbox.contains(&id(&first)).await);
    assert_eq!(receiver.requests().await, []);
}

/// Two servers, of which each knows the URL of one receiver, as while a configuration is changed
/// on one server after the other.
#[tokio::test]
async fn a_server_that_does_not_know_a_url_leaves_the_webhook_to_another() {
    let outbox = Outbox::new().await;
    let (old, new) = (MockUpstream::start().await, MockUpstream::start().await);
    for receiver in [&old, &new] {
        receiver.respond_always(ok());
        for _ in 0..3 {
            outbox.end_run("acme", receiver).await;
        }
    }
    let first = outbox.serve(&[&old], impatient()).await;
    for _ in 0..3 {
        old.next_request().await;
    }
    // The others were taken meanwhile, or are now, and stay.
    let once = WebhookSettings {
        max_attempts: 1,
        ..impatient()
    };
    let second = outbox.serve(&[&new], once).await;
    for _ in 0..3 {
        assert!(is_signed(&new.next_request().await));
    }
    first.stop().await;
    second.stop().await;
    let due = outbox.store.take_due_webhooks(NEVER, 9, &[]).await;
    assert_eq!(due.unwrap(), []);
}

#[tokio::test]
async fn an_attempt_that_a_shutdown_interrupts_is_due_at_once() {
    let outbox = Outbox::new().await;
    let receiver = MockUpstream::start().await;
    receiver.respond_always(MockResponse::never());
    outbox.end_run("acme", &receiver).await;
    let patient = WebhookSettings {
        timeout: NEVER,
        ..impatient()
    };
    let server = outbox.serve(&[&receiver], patient).await;
    let interrupted = receiver.next_request().await;
    server.stop().await;
    let due = outbox.store.take_due_webhooks(NEVER, 9, &[]).await.unwrap();
    let due: Vec<_> = due.into_iter().map(|webhook| webhook.id).collect();
    assert_eq!(due, [id(&interrupted)]);
}

#[tokio::test]
async fn the_end_of_a_run_that_was_cancelled_while_it_waited_is_announced_to_its_key() {
    let outbox = Outbox::new().await;
    let (tenant, store) = (TenantId::default_tenant(), &outbox.store);
    let new = NewKey {
        name: "ci",
        scopes: &[KeyScope::Use],
        expires_in: None,
        auto: None,
    };
    let (key, secret) = store.create_key(&tenant, &new).await.unwrap();
    let request = serde_json::json!({
        "dialect": "chat", "model": "m", "stream": false, "json_array": false,
        "background": false, "headers": [], "body": "{}", "created": 1,
        "recorder": null, "webhook": null,
    });
    let request = request.to_string();
    let id = Store::new_run_id().unwrap();
    let run = NewJournalRun {
        id: &id,
        api_key: Some(&key.id),
        dialect: "chat",
        model: "m",
        kept: true,
        format: 1,
        idempotency_key: None,
        request_digest: "",
        request: request.as_bytes(),
    };
    store.enqueue_run(&tenant, &run).await.unwrap();
    let endpoint = |url: &str, key: &str| {
        let secret = SigningSecret::parse(&format!("whsec_{SECRET}")).unwrap();
        let endpoint = WebhookEndpoint::new(url, secret).unwrap();
        endpoint.with_keys(vec![key.to_owned()])
    };
    let settings = ServerSettings {
        webhooks: WebhookSettings {
            endpoints: vec![
                endpoint("https://name.test/", "ci"),
                endpoint("https://id.test/", &key.id),
                endpoint("https://other.test/", "other"),
            ],
            ..WebhookSettings::default()
        },
        ..ServerSettings::default()
    };
    // It claims no runs, as it does not listen.
    let service = App::new(store.clone(), settings).service();
    let request = Request::post(format!("/v1/runs/{id}/cancel"))
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", secret.reveal()));
    let response = service.oneshot(request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.unwrap().status(), 200);
    let due = store.take_due_webhooks(NEVER, 9, &[]).await.unwrap();
    let mut urls: Vec<_> = due.iter().map(|webhook| webhook.url.as_str()).collect();
    urls.sort_unstable();
    assert_eq!(urls, ["https://id.test/", "https://name.test/"]);
    for webhook in &due {
        assert!(webhook.body.contains("run.cancelled"), "{}", webhook.body);
    }
}
