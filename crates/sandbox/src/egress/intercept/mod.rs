//! Opening TLS for hosts that a command has a secret for: its stand-ins can only be
//! replaced in requests that the proxy can read.
//!
//! The command gets a certificate authority that is made for it alone. It exists in this
//! process's memory, signs for those hosts only, and is gone with the command; nothing
//! but that command's sandbox is given its certificate. Towards the real server the proxy
//! is an ordinary client: the server's certificate must be valid for its name.

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

/// What all commands of a sandbox share.
#[derive(Debug)]
pub(crate) struct TlsInterceptor {
    upstream: UpstreamTls,
    /// The root that commands run in, whose certificates they trust already.
    runtime: PathBuf,
    runtime_roots: OnceLock<String>,
}

impl TlsInterceptor {
    /// `extra_ca` is a file of certificates that servers' own may be signed by, beside
    /// those the system trusts.
    pub(crate) fn new(runtime: PathBuf, extra_ca: Option<PathBuf>) -> Result<Self, Error> {
        Ok(Self {
            upstream: UpstreamTls::new(extra_ca.as_deref())?,
            runtime,
            runtime_roots: OnceLock::new(),
        })
    }

    /// Makes ready to open TLS for one command.
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

/// The opening of one command's TLS.
#[derive(Debug)]
pub(crate) struct CommandInterception {
    shared: Arc<TlsInterceptor>,
    ca: CommandCa,
}

impl CommandInterception {
    /// What the command must be given to trust its proxy.
    pub(crate) fn trust(&self) -> TrustBundle {
        TrustBundle::new(self.shared.runtime_roots(), self.ca.certificate())
    }

    /// How to be the server of this name towards the command.
    pub(crate) fn server_config(&self, host: &HostName) -> Result<Arc<ServerConfig>, Error> {
        self.ca.server_config(host)
    }

    /// TLS with the real server, whose certificate is checked.
    pub(crate) async fn connect(
        &self,
        host: &HostName,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, UpstreamError> {
        self.shared.upstream.connect(host, stream).await
    }
}

/// Whether a host's TLS must be opened: only where a secret may have to be put in.
pub(crate) fn is_for_secret(host: &HostName, secrets: &[EgressSecret]) -> bool {
    let covers = |secret: &EgressSecret| secret.domain.covers(host.as_str());
    secrets.iter().any(covers)
}
