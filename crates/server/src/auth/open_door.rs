//! The door without a lock: a server without a master key.
//!
//! It listens on loopback only. That keeps other machines out, but not the web pages
//! that this machine's browser shows: they can send requests here, and by changing
//! what their own name resolves to they could read the answers. So a request must
//! call us by a loopback name, and if it comes from a page, that page must be local.

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};

use crate::error::ApiError;

pub(super) fn check(parts: &Parts) -> Result<(), ApiError> {
    let header = |name| {
        parts
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let host = parts.uri.host().or_else(|| header(HOST).map(without_port));
    if !host.is_some_and(is_loopback) {
        return Err(refused("host", host.unwrap_or_default()));
    }
    match header(ORIGIN) {
        None => Ok(()),
        Some(origin) => {
            let uri = origin.parse::<Uri>().ok();
            let local = uri.as_ref().and_then(Uri::host).is_some_and(is_loopback);
            local.then_some(()).ok_or_else(|| refused("origin", origin))
        }
    }
}

fn refused(header: &str, value: &str) -> ApiError {
    ApiError::new(
        StatusCode::FORBIDDEN,
        "not-local",
        format!(
            "{header} `{}` is not this machine; without a master key the server answers to \
             localhost only: set PROWESS_MASTER_KEY to open it to others",
            value.escape_debug()
        ),
    )
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn verdict(host: &str, origin: Option<&str>) -> bool {
        let mut request = Request::builder().uri("/v1/skills").header(HOST, host);
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        check(&request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn only_loopback_names_and_local_pages_come_in() {
        for host in [
            "localhost",
            "localhost:4141",
            "127.0.0.1:4141",
            "[::1]:4141",
        ] {
            assert!(verdict(host, None), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:4141",
            "127.0.0.1.evil.example",
            "",
        ] {
            assert!(!verdict(host, None), "{host}");
        }
        assert!(verdict("localhost", Some("http://localhost:3000")));
        for origin in [
            "https://evil.example",
            "null",
            "http://localhost.evil.example",
        ] {
            assert!(!verdict("localhost", Some(origin)), "{origin}");
        }
    }
}
