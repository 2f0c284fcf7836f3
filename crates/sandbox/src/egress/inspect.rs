//! Entry points of the proxy's parsers for the fuzz targets.

use super::authority::Authority;
use super::client_hello::{self, ParsedHello};
use super::head::{self, ProxyRequest};
use super::rules::EgressSecret;

/// A request as the proxy would forward it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenRequest {
    /// The host that was checked.
    pub host: String,
    /// The head for its server.
    pub head: Vec<u8>,
}

/// What the proxy would forward for the head of a request: to the proxy itself, or inside
/// intercepted TLS for `tls_host`. `None` if it is refused, or requests a tunnel.
#[must_use]
pub fn rewrite(
    bytes: &[u8],
    tls_host: Option<&str>,
    secrets: &[EgressSecret],
) -> Option<RewrittenRequest> {
    let request = match tls_host {
        Some(host) => {
            let to = Authority::parse(host, Some(head::HTTPS_PORT))?;
            head::parse_origin_request(bytes, &to).ok()?
        }
        None => match head::parse_proxy_request(bytes).ok()? {
            ProxyRequest::Forward(request) => request,
            ProxyRequest::Connect(_) => return None,
        },
    };
    Some(RewrittenRequest {
        host: request.to.host.to_string(),
        head: request.render(secrets).ok()?,
    })
}

/// The server name of a ClientHello that would be accepted for that name.
#[must_use]
pub fn server_name(bytes: &[u8]) -> Option<String> {
    match client_hello::server_name(bytes) {
        ParsedHello::Name(name) => Some(name.to_string()),
        ParsedHello::Encrypted(_) | ParsedHello::Incomplete | ParsedHello::Refused(_) => None,
    }
}
