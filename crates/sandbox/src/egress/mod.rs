//! The egress proxy: the only network access of a sandbox, to allowed domains.
//!
//! The sandbox's network namespace has no route. Its init opens a listening socket on the
//! namespace's loopback and sends it to the server, so that connections from inside arrive
//! here without any process in between. The proxy resolves names itself and connects to
//! exactly the address it has checked: private, local and metadata addresses are refused
//! after resolution, so a name that resolves differently the next time (DNS rebinding)
//! gains nothing.
//!
//! The proxy cannot see inside TLS. It compares the name in the ClientHello with the
//! requested one, but a server that serves other names behind the same certificate can
//! still be used to reach them. The exception are hosts that the command has a secret for:
//! their TLS is intercepted (`intercept`), so that stand-ins can be replaced.
//!
//! | module | owns |
//! |---|---|
//! | `address` | which addresses are public |
//! | `authority` | host names and ports in one form |
//! | `rules` | allowed domains, and secrets for them |
//! | `head` | heads of requests: strict parsing, rendering with secrets |
//! | `client_hello` | the one server name of a TLS client |
//! | `intercept` | the certificate authority of a command, TLS with real servers |
//! | `proxy` | connections: limits, checks, copying |
//! | `dial` | resolving and connecting |
//! | `inspect` | the parsers, for fuzz targets |

mod address;
mod authority;
mod client_hello;
mod dial;
mod head;
#[doc(hidden)]
pub mod inspect;
mod intercept;
mod proxy;
mod rules;

pub use dial::{BoxFuture, Dial, SystemDial};
pub use rules::{DomainRule, EgressSecret, InvalidDomain};

pub(crate) use intercept::TlsInterceptor;
#[cfg(target_os = "linux")]
pub(crate) use intercept::TrustBundle;
pub(crate) use proxy::Proxy;

use crate::error::Error;
use proxy::{ConnectionShares, ProxyTimeouts};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the proxies of all commands share.
#[derive(Debug)]
pub(crate) struct Egress {
    dial: Arc<dyn Dial>,
    /// Intercepts TLS to hosts with secrets, unless the operator disabled it.
    interceptor: Option<Arc<TlsInterceptor>>,
    shares: ConnectionShares,
}

impl Egress {
    /// Without an interceptor, secrets work over plain HTTP only.
    pub(crate) fn new(dial: Arc<dyn Dial>, interceptor: Option<TlsInterceptor>) -> Self {
        Self {
            dial,
            interceptor: interceptor.map(Arc::new),
            shares: ConnectionShares::default(),
        }
    }

    /// The proxy of one command.
    ///
    /// # Errors
    /// When no certificate authority can be created for it.
    pub(crate) fn command_proxy(
        &self,
        owner: &str,
        domains: Vec<DomainRule>,
        secrets: Vec<EgressSecret>,
    ) -> Result<Arc<Proxy>, Error> {
        let interceptor = self.interceptor.as_ref().filter(|_| !secrets.is_empty());
        Ok(Arc::new(Proxy {
            domains,
            secrets,
            interception: interceptor.map(TlsInterceptor::for_command).transpose()?,
            ..self.base_proxy(owner)
        }))
    }

    /// A proxy without secrets for domains that the operator has named and that may be
    /// internal.
    pub(crate) fn operator_proxy(&self, owner: &str, domains: Vec<DomainRule>) -> Arc<Proxy> {
        Arc::new(Proxy {
            domains,
            allow_any_address: true,
            ..self.base_proxy(owner)
        })
    }

    fn base_proxy(&self, owner: &str) -> Proxy {
        Proxy {
            domains: Vec::new(),
            secrets: Vec::new(),
            dial: Arc::clone(&self.dial),
            allow_any_address: false,
            interception: None,
            share: self.shares.for_owner(owner),
            timeouts: ProxyTimeouts::default(),
            connections: std::sync::Mutex::default(),
        }
    }
}

/// A requested connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressConnection {
    /// The requested host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it was allowed, or why not.
    pub verdict: Verdict,
    /// Details, if the verdict is not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The result of a connection request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Allowed.
    Allowed,
    /// The domain is not on the allow list.
    NotAllowed,
    /// The port is neither 80 nor 443.
    Port,
    /// The name does not resolve.
    Unresolved,
    /// The name resolves to an address that is not public.
    PrivateAddress,
    /// The address does not answer.
    Unreachable,
    /// The server's certificate is not valid for its name (only for intercepted TLS).
    BadCertificate,
    /// The client does not trust the proxy's certificate (only for intercepted TLS).
    NotTrusted,
    /// The TLS handshake of the client with the proxy failed (only for intercepted TLS).
    Handshake,
    /// TLS for another name than the requested one, or not TLS.
    OtherName,
    /// A request that the proxy does not support.
    BadRequest,
}

impl Verdict {
    /// The verdict as text.
    fn explain(self) -> &'static str {
        match self {
            Self::Allowed => "it is allowed",
            Self::NotAllowed => "the domain is not on this container's allow list",
            Self::Port => "only port 80 for http and port 443 for https can be reached",
            Self::Unresolved => "the name does not resolve to an address",
            Self::PrivateAddress => "the name resolves to an address that is not public",
            Self::Unreachable => "the server does not answer",
            Self::BadCertificate => "the server's certificate is not valid for this name",
            Self::NotTrusted => {
                "the client does not trust the certificates in the file named by SSL_CERT_FILE"
            }
            Self::Handshake => "the TLS handshake of the client with the proxy failed",
            Self::OtherName => "the TLS server name is another one, or this is not TLS",
            Self::BadRequest => "the proxy does not support this request",
        }
    }
}
