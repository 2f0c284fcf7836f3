//! Intercepts TLS to hosts that a command has a secret for: stand-ins can only be replaced
//! in requests that the proxy can read.
//!
//! Each command has its own certificate authority. It exists only in this process's
//! memory, signs for those hosts only, and is dropped with the command; only that command's
//! sandbox gets its certificate. Towards the real server the proxy is an ordinary client:
//! the server's certificate must be valid for its name.

mod ca;
mod trust;
mod upstream;

pub(crate) use trust::TrustBundle;

use super::authority::HostName;
use super::rules::EgressSecret;
use crate::error::Error;
use ca::CommandCa;
use rustls::ServerConfig;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
pub(crate) use upstream::UpstreamError;
use upstream::UpstreamTls;

/// The part that all commands share.
#[derive(Debug)]
pub(crate) struct TlsInterceptor {
    upstream: UpstreamTls,
    /// The root file system of commands, whose certificates they already trust.
    runtime: PathBuf,
    runtime_roots: OnceLock<String>,
}

impl TlsInterceptor {
    /// `extra_ca` is a file of certificates to trust for real servers, in addition to the
    /// system's.
    pub(crate) fn new(runtime: PathBuf, extra_ca: Option<PathBuf>) -> Result<Self, Error> {
        Ok(Self {
            upstream: UpstreamTls::new(extra_ca.as_deref())?,
            runtime,
            runtime_roots: OnceLock::new(),
        })
    }

    /// Creates the interception of one command.
    pub(crate) fn for_command(self: &Arc<Self>) -> Result<CommandInterception, Error> {
        Ok(CommandInterception {
            shared: Arc::clone(self),
            ca: CommandCa::generate()?,
        })
    }

    fn runtime_roots(&self) -> &str {
        self.runtime_roots
            .get_or_init(|| trust::read_runtime_roots(&self.runtime))
    }
}

/// The interception of one command's TLS.
#[derive(Debug)]
pub(crate) struct CommandInterception {
    shared: Arc<TlsInterceptor>,
    ca: CommandCa,
}

impl CommandInterception {
    /// The certificates that the command needs to trust its proxy.
    pub(crate) fn trust(&self) -> TrustBundle {
        TrustBundle::new(self.shared.runtime_roots(), self.ca.certificate())
    }

    /// The TLS configuration for serving this name to the command.
    pub(crate) fn server_config(&self, host: &HostName) -> Result<Arc<ServerConfig>, Error> {
        self.ca.server_config(host)
    }

    /// Connects by TLS to the real server and checks its certificate.
    pub(crate) async fn connect(
        &self,
        host: &HostName,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, UpstreamError> {
        self.shared.upstream.connect(host, stream).await
    }
}

/// Whether a host's TLS must be intercepted: only if there is a secret for it.
pub(crate) fn is_for_secret(host: &HostName, secrets: &[EgressSecret]) -> bool {
    let covers = |secret: &EgressSecret| secret.domain.covers(host.as_str());
    secrets.iter().any(covers)
}
