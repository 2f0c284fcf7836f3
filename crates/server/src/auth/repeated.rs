//! Headers that decide something, and keys in queries, that occur with several values: what is in
//! front of the server may read another one than the server does.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use super::{GOOGLE_KEY_HEADER, KEY_HEADER};
use crate::error::HttpError;
use crate::extract::Query;

/// Prefix of the headers that are meant for this server.
const OWN_PREFIX: &str = "prowess-";
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Refuses a request that has a header for keys, or one that is meant for this server, with several
/// values.
pub(super) fn refuse_repeated(headers: &HeaderMap) -> Result<(), HttpError> {
    // Nearly all requests have each header once.
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    let repeated = headers.keys().find(|name| {
        let is_decisive = [&AUTHORIZATION, &KEY_HEADER, &GOOGLE_KEY_HEADER].contains(name)
            || *name == IDEMPOTENCY_KEY
            || name.as_str().starts_with(OWN_PREFIX);
        let mut values = headers.get_all(*name).iter();
        let first = values.next();
        // Some clients and proxies set a header that is there already, to the same.
        is_decisive && values.any(|value| Some(value) != first)
    });
    match repeated {
        None => Ok(()),
        Some(name) => {
            let message =
                format!("the header `{name}` was sent twice, with different values; send it once");
            Err(HttpError::bad_request("header-repeated", message))
        }
    }
}

/// Refuses a request that has this parameter in its query with several values.
pub(super) fn refuse_repeated_parameter(query: &Query, name: &str) -> Result<(), HttpError> {
    let mut values = query.all(name);
    let first = values.next();
    if values.all(|value| Some(value) == first) {
        return Ok(());
    }
    let message =
        format!("the parameter `{name}` was sent twice, with different values; send it once");
    Err(HttpError::bad_request("parameter-repeated", message))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn is_accepted(sent: &[(&'static str, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            let name = HeaderName::from_static(name);
            headers.append(name, HeaderValue::from_static(value));
        }
        refuse_repeated(&headers).is_ok()
    }

    #[test]
    fn only_headers_that_decide_nothing_may_have_several_values() {
        let accepts = [("accept", "x"), ("accept", "y")];
        for name in [
            "authorization",
            "x-api-key",
            "x-goog-api-key",
            "prowess-tenant",
            "prowess-keep",
            "prowess-provider-key",
            "idempotency-key",
        ] {
            let sent = |values: &[&'static str]| {
                let own = values.iter().map(|value| (name, *value));
                is_accepted(&accepts.into_iter().chain(own).collect::<Vec<_>>())
            };
            assert!(sent(&["a"]), "{name}");
            assert!(sent(&["a", "a"]), "{name}");
            assert!(!sent(&["a", "b"]), "{name}");
            assert!(!sent(&["a", "a", "b"]), "{name}");
        }
        assert!(is_accepted(&[("x-api-key", "a"), ("authorization", "b")]));
        assert!(is_accepted(&[
            ("anthropic-beta", "a"),
            ("anthropic-beta", "b")
        ]));
    }
}
