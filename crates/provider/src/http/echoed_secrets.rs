//! Secrets of a request that an upstream repeats in the headers of its response: they are replaced
//! before anybody else sees the response.
//!
//! Which values are secret, the request says itself: they are marked as sensitive.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Shorter values are not keys, and could match ordinary words.
const MIN_SECRET_BYTES: usize = 8;
const REPLACEMENT: &str = "[redacted]";

/// The secrets of one request.
#[derive(Debug)]
pub(super) struct EchoedSecrets(Vec<HeaderValue>);

impl EchoedSecrets {
    pub(super) fn of_request(headers: &HeaderMap) -> EchoedSecrets {
        let all = headers.iter();
        let sensitive = all.filter(|(name, value)| value.is_sensitive() && !is_never_secret(name));
        let values = sensitive.map(|(_, value)| value);
        let long = values.filter(|value| secret(value).len() >= MIN_SECRET_BYTES);
        EchoedSecrets(long.cloned().collect())
    }

    /// Replaces every value of a response that contains one of them.
    pub(super) fn hide_in(&self, response: &mut HeaderMap) {
        for value in response.values_mut() {
            let is_in_it = |own: &HeaderValue| contains(value.as_bytes(), secret(own));
            if self.0.iter().any(is_in_it) {
                *value = HeaderValue::from_static(REPLACEMENT);
            }
        }
    }
}

/// All headers of a provider's configuration are marked. The values of these are no secrets, and a
/// response may well have them: its media type would be replaced.
fn is_never_secret(name: &HeaderName) -> bool {
    matches!(name.as_str(), "accept" | "content-type" | "user-agent")
}

/// The secret itself, without the scheme before it (`Bearer`).
fn secret(value: &HeaderValue) -> &[u8] {
    let mut parts = value.as_bytes().rsplit(|byte| *byte == b' ');
    parts.next().unwrap_or_default()
}

fn contains(text: &[u8], secret: &[u8]) -> bool {
    text.len() >= secret.len() && text.windows(secret.len()).any(|part| part == secret)
}

#[cfg(test)]
mod tests {
    use super::super::headers::sensitive_value;
    use super::*;

    #[test]
    fn only_values_with_a_secret_of_the_request_are_replaced() {
        let mut request = HeaderMap::new();
        request.insert(
            "authorization",
            sensitive_value("Bearer sk-0123456").unwrap(),
        );
        request.insert("x-short", sensitive_value("a").unwrap());
        request.insert("x-title", HeaderValue::from_static("ordinary-title"));
        request.insert("accept", sensitive_value("application/json").unwrap());
        let mut response = HeaderMap::new();
        for (name, value) in [
            ("x-echo", "Bearer sk-0123456"),
            ("location", "https://up.example/?key=sk-0123456&x=1"),
            ("x-other", "sk-012345"),
            ("x-title", "ordinary-title"),
            ("x-scheme", "Bearer a"),
            ("content-type", "application/json"),
        ] {
            response.insert(name, HeaderValue::from_static(value));
        }
        response.append("x-title", HeaderValue::from_static("sk-0123456"));
        EchoedSecrets::of_request(&request).hide_in(&mut response);
        let value = |name: &str| response.get(name).unwrap().to_str().unwrap();
        assert_eq!(value("x-echo"), "[redacted]");
        assert_eq!(value("location"), "[redacted]");
        assert_eq!(value("x-other"), "sk-012345");
        assert_eq!(value("x-scheme"), "Bearer a");
        assert_eq!(value("content-type"), "application/json");
        let titles: Vec<_> = response.get_all("x-title").iter().collect();
        assert_eq!(titles, ["ordinary-title", "[redacted]"]);
    }
}
