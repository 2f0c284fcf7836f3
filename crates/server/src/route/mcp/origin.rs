//! Which web pages may use `/mcp`: those of this machine, and of this server.
//!
//! Browsers send `Origin` with requests of a page, agents send none. Pages from elsewhere are
//! rejected, whatever their name resolves to. Without a master key `auth::loopback` also
//! checks the host name.

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};

use prowess_wire::excerpt;

use crate::auth::is_loopback;
use crate::error::HttpError;

pub(super) fn check(parts: &Parts) -> Result<(), HttpError> {
    let mut origins = parts.headers.get_all(ORIGIN).iter();
    let Some(origin) = origins.next() else {
        return Ok(());
    };
    if origins.next().is_some() || parts.headers.get_all(HOST).iter().count() > 1 {
        let message = "the headers Origin and Host must not occur twice";
        return Err(HttpError::new(
            StatusCode::FORBIDDEN,
            "origin-refused",
            message,
        ));
    }
    let written = origin.to_str().unwrap_or_default();
    let page = written.parse::<Uri>().ok();
    let page = page.as_ref().and_then(Uri::authority);
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = parts.uri.authority().map(|own| own.as_str()).or(host);
    let own = page.is_some_and(|page| Some(page.as_str()) == host);
    if own || page.is_some_and(|page| is_loopback(page.host())) {
        Ok(())
    } else {
        Err(HttpError::new(
            StatusCode::FORBIDDEN,
            "origin-refused",
            format!(
                "origin `{}` is not allowed: only pages of this machine and of this server may \
                use it",
                excerpt(written)
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn verdict(host: &str, origin: Option<&str>) -> bool {
        let mut request = Request::builder().uri("/mcp").header(HOST, host);
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        check(&request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn a_second_origin_or_host_is_refused() {
        for (name, value) in [
            (ORIGIN, "https://evil.example"),
            (ORIGIN, "http://localhost"),
            (HOST, "evil.example"),
        ] {
            let request = Request::builder()
                .uri("/mcp")
                .header(HOST, "skills.example")
                .header(ORIGIN, "http://localhost")
                .header(&name, value);
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert!(check(&parts).is_err(), "{name} {value}");
        }
    }

    #[test]
    fn pages_from_elsewhere_are_refused() {
        let host = "skills.example";
        assert!(verdict(host, None));
        assert!(verdict(host, Some("https://skills.example")));
        assert!(verdict(host, Some("http://localhost:6274")));
        for origin in [
            "https://evil.example",
            "https://skills.example.evil.example",
            "https://skills.example:8443",
            "http://localhost.evil.example",
            "null",
            "",
        ] {
            assert!(!verdict(host, Some(origin)), "{origin}");
        }
    }
}
