//! The cookie of a console session. It is read below `/console` only; the API takes keys.
//!
//! Browsers keep a cookie with the prefix `__Host-` only if it came over HTTPS, for this host
//! alone. Over plain HTTP there is a console on loopback addresses only, and its cookie has
//! another name.

use http::HeaderMap;
use http::header::COOKIE;

const SECURE_NAME: &str = "__Host-prowess";
const LOOPBACK_NAME: &str = "prowess_console";

/// The id of the session that a browser sends.
pub(crate) fn session_token(headers: &HeaderMap) -> Option<&str> {
    let is_loopback = host(headers).is_some_and(is_loopback_host);
    let lines = headers.get_all(COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let mut found = None;
    for (name, value) in pairs {
        match name {
            SECURE_NAME => return Some(value),
            LOOPBACK_NAME if is_loopback => found = found.or(Some(value)),
            _ => {}
        }
    }
    found
}

/// What sets the cookie, for a browser at this host.
pub(crate) fn set(headers: &HeaderMap, token: &str, seconds: u64) -> String {
    format!("{}; Max-Age={seconds}", with_value(headers, token))
}

/// What deletes the cookie.
pub(crate) fn clear(headers: &HeaderMap) -> String {
    format!("{}; Max-Age=0", with_value(headers, ""))
}

fn with_value(headers: &HeaderMap, value: &str) -> String {
    let (name, secure) = if host(headers).is_some_and(is_loopback_host) {
        (LOOPBACK_NAME, "")
    } else {
        (SECURE_NAME, "; Secure")
    };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}")
}

/// The host that the browser has in its address bar.
pub(crate) fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(http::header::HOST)?.to_str().ok()
}

/// Whether a host with or without a port is this machine.
pub(crate) fn is_loopback_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let address = name.parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, cookie: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("host", host.parse().unwrap());
        headers.insert("cookie", cookie.parse().unwrap());
        headers
    }

    #[test]
    fn the_cookie_without_protection_counts_on_loopback_only() {
        let both = "a=b; prowess_console=plain";
        assert_eq!(
            session_token(&headers("localhost:4141", both)),
            Some("plain")
        );
        assert_eq!(session_token(&headers("console.example", both)), None);
        let secure = "prowess_console=plain; __Host-prowess=secure";
        for host in ["console.example", "[::1]:4141"] {
            assert_eq!(session_token(&headers(host, secure)), Some("secure"));
        }
    }

    #[test]
    fn scripts_other_sites_and_other_hosts_never_get_it() {
        let set_there = set(&headers("console.example", "a=b"), "t", 60);
        assert_eq!(
            set_there,
            "__Host-prowess=t; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=60"
        );
        let set_here = set(&headers("127.0.0.1:4141", "a=b"), "t", 60);
        assert_eq!(
            set_here,
            "prowess_console=t; Path=/; HttpOnly; SameSite=Strict; Max-Age=60"
        );
    }
}
