//! Headers that decide something and occur twice: what is in front of the server may read another
//! one than the server does.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use super::{GOOGLE_KEY_HEADER, KEY_HEADER};
use crate::error::HttpError;

/// Prefix of the headers that are meant for this server.
const OWN_PREFIX: &str = "prowess-";
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Refuses a request with two keys in one header, and one that has a header twice that is meant for
/// this server.
pub(super) fn refuse_repeated(headers: &HeaderMap) -> Result<(), HttpError> {
    // Nearly all requests have each header once.
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    let repeated = headers.keys().find(|name| {
        let is_decisive = [&AUTHORIZATION, &KEY_HEADER, &GOOGLE_KEY_HEADER].contains(name)
            || *name == IDEMPOTENCY_KEY
            || name.as_str().starts_with(OWN_PREFIX);
        is_decisive && headers.get_all(*name).iter().nth(1).is_some()
    });
    match repeated {
        None => Ok(()),
        Some(name) => {
            let message = format!("the header `{name}` was sent twice; send it once");
            Err(HttpError::bad_request("header-repeated", message))
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn is_accepted(names: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for name in names {
            let name = HeaderName::from_static(name);
            headers.append(name, HeaderValue::from_static("x"));
        }
        refuse_repeated(&headers).is_ok()
    }

    #[test]
    fn only_headers_that_decide_nothing_may_occur_twice() {
        for name in [
            "authorization",
            "x-api-key",
            "x-goog-api-key",
            "prowess-tenant",
            "prowess-keep",
            "prowess-provider-key",
            "idempotency-key",
        ] {
            assert!(is_accepted(&[name, "accept", "accept"]), "{name}");
            assert!(!is_accepted(&["accept", name, "accept", name]), "{name}");
        }
        assert!(is_accepted(&["x-api-key", "authorization"]));
        assert!(is_accepted(&["anthropic-beta", "anthropic-beta", "cookie"]));
    }
}
