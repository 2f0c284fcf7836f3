//! Server address and API key of the commands that call a server.

use anyhow::Context;
use prowess_client::Client;

/// Server address and API key.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RemoteArgs {
    /// Server URL; default http://127.0.0.1:4141
    #[arg(long, value_name = "URL", env = "PROWESS_URL")]
    server: Option<String>,
    /// API key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
}

impl RemoteArgs {
    /// For commands that have their own flag for the server.
    pub(crate) fn new(server: Option<String>, api_key: Option<String>) -> RemoteArgs {
        RemoteArgs { server, api_key }
    }

    pub(crate) fn connect(&self) -> anyhow::Result<Client> {
        Ok(Client::new(self.server.as_deref(), self.api_key.clone())?)
    }
}

/// A server, or else the local store, of the commands that read either.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServerOrStoreArgs {
    /// The server's URL; without it, the local store
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// With --server: an API key, or the master key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
}

impl ServerOrStoreArgs {
    /// A client of the server; none for the local store.
    pub(crate) fn connect(&self) -> anyhow::Result<Option<Client>> {
        match self.server.as_deref().filter(|url| !url.is_empty()) {
            Some(url) => Ok(Some(Client::new(Some(url), self.api_key.clone())?)),
            None => Ok(None),
        }
    }
}

/// Whether a server refused a command because it sent no key.
pub(crate) fn lacks_key(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref::<prowess_client::Error>(),
        Some(prowess_client::Error::Refused { code, .. }) if code == "key-missing"
    )
}

/// Runs a future on a new single-threaded runtime.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(work)
}
