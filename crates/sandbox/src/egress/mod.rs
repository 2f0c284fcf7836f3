//! The only way out of a sandbox, when it has one: a proxy in the server that lets
//! through to named domains.
//!
//! The sandbox's network namespace has no route. Its init opens a listening socket on
//! the namespace's own loopback and hands it to the server, so a connection made inside
//! arrives here without any process in between. The proxy resolves names itself and
//! connects to the very address it has checked: private, local and metadata addresses
//! are refused after resolution, so a name that resolves differently the next time gains
//! nothing.
//!
//! What it cannot see: inside TLS. It compares the name in the ClientHello with the one
//! asked for, but a server that answers for other names behind the same certificate can
//! still be asked for them. The exception are hosts that the command has a secret for:
//! their TLS is opened (`intercept`), so that stand-ins can be replaced.
//!
//! | module | owns |
//! |---|---|
//! | `authority` | host names and ports in one form |
//! | `rules` | which domains, and which secrets for them |
//! | `head` | heads of requests: strict parsing, writing anew with secrets |
//! | `client_hello` | the one server name of a TLS client |
//! | `intercept` | the certificate authority of a command, TLS with real servers |
//! | `proxy` | connections: their bounds, checks and bytes |
//! | `dial` | resolving and connecting |

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

pub(crate) use intercept::TrustBundle;
pub(crate) use proxy::Proxy;

use crate::error::Error;
use crate::settings::SandboxSettings;
use intercept::TlsInterceptor;
use proxy::{ConnectionShares, ProxyTimeouts};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the proxies of all commands share.
#[derive(Debug)]
pub(crate) struct Egress {
    dial: Arc<dyn Dial>,
    /// How TLS is opened for hosts with secrets, unless the operator wants none opened.
    interceptor: Option<Arc<TlsInterceptor>>,
    shares: ConnectionShares,
}

impl Egress {
    /// # Errors
    /// When the operator's certificates cannot be read.
    pub(crate) fn new(settings: &SandboxSettings) -> Result<Self, Error> {
        let interceptor = settings.open_tls.then(|| {
            let (runtime, extra_ca) = (settings.runtime.clone(), settings.extra_ca_file.clone());
            TlsInterceptor::new(runtime, extra_ca).map(Arc::new)
        });
        Ok(Self {
            dial: Arc::clone(&settings.dial),
            interceptor: interceptor.transpose()?,
            shares: ConnectionShares::default(),
        })
    }

    /// The proxy of one command.
    ///
    /// # Errors
    /// When no certificate authority can be made for it.
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

    /// The same for domains that the operator has named and that may be internal, without
    /// secrets.
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

/// A connection that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressConnection {
    /// The host asked for.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it was let through, or why not.
    pub verdict: Verdict,
    /// What exactly was wrong, where the verdict does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
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
    /// The server's certificate is not valid for its name; seen only where TLS is opened.
    BadCertificate,
    /// The client does not trust the certificate it is shown where TLS is opened.
    NotTrusted,
    /// The client and the proxy did not agree on TLS where it is opened.
    Handshake,
    /// TLS for another name than was asked for, or no TLS at all.
    OtherName,
    /// Not a request this proxy takes.
    BadRequest,
}

impl Verdict {
    /// The verdict in words.
    fn explain(self) -> &'static str {
        match self {
            Self::Allowed => "it is allowed",
            Self::NotAllowed => "the domain is not among those this session may reach",
            Self::Port => "only port 80 for http and port 443 for https can be reached",
            Self::Unresolved => "the name leads to no address",
            Self::PrivateAddress => "the name leads to an address that is not public",
            Self::Unreachable => "the server does not answer",
            Self::BadCertificate => "the server's certificate is not valid for this name",
            Self::NotTrusted => {
                "the client does not trust the certificates in the file that SSL_CERT_FILE names"
            }
            Self::Handshake => "the TLS handshake of the client with the proxy failed",
            Self::OtherName => "TLS is for another name, or is no TLS",
            Self::BadRequest => "this is not a request the proxy takes",
        }
    }
}
