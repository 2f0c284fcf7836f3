//! Which server the verbs that need one mean, and as whom.

use anyhow::Context;
use prowess_client::Client;

/// Which server, and as whom.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RemoteArgs {
    /// The server; http://127.0.0.1:4141 when left out
    #[arg(long, value_name = "URL", env = "PROWESS_URL")]
    server: Option<String>,
    /// The key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
}

impl RemoteArgs {
    /// Another way to say which server, for verbs that have their own flag for it.
    pub(crate) fn new(server: Option<String>, api_key: Option<String>) -> RemoteArgs {
        RemoteArgs { server, api_key }
    }

    pub(crate) fn connect(&self) -> anyhow::Result<Client> {
        Ok(Client::new(self.server.as_deref(), self.api_key.clone())?)
    }
}

/// Runs what a verb does over the network.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(work)
}
