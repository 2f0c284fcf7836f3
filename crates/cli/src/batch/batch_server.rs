//! The server that runs a batch: another one, or one of this process over the local store.

use std::time::Duration;

use anyhow::Context;
use prowess::Prowess;
use prowess::config::Config;
use prowess_client::Client;
use prowess_server::{App, SecretString, ServeOptions, ServerSettings, serve};
use prowess_skill::Digest;
use prowess_store::Store;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long requests may take when the server of this process stops. Runs are not waited for:
/// they are continued by the next command.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// A server, and a client of it.
pub(super) struct BatchServer {
    pub(super) client: Client,
    /// Where the batch is, for a later command.
    pub(super) place: String,
    local: Option<LocalServer>,
}

/// A server of this process.
struct LocalServer {
    prowess: Prowess,
    app: App,
    stop: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
}

impl BatchServer {
    pub(super) fn remote(client: Client) -> BatchServer {
        BatchServer {
            place: client.server().to_owned(),
            client,
            local: None,
        }
    }

    /// Starts a server that only this process can use. It runs what the store has, so a batch
    /// that was interrupted goes on.
    pub(super) async fn local(
        config: Config,
        concurrency: Option<u32>,
    ) -> anyhow::Result<BatchServer> {
        // An address may have a password.
        let store = format!(
            "{}\n{}",
            config.store.database,
            config.store.data_dir.display()
        );
        let place = format!("the local store {}", Digest::from_content(store.as_bytes()));
        let prowess = Prowess::builder().config(&config).open().await;
        let prowess = prowess.context("cannot start")?;
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("cannot listen on a local port")?;
        let url = format!("http://{}", listener.local_addr()?);
        let key = format!("{}{}", Store::new_run_id()?, Store::new_run_id()?);
        let mut settings = ServerSettings {
            master_key: Some(SecretString::new(key.clone())),
            index_tenant: None,
            ..config.server.settings
        };
        if let Some(concurrency) = concurrency {
            settings.batches.concurrency = concurrency;
            settings.batches.tenant_concurrency = concurrency;
        }
        let stop = CancellationToken::new();
        let options = ServeOptions {
            grace: STOP_GRACE,
            ..config.server.options
        };
        let app = prowess.app(settings);
        let task = tokio::spawn(serve(listener, app.clone(), stop.clone(), options));
        Ok(BatchServer {
            client: Client::without_proxy(&url, Some(key))?,
            place,
            local: Some(LocalServer {
                prowess,
                app,
                stop,
                task,
            }),
        })
    }

    /// Whether it ends with this process.
    pub(super) fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// Stops a server of this process.
    pub(super) async fn close(self) {
        let Some(local) = self.local else {
            return;
        };
        local.stop.cancel();
        if let Ok(Err(error)) = local.task.await {
            tracing::warn!(%error, "the server has failed");
        }
        local.app.engine().flush_records().await;
        local.prowess.close().await;
    }
}
