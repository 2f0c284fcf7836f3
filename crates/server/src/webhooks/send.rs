//! One attempt to deliver a webhook.
//!
//! Redirects are not followed, and proxies of the environment are not used: a proxy resolves
//! names itself, and its targets could not be checked. The receiver's body is not read. Knows
//! nothing of retries.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use prowess_store::WebhookDelivery;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode, redirect, retry};
use tokio::time::timeout;
use url::Url;

use super::guard::AddressGuard;
use super::settings::WebhookSettings;
use super::signature::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER};

/// Sends webhooks.
#[derive(Debug)]
pub(super) struct WebhookSender {
    client: Client,
    settings: Arc<WebhookSettings>,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// The receiver accepted it.
    Delivered,
    /// It may succeed later.
    Failed(String),
    /// It will never succeed.
    Refused(String),
    /// This server may not send to the URL, and has not. Others may: their configuration is
    /// older or newer.
    Unconfigured,
}

impl WebhookSender {
    pub(super) fn new(settings: Arc<WebhookSettings>) -> reqwest::Result<Self> {
        let guard = AddressGuard {
            allow_private: settings.allow_private,
        };
        let client = Client::builder()
            .dns_resolver(Arc::new(guard))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .referer(false)
            .connect_timeout(settings.timeout)
            .user_agent(concat!("prowess/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(WebhookSender { client, settings })
    }

    /// Sends a webhook once.
    pub(super) async fn send(&self, delivery: &WebhookDelivery) -> SendOutcome {
        let Ok(url) = Url::parse(&delivery.url) else {
            return SendOutcome::Unconfigured;
        };
        let Some(secret) = self.settings.secret_for(&url, &delivery.tenant) else {
            return SendOutcome::Unconfigured;
        };
        if let Err(reason) = self.settings.check_address(&url) {
            return SendOutcome::Refused(reason.to_string());
        }
        let timestamp = unix_seconds();
        let signature = secret.sign(&delivery.id, timestamp, &delivery.body);
        let request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ID_HEADER, &delivery.id)
            .header(TIMESTAMP_HEADER, timestamp)
            .header(SIGNATURE_HEADER, signature)
            .body(delivery.body.clone());
        match timeout(self.settings.timeout, request.send()).await {
            Err(_) => SendOutcome::Failed("the receiver did not respond in time".to_owned()),
            // Without its URL, which may contain a token.
            Ok(Err(error)) => SendOutcome::Failed(root_cause(&error.without_url())),
            Ok(Ok(response)) => judge(response.status()),
        }
    }
}

fn judge(status: StatusCode) -> SendOutcome {
    if status.is_success() {
        SendOutcome::Delivered
    } else if status == StatusCode::GONE {
        SendOutcome::Refused("the receiver responded with 410 (gone)".to_owned())
    } else if status.is_redirection() {
        let status = status.as_u16();
        SendOutcome::Failed(format!(
            "the receiver responded with {status}; redirects are not followed"
        ))
    } else {
        let status = status.as_u16();
        SendOutcome::Failed(format!("the receiver responded with {status}"))
    }
}

/// The last error of the chain, which is the most specific.
fn root_cause(error: &reqwest::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

fn unix_seconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use prowess_store::{TenantId, Timestamp};
    use prowess_testkit::upstream::{MockResponse, MockUpstream};

    use super::super::settings::WebhookEndpoint;
    use super::super::signature::SigningSecret;
    use super::*;

    async fn send(receiver: &MockUpstream, url: &str, allow_private: bool) -> SendOutcome {
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let url = url.replace("HERE", receiver.url());
        let settings = WebhookSettings {
            endpoints: vec![WebhookEndpoint::new(&url, secret).unwrap()],
            allow_private,
            ..WebhookSettings::default()
        };
        let sender = WebhookSender::new(Arc::new(settings)).unwrap();
        let delivery = WebhookDelivery {
            id: "whd_1".to_owned(),
            run: "run_1".to_owned(),
            tenant: TenantId::default_tenant(),
            url,
            body: "{}".to_owned(),
            attempts: 1,
            created_at: Timestamp::now(),
        };
        sender.send(&delivery).await
    }

    #[tokio::test]
    async fn a_private_address_is_connected_to_only_if_that_is_permitted() {
        let receiver = MockUpstream::start().await;
        receiver.respond_always(MockResponse::json(200, "{}"));
        let literal = send(&receiver, "HERE/", false).await;
        assert!(
            matches!(&literal, SendOutcome::Refused(reason) if reason.contains("not public")),
            "{literal:?}"
        );
        let by_name = receiver.url().replace("127.0.0.1", "localhost");
        let named = send(&receiver, &by_name, false).await;
        assert!(
            matches!(&named, SendOutcome::Failed(reason) if reason.contains("not public")),
            "{named:?}"
        );
        assert_eq!(receiver.connections(), 0);
        let permitted = send(&receiver, &by_name, true).await;
        assert_eq!(permitted, SendOutcome::Delivered);
        let never = send(&receiver, "http://169.254.169.254/", true).await;
        assert!(matches!(never, SendOutcome::Refused(_)), "{never:?}");
    }

    #[tokio::test]
    async fn a_redirect_is_a_failure_and_is_not_followed() {
        let receiver = MockUpstream::start().await;
        let elsewhere = format!("{}/elsewhere", receiver.url());
        receiver.respond(MockResponse::json(307, "{}").header("location", &elsewhere));
        let outcome = send(&receiver, "HERE/hook", true).await;
        assert_eq!(
            outcome,
            SendOutcome::Failed(
                "the receiver responded with 307; redirects are not followed".to_owned()
            )
        );
        let paths: Vec<_> = receiver.requests().await;
        assert_eq!(paths.len(), 1);
        assert_eq!(paths.first().unwrap().path, "/hook");
    }

    #[tokio::test]
    async fn a_receiver_that_is_gone_is_not_attempted_again() {
        let receiver = MockUpstream::start().await;
        receiver.respond(MockResponse::json(410, "{}"));
        let outcome = send(&receiver, "HERE/", true).await;
        assert!(matches!(outcome, SendOutcome::Refused(_)), "{outcome:?}");
        receiver.respond(MockResponse::json(500, "{}"));
        let outcome = send(&receiver, "HERE/", true).await;
        assert!(matches!(outcome, SendOutcome::Failed(_)), "{outcome:?}");
    }

    #[tokio::test]
    async fn the_receivers_body_is_not_read() {
        let receiver = MockUpstream::start().await;
        receiver.respond(MockResponse::bytes(200, "text/plain", "x".repeat(1000)).then_endless());
        assert_eq!(send(&receiver, "HERE/", true).await, SendOutcome::Delivered);
        receiver.client_disconnected().await;
    }
}
