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

/// The headers that a connection names as its own (RFC 9110, 7.6.1). Looked up once for all
/// headers of a message.
struct ConnectionOptions<'h>(Vec<&'h [u8]>);

impl<'h> ConnectionOptions<'h> {
    fn from_headers(headers: &'h HeaderMap) -> ConnectionOptions<'h> {
        let lines = headers.get_all(header::CONNECTION).into_iter();
        let options = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
        ConnectionOptions(options.map(<[u8]>::trim_ascii).collect())
    }

    fn contains(&self, header: &HeaderName) -> bool {
        let header = header.as_str().as_bytes();
        let mut options = self.0.iter();
        options.any(|option| option.eq_ignore_ascii_case(header))
    }
}

/// Client headers that are only for Prowess, such as credentials.
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
    )
}

/// What a browser says of the page that sends a request. The page called this server and not
/// the upstream: Anthropic refuses requests with an origin as ones of foreign pages.
fn is_from_browser(name: &HeaderName) -> bool {
    let name = name.as_str();
    matches!(name, "origin" | "referer") || name.starts_with("sec-")
}

/// What proxies on the way here add: who the client is, what it was authenticated as, and which
/// way it came. Cloudflare, which many upstreams are behind, refuses requests that seem to have
/// passed it before. `cf-aig-…` are settings of its gateway for models.
fn is_from_proxy(name: &HeaderName) -> bool {
    const NAMES: [&str; 11] = [
        "cdn-loop",
        "fastly-client-ip",
        "fly-client-ip",
        "forwarded",
        "true-client-ip",
        "via",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-original-forwarded-for",
        "x-original-host",
        "x-real-ip",
    ];
    const PREFIXES: [&str; 4] = [
        "x-forwarded-",
        "x-auth-request-",
        "x-amzn-oidc-",
        "x-envoy-",
    ];
    let name = name.as_str();
    NAMES.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || (name.starts_with("cf-") && !name.starts_with("cf-aig-"))
}

/// Upstream headers about its own host.
fn is_host_specific(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "set-cookie" | "alt-svc" | "strict-transport-security"
    )
}

/// Upstream headers that name the account whose key was used.
fn is_account_name(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "openai-organization"
            | "openai-project"
            | "anthropic-organization-id"
            | "anthropic-workspace-id"
    )
}

/// Headers that select an account of the key's owner.
fn is_account_selector(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "openai-organization"
            | "openai-project"
            | "anthropic-workspace-id"
            | "anthropic-user-profile-id"
            | "x-goog-user-project"
    )
}

/// Headers that are keys and tokens by their names, for instance of a gateway that a client used
/// before this one (`x-portkey-api-key`, `cf-aig-authorization`, `ocp-apim-subscription-key`).
pub(super) fn is_key_by_name(name: &HeaderName) -> bool {
    const ENDS: [&str; 7] = [
        "-auth",
        "-secret",
        "-token",
        "api-key",
        "apikey",
        "authorization",
        "subscription-key",
    ];
    ENDS.iter().any(|end| name.as_str().ends_with(end))
}

/// The client's headers to send to the upstream. Headers that select an account, or are keys, are
/// only passed on if the client also sends its own key for this upstream.
pub(crate) fn for_upstream(client: &HeaderMap, uses_client_key: bool) -> HeaderMap {
    // As many are dropped as are added later, for most clients.
    let mut headers = HeaderMap::with_capacity(client.len());
    let of_connection = ConnectionOptions::from_headers(client);
    let is_dropped = |name: &HeaderName| {
        is_hop_by_hop(name)
            || is_gateway_only(name)
            || is_from_browser(name)
            || is_from_proxy(name)
            || of_connection.contains(name)
            || (!uses_client_key && (is_account_selector(name) || is_key_by_name(name)))
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
    let of_connection = ConnectionOptions::from_headers(&upstream);
    let is_dropped = |name: &&HeaderName| {
        is_hop_by_hop(name)
            || is_host_specific(name)
            || is_account_name(name)
            || of_connection.contains(name)
    };
    let dropped: Vec<_> = upstream.keys().filter(is_dropped).cloned().collect();
    for name in dropped {
        upstream.remove(name);
    }
    drop_excess(&mut upstream);
    upstream
}

/// Headers of a response that are passed on, and their bytes: many clients refuse a response with
/// a hundred headers, or with 16 KiB of them.
const MAX_RESPONSE_HEADERS: usize = 80;
const MAX_RESPONSE_HEADER_BYTES: usize = 12 << 10;

/// Drops what no client needs of an upstream that sends too much.
fn drop_excess(headers: &mut HeaderMap) {
    let (mut count, mut bytes) = (0_usize, 0_usize);
    let mut dropped = Vec::new();
    for (name, value) in headers.iter() {
        let all = bytes.saturating_add(name.as_str().len() + value.len());
        let is_excess = count >= MAX_RESPONSE_HEADERS || all > MAX_RESPONSE_HEADER_BYTES;
        if is_excess && !is_about_body(name) {
            dropped.push(name.clone());
            continue;
        }
        count += 1;
        bytes = all;
    }
    for name in dropped {
        headers.remove(name);
    }
}

/// Headers without which a client cannot read the body.
fn is_about_body(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "content-type" | "content-length" | "content-encoding"
    )
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

/// Headers that have a key and nothing else.
pub(crate) const API_KEY: HeaderName = HeaderName::from_static("api-key");
pub(crate) const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
pub(crate) const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

/// Sets a header to a key.
pub(crate) fn set_key(
    headers: &mut HeaderMap,
    name: HeaderName,
    key: &SecretText,
) -> Result<(), KeyError> {
    headers.insert(name, sensitive_value(key.expose())?);
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
                ("anthropic-user-profile-id", "theirs"),
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
    fn what_browsers_proxies_and_connections_added_ends_here() {
        for name in [
            "origin",
            "referer",
            "sec-fetch-site",
            "via",
            "x-forwarded-for",
            "x-forwarded-access-token",
            "x-real-ip",
            "cdn-loop",
            "cf-connecting-ip",
            "cf-visitor",
            "cf-access-jwt-assertion",
            "x-hop",
        ] {
            let sent = for_upstream(
                &headers(&[("connection", "close, X-Hop"), (name, "a")]),
                false,
            );
            assert!(!sent.contains_key(name), "{name}");
        }
        for name in ["http-referer", "cf-aig-cache-ttl", "x-title", "x-hops"] {
            let sent = for_upstream(
                &headers(&[("connection", "close, X-Hop"), (name, "a")]),
                false,
            );
            assert!(sent.contains_key(name), "{name}");
        }
        let given = for_client(headers(&[("connection", "x-hop"), ("x-hop", "a")]));
        assert!(given.is_empty(), "{given:?}");
    }

    #[test]
    fn an_upstream_that_sends_too_many_headers_does_not_break_its_client() {
        let mut many = HeaderMap::new();
        for number in 0..200 {
            let name = HeaderName::try_from(format!("x-{number}")).unwrap();
            many.insert(name, HeaderValue::from_static("a"));
        }
        many.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        let given = for_client(many);
        assert!(given.contains_key("x-0") && !given.contains_key("x-199"));
        assert!(given.contains_key(header::CONTENT_TYPE));
        assert!(given.len() <= MAX_RESPONSE_HEADERS + 1);
        let mut long = headers(&[("x-a", "1"), ("x-b", "2")]);
        let value = "v".repeat(MAX_RESPONSE_HEADER_BYTES);
        long.insert("x-long", HeaderValue::try_from(value).unwrap());
        // What comes after it stays.
        long.insert("retry-after", HeaderValue::from_static("7"));
        let given = for_client(long);
        assert!(given.contains_key("x-b") && !given.contains_key("x-long"));
        assert!(given.contains_key("retry-after"));
    }

    #[test]
    fn keys_for_other_services_are_sent_only_with_the_clients_own_key() {
        for name in [
            "x-portkey-api-key",
            "x-litellm-api-key",
            "cf-aig-authorization",
            "ocp-apim-subscription-key",
            "helicone-auth",
            "x-amz-security-token",
        ] {
            let client = headers(&[(name, "secret"), ("idempotency-key", "order-17")]);
            let sent = for_upstream(&client, false);
            assert!(!sent.contains_key(name), "{name}");
            assert!(sent.contains_key("idempotency-key"));
            assert!(for_upstream(&client, true).contains_key(name), "{name}");
        }
        // Those that carry the key for this server never are.
        for name in ["authorization", "x-api-key", "api-key", "x-goog-api-key"] {
            let sent = for_upstream(&headers(&[(name, "virtual")]), true);
            assert!(!sent.contains_key(name), "{name}");
        }
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
            ("openai-organization", "the-operators"),
            ("anthropic-organization-id", "the-operators"),
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
