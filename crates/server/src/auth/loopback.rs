//! Access checks of a server without a master key.
//!
//! Such a server listens on loopback only. That excludes other machines, but not web pages in
//! this machine's browser: they can send requests, and with DNS rebinding could read the
//! responses. So a request must use a loopback host name, and if it comes from a page, the
//! page must be local.

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri};
use prowess_wire::excerpt;

use crate::error::HttpError;

/// Header in which a browser states the origin of a request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub(super) fn check(parts: &Parts) -> Result<(), HttpError> {
    check_host(parts)?;
    if let Some(origin) = single_header(parts, ORIGIN)? {
        // An unreadable origin is not local.
        let origin_text = String::from_utf8_lossy(origin.as_bytes());
        let page = origin.to_str().ok().and_then(|text| text.parse().ok());
        let local = page.as_ref().and_then(Uri::host).is_some_and(is_loopback);
        if !local {
            return Err(not_local_error("origin", &origin_text));
        }
    }
    match single_header(parts, FETCH_SITE)?.map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(site) => Err(not_local_error(
            "sec-fetch-site",
            &String::from_utf8_lossy(site),
        )),
    }
}

/// Every host name in the request is a loopback name.
pub(super) fn check_host(parts: &Parts) -> Result<(), HttpError> {
    let header = single_header(parts, HOST)?;
    let header = header.map(|host| host.to_str().unwrap_or_default());
    let mut names = parts.uri.host().into_iter().chain(header.map(without_port));
    let Some(first) = names.next() else {
        return Err(not_local_error("host", ""));
    };
    match std::iter::once(first)
        .chain(names)
        .find(|host| !is_loopback(host))
    {
        None => Ok(()),
        Some(host) => Err(not_local_error("host", host)),
    }
}

/// The value of a header that may occur once. With two values, different readers might use
/// different ones.
fn single_header(parts: &Parts, name: HeaderName) -> Result<Option<&HeaderValue>, HttpError> {
    let mut values = parts.headers.get_all(&name).iter();
    let first = values.next();
    match values.next() {
        None => Ok(first),
        Some(_) => Err(not_local_error(name.as_str(), "sent twice")),
    }
}

fn not_local_error(header: &str, value: &str) -> HttpError {
    HttpError::new(
        StatusCode::FORBIDDEN,
        "not-local",
        format!(
            "{header} `{}` is not local; without a master key the server accepts only requests \
            for localhost: set PROWESS_MASTER_KEY to allow others",
            excerpt(value)
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

    fn is_accepted(host: &str, origin: Option<&str>) -> bool {
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
            assert!(is_accepted(host, None), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:4141",
            "127.0.0.1.evil.example",
            "",
        ] {
            assert!(!is_accepted(host, None), "{host}");
        }
        assert!(is_accepted("localhost", Some("http://localhost:3000")));
        for origin in [
            "https://evil.example",
            "null",
            "http://localhost.evil.example",
        ] {
            assert!(!is_accepted("localhost", Some(origin)), "{origin}");
        }
    }
    /// Headers besides the host.
    fn is_accepted_with(headers: &[(&str, &[u8])]) -> bool {
        let mut request = Request::builder()
            .uri("/v1/skills")
            .header(HOST, "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn an_origin_that_cannot_be_read_is_foreign() {
        for origin in [
            &b"http://ev\xeel.example"[..],
            b"\xff",
            b"",
            b"http://",
            b"not a url",
            "http://l\u{f6}calhost".as_bytes(),
        ] {
            assert!(!is_accepted_with(&[("origin", origin)]), "{origin:?}");
        }
    }

    #[test]
    fn what_a_browser_sends_for_another_site_is_refused() {
        for site in [
            &b"cross-site"[..],
            b"same-site",
            b"CROSS-SITE",
            b"",
            b"\xff",
        ] {
            assert!(!is_accepted_with(&[("sec-fetch-site", site)]), "{site:?}");
            let local: (&str, &[u8]) = ("origin", b"http://localhost:3000");
            assert!(
                !is_accepted_with(&[local, ("sec-fetch-site", site)]),
                "{site:?}"
            );
        }
        for site in [&b"same-origin"[..], b"none"] {
            assert!(is_accepted_with(&[("sec-fetch-site", site)]), "{site:?}");
        }
    }

    #[test]
    fn headers_that_are_there_twice_are_refused() {
        let local = b"http://localhost";
        assert!(!is_accepted_with(&[("host", b"localhost")]));
        assert!(!is_accepted_with(&[("host", b"evil.example")]));
        assert!(!is_accepted_with(&[("origin", local), ("origin", local)]));
        assert!(!is_accepted_with(&[
            ("origin", local),
            ("origin", b"https://evil.example")
        ]));
        assert!(!is_accepted_with(&[
            ("sec-fetch-site", b"none"),
            ("sec-fetch-site", b"cross-site")
        ]));
    }

    #[test]
    fn an_address_in_the_request_line_does_not_hide_the_host() {
        let is_accepted = |uri: &str, host: &str| {
            let request = Request::builder().uri(uri).header(HOST, host);
            check(&request.body(()).unwrap().into_parts().0).is_ok()
        };
        assert!(is_accepted(
            "http://localhost:4141/v1/skills",
            "localhost:4141"
        ));
        assert!(!is_accepted(
            "http://localhost:4141/v1/skills",
            "evil.example"
        ));
        assert!(!is_accepted(
            "http://evil.example/v1/skills",
            "localhost:4141"
        ));
    }
}
