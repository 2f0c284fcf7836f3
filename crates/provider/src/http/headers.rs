//! Which headers are passed on, and which are dropped.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::key::{KeyError, SecretText};

/// Headers about one connection, not about the message (RFC 9110, 7.6.1).
fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// Client headers that are only for Prowess: credentials, and headers added by proxies on
/// the way.
fn is_gateway_only(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "authorization"
            | "proxy-authorization"
            | "x-api-key"
            | "api-key"
            | "x-goog-api-key"
            | "cookie"
            | "host"
            | "content-length"
            // Prowess must be able to read what it passes on, so no compression is
            // negotiated.
            | "accept-encoding"
            | "content-encoding"
            | "expect"
            | "forwarded"
            | "via"
            | "x-forwarded-for"
            | "x-forwarded-host"
            | "x-forwarded-proto"
    )
}

/// Upstream headers about its own host.
fn is_host_specific(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "set-cookie" | "alt-svc" | "strict-transport-security"
    )
}

/// Headers that select an account of the key's owner.
fn is_account_selector(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "openai-organization" | "openai-project" | "anthropic-workspace-id" | "x-goog-user-project"
    )
}

/// The client's headers to send to the upstream. Headers that select an account are only
/// passed on if the client also sends its own key.
pub(crate) fn for_upstream(client: &HeaderMap, uses_client_key: bool) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(client.len() + 4);
    let is_dropped = |name: &HeaderName| {
        is_hop_by_hop(name)
            || is_gateway_only(name)
            || (!uses_client_key && is_account_selector(name))
    };
    for (name, value) in client {
        if !is_dropped(name) {
            headers.append(name.clone(), value.clone());
        }
    }
    headers.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    headers
}

/// The upstream's headers to send to the client.
pub(crate) fn for_client(mut upstream: HeaderMap) -> HeaderMap {
    let is_dropped = |name: &&HeaderName| is_hop_by_hop(name) || is_host_specific(name);
    let dropped: Vec<_> = upstream.keys().filter(is_dropped).cloned().collect();
    for name in dropped {
        upstream.remove(name);
    }
    upstream
}

/// The headers of a request that Prowess writes itself.
pub(crate) fn default_headers(stream: bool) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    let accept = if stream {
        "text/event-stream"
    } else {
        "application/json"
    };
    headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
    headers.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(
        header::USER_AGENT,
        HeaderValue::from_static(concat!("prowess/", env!("CARGO_PKG_VERSION"))),
    );
    headers
}

/// Whether headers announce a stream of server-sent events.
pub fn is_event_stream(headers: &HeaderMap) -> bool {
    let Some(content_type) = headers.get(header::CONTENT_TYPE) else {
        return false;
    };
    let mut parameters = content_type.as_bytes().split(|byte| *byte == b';');
    let essence = parameters.next().unwrap_or_default().trim_ascii();
    essence.eq_ignore_ascii_case(b"text/event-stream")
}

/// Sets a header to a key.
pub(crate) fn set_key(
    headers: &mut HeaderMap,
    name: &'static str,
    key: &SecretText,
) -> Result<(), KeyError> {
    headers.insert(
        HeaderName::from_static(name),
        sensitive_value(key.expose())?,
    );
    Ok(())
}

/// Sets `Authorization: Bearer`.
pub(crate) fn set_bearer(headers: &mut HeaderMap, key: &SecretText) -> Result<(), KeyError> {
    let value = sensitive_value(&format!("Bearer {}", key.expose()))?;
    headers.insert(header::AUTHORIZATION, value);
    Ok(())
}

/// A header value that is never printed.
pub(crate) fn sensitive_value(text: &str) -> Result<HeaderValue, KeyError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| KeyError::NotHeaderSafe)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn a_clients_credentials_and_connection_end_here_and_all_else_travels_on() {
        let sent = for_upstream(
            &headers(&[
                ("authorization", "Bearer virtual"),
                ("x-api-key", "virtual"),
                ("cookie", "a=b"),
                ("host", "localhost"),
                ("connection", "keep-alive"),
                ("accept-encoding", "gzip"),
                ("anthropic-beta", "a,b"),
                ("x-title", "my app"),
                ("user-agent", "Anthropic/Python 2.8.0"),
                ("openai-project", "theirs"),
            ]),
            false,
        );
        insta::assert_debug_snapshot!(sent, @r#"
        {
            "anthropic-beta": "a,b",
            "x-title": "my app",
            "user-agent": "Anthropic/Python 2.8.0",
            "accept-encoding": "identity",
        }
        "#);
    }

    #[test]
    fn an_event_stream_is_known_by_its_media_type() {
        for (kind, expected) in [
            ("text/event-stream", true),
            ("Text/Event-Stream; charset=utf-8", true),
            ("text/event-streams", false),
            ("application/json", false),
        ] {
            let headers = headers(&[("content-type", kind)]);
            assert_eq!(is_event_stream(&headers), expected, "{kind}");
        }
        assert!(!is_event_stream(&HeaderMap::new()));
    }

    #[test]
    fn an_upstreams_cookies_and_connection_end_here() {
        let given = for_client(headers(&[
            ("content-type", "text/event-stream"),
            ("transfer-encoding", "chunked"),
            ("set-cookie", "a=b"),
            ("request-id", "req_1"),
        ]));
        insta::assert_debug_snapshot!(given, @r#"
        {
            "content-type": "text/event-stream",
            "request-id": "req_1",
        }
        "#);
    }
}
