//! Settings of webhooks: endpoints, hosts that requests may name, limits.
//!
//! Knows neither requests nor runs.

use std::time::Duration;

use prowess_store::TenantId;
use url::Url;

use super::guard::AddressGuard;
use super::host::WebhookHost;
use super::signature::SigningSecret;
use super::webhook_url::{InvalidWebhook, parse_url};

/// Events of runs that `/v1/responses` began, and of all other runs.
pub const WEBHOOK_EVENTS: [&str; 8] = [
    "response.completed",
    "response.failed",
    "response.cancelled",
    "response.incomplete",
    "run.completed",
    "run.failed",
    "run.cancelled",
    "run.incomplete",
];

/// Which webhooks are sent, and how.
#[derive(Debug, Clone)]
pub struct WebhookSettings {
    /// URLs that get the events of all runs that match.
    pub endpoints: Vec<WebhookEndpoint>,
    /// Hosts of the URLs that requests may name; none by default.
    pub allowed_hosts: Vec<WebhookHost>,
    /// Signs what is sent to URLs that requests name.
    pub request_secret: Option<SigningSecret>,
    /// Whether addresses that are not public may be connected to.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// Attempts before a webhook is given up.
    pub max_attempts: u32,
    /// Delay after the first failed attempt; it doubles with each further one.
    pub first_retry: Duration,
    /// Longest delay between two attempts.
    pub longest_retry: Duration,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        WebhookSettings {
            endpoints: Vec::new(),
            allowed_hosts: Vec::new(),
            request_secret: None,
            allow_private: false,
            timeout: Duration::from_secs(10),
            max_attempts: 24,
            first_retry: Duration::from_secs(5),
            longest_retry: Duration::from_secs(3_600),
        }
    }
}

impl WebhookSettings {
    /// Checks what no single setting can: URLs against the permitted addresses, and that
    /// each URL has one secret, by which it is signed.
    ///
    /// # Errors
    /// The first problem.
    pub fn check(&self) -> Result<(), InvalidWebhook> {
        for (at, endpoint) in self.endpoints.iter().enumerate() {
            self.check_address(&endpoint.url)?;
            let mut earlier = self.endpoints.iter().take(at);
            if earlier.any(|other| other.url == endpoint.url && other.secret != endpoint.secret) {
                return Err(InvalidWebhook::new(format!(
                    "`{}` has two secrets: use one, or two URLs, for instance with a query",
                    endpoint.url
                )));
            }
        }
        if !self.allowed_hosts.is_empty() && self.request_secret.is_none() {
            return Err(InvalidWebhook::new(
                "`allow` needs a `request_secret`, which signs what is sent to URLs of requests",
            ));
        }
        Ok(())
    }

    /// Whether any webhook can be sent.
    pub(super) fn is_enabled(&self) -> bool {
        !self.endpoints.is_empty() || !self.allowed_hosts.is_empty()
    }

    /// The secret for a stored URL; none if the URL is no longer configured. The secret of
    /// an endpoint only signs for tenants of this endpoint.
    pub(super) fn secret_for(&self, url: &Url, tenant: &TenantId) -> Option<&SigningSecret> {
        let endpoint = self.endpoints.iter().find(|endpoint| endpoint.url == *url);
        match endpoint {
            Some(endpoint) if endpoint.has_tenant(tenant) => Some(&endpoint.secret),
            Some(_) => None,
            None if self.allows_host(url) => self.request_secret.as_ref(),
            None => None,
        }
    }

    /// Whether requests may name a URL with this host.
    pub(super) fn allows_host(&self, url: &Url) -> bool {
        self.allowed_hosts.iter().any(|host| host.covers(url))
    }

    /// Checks a host that is written as an address.
    pub(super) fn check_address(&self, url: &Url) -> Result<(), InvalidWebhook> {
        let guard = AddressGuard {
            allow_private: self.allow_private,
        };
        let checked = guard.check_literal(url);
        checked.map_err(|reason| InvalidWebhook::new(reason.to_string()))
    }
}

/// A URL that gets the events of runs.
#[derive(Debug, Clone)]
pub struct WebhookEndpoint {
    pub(super) url: Url,
    secret: SigningSecret,
    events: Vec<String>,
    keys: Vec<String>,
    tenants: Vec<TenantId>,
}

impl WebhookEndpoint {
    /// An endpoint for all events of all tenants.
    ///
    /// # Errors
    /// When the URL cannot be used.
    pub fn new(url: &str, secret: SigningSecret) -> Result<Self, InvalidWebhook> {
        Ok(WebhookEndpoint {
            url: parse_url(url)?,
            secret,
            events: Vec::new(),
            keys: Vec::new(),
            tenants: Vec::new(),
        })
    }

    /// Only these events; all if there are none.
    ///
    /// # Errors
    /// When one of them is not an event.
    pub fn with_events(mut self, events: Vec<String>) -> Result<Self, InvalidWebhook> {
        let mut unknown = events.iter();
        if let Some(unknown) = unknown.find(|name| !WEBHOOK_EVENTS.contains(&name.as_str())) {
            return Err(InvalidWebhook::new(format!(
                "`{unknown}` is not an event; available: {}",
                WEBHOOK_EVENTS.join(", ")
            )));
        }
        self.events = events;
        Ok(self)
    }

    /// Only runs of these keys, by name or id; of all if there are none.
    #[must_use]
    pub fn with_keys(mut self, keys: Vec<String>) -> Self {
        self.keys = keys;
        self
    }

    /// Only runs of these tenants; of all if there are none.
    #[must_use]
    pub fn with_tenants(mut self, tenants: Vec<TenantId>) -> Self {
        self.tenants = tenants;
        self
    }

    pub(super) fn has_event(&self, event: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|name| name == event)
    }

    /// Whether it has the key with one of these names.
    pub(super) fn has_key(&self, names: &[&str]) -> bool {
        self.keys.is_empty() || self.keys.iter().any(|key| names.contains(&key.as_str()))
    }

    pub(super) fn has_tenant(&self, tenant: &TenantId) -> bool {
        self.tenants.is_empty() || self.tenants.contains(tenant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> SigningSecret {
        use base64::Engine as _;
        let encoded = base64::engine::general_purpose::STANDARD.encode([byte; 32]);
        SigningSecret::parse(&format!("whsec_{encoded}")).unwrap()
    }

    fn endpoint(url: &str, byte: u8) -> WebhookEndpoint {
        WebhookEndpoint::new(url, secret(byte)).unwrap()
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        let check = |settings: WebhookSettings| settings.check().map_err(|error| error.to_string());
        let twice = WebhookSettings {
            endpoints: vec![
                endpoint("https://a.test", 1),
                endpoint("https://a.test/", 2),
            ],
            ..WebhookSettings::default()
        };
        assert!(check(twice).unwrap_err().contains("two secrets"));
        let local = WebhookSettings {
            endpoints: vec![endpoint("http://127.0.0.1:9/", 1)],
            ..WebhookSettings::default()
        };
        assert!(check(local.clone()).unwrap_err().contains("allow_private"));
        let permitted = WebhookSettings {
            allow_private: true,
            ..local
        };
        assert_eq!(check(permitted), Ok(()));
        let unsigned = WebhookSettings {
            allowed_hosts: vec![WebhookHost::parse("a.test").unwrap()],
            ..WebhookSettings::default()
        };
        assert!(check(unsigned).unwrap_err().contains("request_secret"));
    }

    #[test]
    fn each_url_is_signed_with_its_own_secret_for_its_own_tenants() {
        let (one, two) = (TenantId::new("one").unwrap(), TenantId::new("two").unwrap());
        let settings = WebhookSettings {
            endpoints: vec![endpoint("https://a.test/one", 1).with_tenants(vec![one.clone()])],
            allowed_hosts: vec![WebhookHost::parse("a.test").unwrap()],
            request_secret: Some(secret(9)),
            ..WebhookSettings::default()
        };
        let found = |url: &str, tenant| {
            let url = Url::parse(url).unwrap();
            settings.secret_for(&url, tenant).cloned()
        };
        assert_eq!(found("https://a.test/one", &one), Some(secret(1)));
        assert_eq!(found("https://a.test/one", &two), None);
        assert_eq!(found("https://a.test/two", &two), Some(secret(9)));
        assert_eq!(found("https://b.test/", &two), None);
    }
}
