//! Secrets of a request that an upstream repeats in the headers of its response: they are replaced
//! before anybody else sees the response.
//!
//! Which values are secret, the request says itself: they are marked as sensitive.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::headers::is_key_by_name;

/// Shorter values are not keys, and could match ordinary words.
const MIN_SECRET_BYTES: usize = 8;
const REPLACEMENT: &str = "[redacted]";

/// The secrets of one request. Not to be printed.
pub(super) struct EchoedSecrets(Vec<Box<[u8]>>);

impl EchoedSecrets {
    pub(super) fn of_request(headers: &HeaderMap) -> EchoedSecrets {
        let all = headers.iter();
        let sensitive = all.filter(|(name, value)| value.is_sensitive() && !is_never_secret(name));
        let secrets = sensitive.map(|(name, value)| secret(name, value));
        let long = secrets.filter(|secret| secret.len() >= MIN_SECRET_BYTES);
        EchoedSecrets(long.map(<Box<[u8]>>::from).collect())
    }

    /// Replaces every value of a response that contains one of them, but for its media type: what
    /// a configuration sends may be a word of that, and no client could read the body.
    pub(super) fn hide_in(&self, response: &mut HeaderMap) {
        let others = response.iter_mut();
        for (_, value) in others.filter(|(name, _)| name.as_str() != "content-type") {
            let text = value.as_bytes();
            if self.0.iter().any(|secret| contains(text, secret)) {
                *value = HeaderValue::from_static(REPLACEMENT);
            }
        }
    }
}

/// All headers of a provider's configuration are marked. The values of these are no secrets, and a
/// response may well have them.
fn is_never_secret(name: &HeaderName) -> bool {
    matches!(name.as_str(), "accept" | "content-type" | "user-agent")
}

/// The secret itself: of a key without the scheme before it (`Bearer`), of any other header, such
/// as a title, the whole value.
fn secret<'v>(name: &HeaderName, value: &'v HeaderValue) -> &'v [u8] {
    let mut words = value.as_bytes().rsplit(|byte| *byte == b' ');
    match is_key_by_name(name) {
        true => words.next().unwrap_or_default(),
        false => value.as_bytes(),
    }
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
        request.insert("x-app", sensitive_value("our own application").unwrap());
        request.insert("x-form", sensitive_value("application/json").unwrap());
        let mut response = HeaderMap::new();
        for (name, value) in [
            ("x-echo", "Bearer sk-0123456"),
            ("location", "https://up.example/?key=sk-0123456&x=1"),
            ("x-other", "sk-012345"),
            ("x-title", "ordinary-title"),
            ("x-scheme", "Bearer a"),
            ("content-type", "application/json"),
            ("x-kind", "application"),
            ("x-echoed-app", "for our own application"),
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
        assert_eq!(value("x-kind"), "application");
        assert_eq!(value("x-echoed-app"), "[redacted]");
        let titles: Vec<_> = response.get_all("x-title").iter().collect();
        assert_eq!(titles, ["ordinary-title", "[redacted]"]);
    }
}
