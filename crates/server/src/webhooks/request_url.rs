//! The URL that a request names for the webhook of its run, in the header `prowess-webhook`.
//!
//! Checked before the run begins, so that a mistake is an error of the request.

use axum::http::{HeaderMap, HeaderName};

use super::settings::WebhookSettings;
use super::webhook_url::parse_url;
use crate::error::HttpError;

/// Names the URL.
pub(crate) const WEBHOOK_HEADER: HeaderName = HeaderName::from_static("prowess-webhook");

const CODE: &str = "webhook-url";

/// The URL that a request names, if it names one that this server permits.
pub(crate) fn requested_url(
    settings: &WebhookSettings,
    headers: &HeaderMap,
) -> Result<Option<String>, HttpError> {
    let refuse = |reason: String| HttpError::bad_request(CODE, reason);
    let mut values = headers.get_all(WEBHOOK_HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(refuse(format!("`{WEBHOOK_HEADER}` is repeated")));
    }
    if settings.allowed_hosts.is_empty() {
        return Err(refuse(format!(
            "`{WEBHOOK_HEADER}`: this server permits no webhook URLs in requests; its operator \
             can permit hosts with the setting `webhooks.allow`"
        )));
    }
    if settings.request_secret.is_none() {
        return Err(refuse(format!(
            "`{WEBHOOK_HEADER}`: this server has no secret to sign webhooks of requests; its \
             operator can set `webhooks.request_secret`"
        )));
    }
    let text = value
        .to_str()
        .map_err(|_| refuse(format!("`{WEBHOOK_HEADER}` is not ASCII text")))?;
    let url =
        parse_url(text.trim()).map_err(|reason| refuse(format!("`{WEBHOOK_HEADER}`: {reason}")))?;
    // The secret of an endpoint must not sign what a request sends there.
    let is_endpoint = settings.endpoints.iter().any(|other| other.url == url);
    if is_endpoint || !settings.allows_host(&url) {
        let host = url.host_str().unwrap_or_default();
        return Err(refuse(format!(
            "`{WEBHOOK_HEADER}`: this server does not permit this URL on the host `{host}` in \
             requests"
        )));
    }
    settings
        .check_address(&url)
        .map_err(|reason| refuse(format!("`{WEBHOOK_HEADER}`: {reason}")))?;
    Ok(Some(url.into()))
}

#[cfg(test)]
mod tests {
    use super::super::host::WebhookHost;
    use super::super::settings::WebhookEndpoint;
    use super::super::signature::SigningSecret;
    use super::*;

    fn secret() -> SigningSecret {
        SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()
    }

    fn settings() -> WebhookSettings {
        WebhookSettings {
            allowed_hosts: ["hooks.test", "127.0.0.1"]
                .map(|host| WebhookHost::parse(host).unwrap())
                .to_vec(),
            request_secret: Some(secret()),
            endpoints: vec![WebhookEndpoint::new("https://hooks.test/mine", secret()).unwrap()],
            ..WebhookSettings::default()
        }
    }

    fn request(settings: &WebhookSettings, values: &[&str]) -> Result<Option<String>, String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WEBHOOK_HEADER, value.parse().unwrap());
        }
        requested_url(settings, &headers).map_err(|error| error.message)
    }

    #[test]
    fn a_request_names_a_url_on_a_permitted_host() {
        assert_eq!(request(&settings(), &[]), Ok(None));
        let found = request(&settings(), &["https://hooks.test/a?b=c"]);
        assert_eq!(found, Ok(Some("https://hooks.test/a?b=c".to_owned())));
    }

    #[test]
    fn every_other_url_is_refused_with_its_reason() {
        let refused = |values: &[&str]| request(&settings(), values).unwrap_err();
        insta::assert_snapshot!(refused(&["https://hooks.test/a", "https://hooks.test/b"]), @"`prowess-webhook` is repeated");
        insta::assert_snapshot!(refused(&["hooks.test"]), @"`prowess-webhook`: the URL must begin with https:// or http://");
        insta::assert_snapshot!(refused(&["https://u:p@hooks.test/"]), @"`prowess-webhook`: the URL must not contain a user name or password");
        insta::assert_snapshot!(refused(&["https://other.test/"]), @"`prowess-webhook`: this server does not permit this URL on the host `other.test` in requests");
        insta::assert_snapshot!(refused(&["https://hooks.test/mine"]), @"`prowess-webhook`: this server does not permit this URL on the host `hooks.test` in requests");
        insta::assert_snapshot!(refused(&["http://127.0.0.1/"]), @"`prowess-webhook`: `127.0.0.1` has the address 127.0.0.1, which is not public; the setting `webhooks.allow_private` permits it");
        let closed = request(&WebhookSettings::default(), &["https://hooks.test/"]);
        insta::assert_snapshot!(closed.unwrap_err(), @"`prowess-webhook`: this server permits no webhook URLs in requests; its operator can permit hosts with the setting `webhooks.allow`");
        let unsigned = WebhookSettings {
            request_secret: None,
            ..settings()
        };
        let unsigned = request(&unsigned, &["https://hooks.test/"]);
        insta::assert_snapshot!(unsigned.unwrap_err(), @"`prowess-webhook`: this server has no secret to sign webhooks of requests; its operator can set `webhooks.request_secret`");
    }
}
