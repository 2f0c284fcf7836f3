//! The only way out of a sandbox, when it has one: a proxy in the server that lets
//! through to named domains.
//!
//! The sandbox's network namespace has no route. Its init opens a listening socket on
//! the namespace's own loopback and hands it to the server, so a connection made inside
//! arrives here without any process in between. The proxy resolves names itself and
//! connects to the very address it has checked: private, local and metadata addresses
//! are refused after resolution, so a name that changes its mind gains nothing.
//!
//! What it cannot see: inside TLS. It compares the name in the ClientHello with the one
//! asked for, but a server that answers for other names behind the same certificate can
//! still be asked for them. Secrets are swapped in for plain HTTP only.

mod address;
mod dial;
mod head;
mod proxy;
mod rules;
mod tls;

pub use dial::{BoxFuture, Dial, SystemDial};
pub use rules::{DomainRule, NoDomain, Secret};

pub(crate) use proxy::Proxy;

use serde::{Deserialize, Serialize};

/// A connection that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The host asked for.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it was let through, or why not.
    pub verdict: Verdict,
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Let through.
    Allowed,
    /// The domain is not on the list.
    NotAllowed,
    /// The port is neither 80 nor 443.
    Port,
    /// The name leads to no address.
    Unresolved,
    /// The name leads to an address that is not public.
    PrivateAddress,
    /// The address does not answer.
    Unreachable,
    /// TLS for another name than was asked for, or no TLS at all.
    OtherName,
    /// Not a request this proxy takes.
    BadRequest,
}
