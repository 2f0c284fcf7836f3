//! Refuses what pages of other sites send to the console, and adds the headers that keep
//! foreign content from doing anything.
//!
//! A browser says in `Sec-Fetch-Site` where a request comes from, and no script can change it.
//! Where it is absent, a change needs an `Origin` that is this host. The cookie is
//! `SameSite=Strict` too; on a server without a master key there is none, and this is all that
//! stands between a page on the web and the server.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};

use crate::cookie;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Nothing inline, nothing evaluated, nothing from elsewhere, in no frame.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; connect-src 'self'; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'";

/// A handler's own headers stay: files that people download have a stricter policy.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "same-origin"),
    (X_FRAME_OPTIONS, "DENY"),
    (OPENER_POLICY, "same-origin"),
    (RESOURCE_POLICY, "same-origin"),
];

/// Middleware of all routes of the console.
pub(crate) async fn check(request: Request, next: Next) -> Response {
    let mut response = match refuse_foreign(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(message) => foreign_page(message),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Plain text, as it is shown by those who must not be here.
fn foreign_page(message: &'static str) -> Response {
    (StatusCode::FORBIDDEN, format!("{message}\n")).into_response()
}

fn refuse_foreign(method: &Method, headers: &HeaderMap) -> Result<(), &'static str> {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let mut sites = headers.get_all(&FETCH_SITE).iter();
    match (sites.next().map(HeaderValue::as_bytes), sites.next()) {
        (Some(_), Some(_)) => Err("this request has `sec-fetch-site` twice"),
        (Some(b"same-origin"), None) => Ok(()),
        // Typed into the address bar, or opened by another program.
        (Some(b"none"), None) if is_read => Ok(()),
        (Some(_), None) if is_read && is_navigation(headers) => Ok(()),
        (Some(_), None) => Err(
            "this request comes from a page of another site, and the console takes changes \
             from its own pages only: open the console and do it there",
        ),
        (None, _) if is_read => Ok(()),
        (None, _) if is_own_origin(headers) => Ok(()),
        (None, _) => Err(
            "this request names no origin, or another one than this server: send it from a \
             page of the console, or use the API with a key",
        ),
    }
}

/// A link on another page that somebody followed: it shows a page of the console, in a window
/// of its own.
fn is_navigation(headers: &HeaderMap) -> bool {
    let is = |name: &HeaderName, expected: &str| {
        let mut values = headers.get_all(name).iter();
        values.next().is_some_and(|value| value == expected) && values.next().is_none()
    };
    is(&FETCH_MODE, "navigate") && is(&FETCH_DEST, "document")
}

/// Whether `Origin` is the host that the request is for.
fn is_own_origin(headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else {
        return false;
    };
    let origin = origin.to_str().ok().and_then(|it| it.parse::<Uri>().ok());
    let authority = origin.as_ref().and_then(Uri::authority);
    let host = cookie::host(headers);
    authority
        .zip(host)
        .is_some_and(|(origin, host)| origin.as_str().eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_let_in(method: Method, pairs: &[(&'static str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("localhost:4141"));
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        refuse_foreign(&method, &headers).is_ok()
    }

    #[test]
    fn a_change_comes_from_a_page_of_the_console() {
        let change = |pairs: &[(&'static str, &str)]| is_let_in(Method::POST, pairs);
        assert!(change(&[("sec-fetch-site", "same-origin")]));
        assert!(change(&[("origin", "http://localhost:4141")]));
        assert!(!change(&[]));
        for site in ["cross-site", "same-site", "none", "", "Same-Origin"] {
            assert!(!change(&[("sec-fetch-site", site)]), "{site}");
            let own: (&'static str, &str) = ("origin", "http://localhost:4141");
            assert!(!change(&[("sec-fetch-site", site), own]), "{site}");
        }
        for origin in ["null", "http://localhost", "https://evil.example", ""] {
            assert!(!change(&[("origin", origin)]), "{origin}");
        }
        let twice = [("sec-fetch-site", "same-origin"); 2];
        assert!(!change(&twice));
        let twice = [("origin", "http://localhost:4141"); 2];
        assert!(!change(&twice));
    }

    #[test]
    fn other_sites_can_link_to_a_page_but_not_read_or_frame_it() {
        let read = |pairs: &[(&'static str, &str)]| is_let_in(Method::GET, pairs);
        let site: (&'static str, &str) = ("sec-fetch-site", "cross-site");
        let navigate: (&'static str, &str) = ("sec-fetch-mode", "navigate");
        assert!(read(&[]));
        assert!(read(&[("sec-fetch-site", "none")]));
        assert!(read(&[site, navigate, ("sec-fetch-dest", "document")]));
        assert!(!read(&[site, navigate, ("sec-fetch-dest", "iframe")]));
        assert!(!read(&[site, ("sec-fetch-dest", "script")]));
    }
}
