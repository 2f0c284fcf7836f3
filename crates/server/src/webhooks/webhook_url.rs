//! URLs that webhooks can be sent to, and why others cannot.

use url::Url;

/// Bytes of a URL.
const MAX_URL_BYTES: usize = 2_048;
const WRONG_SCHEME: &str = "the URL must begin with https:// or http://";

/// A setting or a URL that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidWebhook(String);

impl InvalidWebhook {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        InvalidWebhook(reason.into())
    }
}

/// A URL that webhooks can be sent to.
pub(super) fn parse_url(text: &str) -> Result<Url, InvalidWebhook> {
    if text.len() > MAX_URL_BYTES {
        let reason = format!("a URL of a webhook has at most {MAX_URL_BYTES} bytes");
        return Err(InvalidWebhook::new(reason));
    }
    // The text may contain a password and is therefore not in the messages.
    let mut url = Url::parse(text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => InvalidWebhook::new(WRONG_SCHEME),
        error => InvalidWebhook::new(format!("the text is not a URL: {error}")),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(InvalidWebhook::new(WRONG_SCHEME));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let reason = "the URL must not contain a user name or password";
        return Err(InvalidWebhook::new(reason));
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_cannot_be_used_are_refused_without_their_text() {
        for url in [
            "",
            "example.com",
            "ftp://example.com/",
            "file:///etc/passwd",
            "https://user:hunter2@example.com/",
            &format!("https://example.com/{}", "a".repeat(MAX_URL_BYTES)),
        ] {
            let refused = parse_url(url).unwrap_err().to_string();
            assert!(!refused.contains("hunter2"), "{refused}");
        }
        let url = parse_url("HTTPS://Example.com/a#secret").unwrap();
        assert_eq!(url.as_str(), "https://example.com/a");
    }
}
