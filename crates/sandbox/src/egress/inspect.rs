//! The readers of untrusted bytes, for the fuzz targets: what the proxy would make of
//! them, and nothing more.

use super::authority::Authority;
use super::client_hello::{self, Hello};
use super::head::{self, Request};
use super::rules::Secret;

/// A request as the proxy would send it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// The host that was checked.
    pub host: String,
    /// The head that its server would get.
    pub head: Vec<u8>,
}

/// What would be sent on for the head of a request: to the proxy itself, or inside TLS
/// that is opened for `tls_host`. `None` if it is refused, or asks for a tunnel.
#[must_use]
pub fn rewrite(bytes: &[u8], tls_host: Option<&str>, secrets: &[Secret]) -> Option<Rewritten> {
    let request = match tls_host {
        Some(host) => {
            let to = Authority::parse(host, Some(head::HTTPS_PORT))?;
            head::parse_origin_request(bytes, &to).ok()?
        }
        None => match head::parse_proxy_request(bytes).ok()? {
            Request::Forward(request) => request,
            Request::Connect(_) => return None,
        },
    };
    Some(Rewritten {
        host: request.to.host.to_string(),
        head: request.render(secrets).ok()?,
    })
}

/// The server name of a ClientHello that would be let through to that name.
#[must_use]
pub fn server_name(bytes: &[u8]) -> Option<String> {
    match client_hello::server_name(bytes) {
        Hello::Name(name) => Some(name.to_string()),
        Hello::Encrypted(_) | Hello::Incomplete | Hello::Refused(_) => None,
    }
}
