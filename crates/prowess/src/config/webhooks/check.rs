//! Checks who is notified of the end of runs.

use std::time::Duration;

use prowess_server::{
    InvalidWebhook, SigningSecret, WebhookEndpoint, WebhookHost, WebhookSettings,
};
use prowess_store::TenantId;

use super::{EndpointToml, WebhooksToml};
use crate::config::error::ConfigError;
use crate::config::secret;

/// Longest timeout of one attempt. A slow receiver must not occupy the few attempts that run
/// at once.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

pub(in crate::config) fn check(raw: &WebhooksToml) -> Result<WebhookSettings, ConfigError> {
    let endpoints = raw.endpoints.iter().map(endpoint);
    let endpoints = endpoints.collect::<Result<Vec<_>, _>>()?;
    let hosts = raw.allow.iter().map(|host| WebhookHost::parse(host));
    let hosts = hosts.collect::<Result<Vec<_>, _>>();
    let request_secret = raw.request_secret.as_deref();
    let request_secret = request_secret.map(|text| signing_secret("webhooks.request_secret", text));
    let settings = WebhookSettings {
        endpoints,
        allowed_hosts: hosts.map_err(in_setting("webhooks.allow"))?,
        request_secret: request_secret.transpose()?,
        allow_private: raw.allow_private,
        timeout: timeout(raw.timeout.get())?,
        max_attempts: match raw.max_attempts {
            0 => {
                let reason = "must be 1 or more";
                return Err(ConfigError::invalid("webhooks.max_attempts", reason));
            }
            attempts => attempts,
        },
        ..WebhookSettings::default()
    };
    settings.check().map_err(in_setting("webhooks"))?;
    Ok(settings)
}

fn endpoint(raw: &EndpointToml) -> Result<WebhookEndpoint, ConfigError> {
    let secret = signing_secret("webhooks.endpoints.secret", &raw.secret)?;
    let endpoint =
        WebhookEndpoint::new(&raw.url, secret).map_err(in_setting("webhooks.endpoints.url"))?;
    let endpoint = endpoint
        .with_events(raw.events.clone())
        .map_err(in_setting("webhooks.endpoints.events"))?;
    let tenants = raw.tenants.iter().map(TenantId::new);
    let tenants = tenants
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| ConfigError::invalid("webhooks.endpoints.tenants", error.to_string()))?;
    Ok(endpoint.with_keys(raw.keys.clone()).with_tenants(tenants))
}

/// The secret is not in the error.
fn signing_secret(setting: &'static str, text: &str) -> Result<SigningSecret, ConfigError> {
    let text = secret::resolve(setting, text)?;
    let parsed = SigningSecret::parse(text.expose());
    parsed.map_err(|error| ConfigError::invalid(setting, error.to_string()))
}

fn timeout(given: Duration) -> Result<Duration, ConfigError> {
    if given.is_zero() || given > MAX_TIMEOUT {
        let reason = "must be more than 0, and at most 60s";
        return Err(ConfigError::invalid("webhooks.timeout", reason));
    }
    Ok(given)
}

fn in_setting(setting: &'static str) -> impl Fn(InvalidWebhook) -> ConfigError {
    move |error| ConfigError::invalid(setting, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn read(text: &str) -> Result<WebhookSettings, String> {
        let raw: WebhooksToml = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&raw).map_err(|error| error.to_string())
    }

    fn problem(text: &str) -> String {
        let message = read(text).unwrap_err();
        assert!(!message.contains("MfKQ"), "{message}");
        message
    }

    #[test]
    fn every_key_of_webhooks_is_read() {
        let settings = read(&format!(
            "allow = [\"*.example.com\"]\nrequest_secret = \"{SECRET}\"\nallow_private = true\n\
             timeout = \"3s\"\nmax_attempts = 4\n\
             [[endpoints]]\nurl = \"http://127.0.0.1:9/a\"\nsecret = \"{SECRET}\"\n\
             events = [\"run.failed\"]\nkeys = [\"ci\"]\ntenants = [\"acme\"]\n"
        ));
        let settings = settings.unwrap();
        assert_eq!(settings.timeout, Duration::from_secs(3));
        assert_eq!((settings.max_attempts, settings.allow_private), (4, true));
        let endpoint = format!("{:?}", settings.endpoints);
        for part in [
            "127.0.0.1",
            "\"/a\"",
            "\"run.failed\"",
            "\"ci\"",
            "\"acme\"",
        ] {
            assert!(endpoint.contains(part), "{part}: {endpoint}");
        }
        assert!(!endpoint.contains(SECRET), "{endpoint}");
        assert_eq!(settings.allowed_hosts.len(), 1);
        assert!(settings.request_secret.is_some());
        assert_eq!(read("").unwrap().endpoints.len(), 0);
    }

    #[test]
    fn mistakes_in_webhooks_are_reported_with_their_place_and_without_secrets() {
        let endpoint = |rest: &str| problem(&format!("[[endpoints]]\n{rest}\n"));
        let with_url = |url: &str| endpoint(&format!("url = \"{url}\"\nsecret = \"{SECRET}\""));
        insta::assert_snapshot!(endpoint("url = \"https://a.test\"\nsecret = \"MfKQ9r8G\""), @"webhooks.endpoints.secret: is not a webhook secret: `whsec_` and the base64 of 24 to 64 random bytes, for instance from `echo whsec_$(openssl rand -base64 32)`");
        insta::assert_snapshot!(endpoint("url = \"https://a.test\"\nsecret = \"env:NOT_SET_HERE\""), @"webhooks.endpoints.secret: the environment has no variable `NOT_SET_HERE`, or it is not text");
        insta::assert_snapshot!(with_url("a.test"), @"webhooks.endpoints.url: the URL must begin with https:// or http://");
        insta::assert_snapshot!(with_url("http://10.0.0.1/"), @"webhooks: `10.0.0.1` has the address 10.0.0.1, which is not public; the setting `webhooks.allow_private` permits it");
        insta::assert_snapshot!(endpoint(&format!("url = \"https://a.test\"\nsecret = \"{SECRET}\"\nevents = [\"run.ended\"]")), @"webhooks.endpoints.events: `run.ended` is not an event; available: response.completed, response.failed, response.cancelled, response.incomplete, run.completed, run.failed, run.cancelled, run.incomplete");
        insta::assert_snapshot!(problem("allow = [\"*\"]"), @"webhooks.allow: `*` is not a host: write example.com, example.com:8443, or *.example.com for all of its subdomains");
        insta::assert_snapshot!(problem("allow = [\"a.test\"]"), @"webhooks: `allow` needs a `request_secret`, which signs what is sent to URLs of requests");
        insta::assert_snapshot!(problem("timeout = 0"), @"webhooks.timeout: must be more than 0, and at most 60s");
        insta::assert_snapshot!(problem("timeout = '61s'"), @"webhooks.timeout: must be more than 0, and at most 60s");
        insta::assert_snapshot!(problem("max_attempts = 0"), @"webhooks.max_attempts: must be 1 or more");
    }
}
