//! Where batches are: a server, or the local store without one.

use anyhow::Context;
use prowess_client::{Client, RemoteBatch};
use prowess_store::{BatchKind, BatchRecord, PageRequest, Store, TenantId};
use serde::Serialize;

use crate::client::RemoteArgs;
use crate::config_args::ConfigArgs;
use crate::{format_date, store_args};

/// A server's address, or the local store.
#[derive(Debug, clap::Args)]
pub(super) struct SourceArgs {
    /// The server's URL; without it, batches of the local store
    #[arg(long, value_name = "URL", env = "PROWESS_URL")]
    server: Option<String>,
    /// With --server: the API key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
    /// Without --server: the tenant
    #[arg(long, default_value = "default", value_parser = store_args::parse_tenant)]
    tenant: TenantId,
    #[command(flatten)]
    place: ConfigArgs,
}

/// Where batches are.
pub(super) enum BatchSource {
    Server(Client),
    Store(Box<Store>, TenantId),
}

/// A batch as it is shown.
#[derive(Debug, Clone, Serialize)]
pub(super) struct BatchSummary {
    pub(super) id: String,
    pub(super) status: String,
    pub(super) created_at: String,
    pub(super) requests: u64,
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<String>,
}

impl SourceArgs {
    pub(super) async fn open(&self) -> anyhow::Result<BatchSource> {
        let server = self.server.clone().filter(|url| !url.is_empty());
        if let Some(url) = server {
            let remote = RemoteArgs::new(Some(url), self.api_key.clone());
            return Ok(BatchSource::Server(remote.connect()?));
        }
        let config = self.place.load(None)?;
        let store = Store::open(&config.store).await;
        let store = store.context("cannot open the store")?;
        Ok(BatchSource::Store(Box::new(store), self.tenant.clone()))
    }
}

impl BatchSource {
    /// The newest batches, newest first.
    pub(super) async fn list(&self, limit: u32) -> anyhow::Result<Vec<BatchSummary>> {
        let (store, tenant) = match self {
            BatchSource::Server(client) => {
                let mut found = client.batches(limit).await?;
                found.truncate(usize::try_from(limit)?);
                return Ok(found.into_iter().map(BatchSummary::from).collect());
            }
            BatchSource::Store(store, tenant) => (store, tenant),
        };
        let page = PageRequest {
            limit,
            ..PageRequest::default()
        };
        let mut found = Vec::new();
        for kind in [BatchKind::Messages, BatchKind::File] {
            found.extend(store.list_batches(tenant, kind, &page).await?.items);
        }
        found.sort_by_key(|batch| std::cmp::Reverse(batch.created_at.as_micros()));
        found.truncate(usize::try_from(limit)?);
        Ok(found.iter().map(BatchSummary::from).collect())
    }

    pub(super) async fn get(&self, id: &str) -> anyhow::Result<BatchSummary> {
        Ok(match self {
            BatchSource::Server(client) => client.batch(id).await?.into(),
            BatchSource::Store(store, tenant) => {
                let found = store.batch(tenant, kind(id), id).await?;
                BatchSummary::from(&found)
            }
        })
    }

    pub(super) async fn cancel(&self, id: &str) -> anyhow::Result<BatchSummary> {
        Ok(match self {
            BatchSource::Server(client) => client.cancel_batch(id).await?.into(),
            BatchSource::Store(store, tenant) => {
                let found = store.cancel_batch(tenant, kind(id), id).await?;
                BatchSummary::from(&found)
            }
        })
    }
}

fn kind(id: &str) -> BatchKind {
    match id.starts_with("msgbatch_") {
        true => BatchKind::Messages,
        false => BatchKind::File,
    }
}

impl From<RemoteBatch> for BatchSummary {
    fn from(batch: RemoteBatch) -> BatchSummary {
        let created_at = match batch.created_at.parse() {
            Ok(seconds) => format_date(seconds),
            Err(_) => batch.created_at,
        };
        BatchSummary {
            id: batch.id,
            status: batch.status,
            created_at,
            requests: batch.requests,
            succeeded: batch.succeeded,
            failed: batch.failed,
            errors: batch.errors,
        }
    }
}

impl From<&BatchRecord> for BatchSummary {
    fn from(batch: &BatchRecord) -> BatchSummary {
        let counts = batch.counts;
        let count = |count: i64| u64::try_from(count).unwrap_or_default();
        let errors: Option<Vec<serde_json::Value>> = batch
            .errors
            .as_deref()
            .and_then(|errors| serde_json::from_str(errors).ok());
        let message = |error: &serde_json::Value| Some(error.get("message")?.as_str()?.to_owned());
        let errors = errors.unwrap_or_default();
        BatchSummary {
            id: batch.id.clone(),
            status: batch.state.as_str().to_owned(),
            created_at: format_date(batch.created_at.as_seconds()),
            requests: count(counts.total),
            succeeded: count(counts.succeeded),
            failed: count(counts.errored + counts.cancelled + counts.expired),
            errors: errors.iter().filter_map(message).collect(),
        }
    }
}
