//! Removes containers of all tenants that were not used for long, or are too old. Every gateway
//! does so; the store sees to it that each is removed once, and never while it is in use.

use std::time::Duration;

use prowess_store::{Error as StoreError, Store};

use crate::command::dispatcher::Dispatcher;
use crate::settings::ClusterSettings;

/// How often containers are looked through.
const INTERVAL: Duration = Duration::from_secs(60);
/// Containers that are removed by one call of the store.
const BATCH_CONTAINERS: u32 = 500;

/// Removes expired containers, for as long as the gateway runs.
pub(crate) async fn remove_regularly(
    store: Store,
    settings: ClusterSettings,
    dispatcher: Dispatcher,
) {
    loop {
        // Different times, so that gateways which were started together do not compete.
        tokio::time::sleep(INTERVAL.mul_f64(0.75 + fastrand::f64() / 2.0)).await;
        match remove(&store, &settings, &dispatcher).await {
            Ok(0) => {}
            Ok(removed) => tracing::debug!(removed, "expired containers were removed"),
            Err(error) => tracing::warn!(%error, "expired containers could not be removed"),
        }
    }
}

/// Removes expired containers now, and returns how many there were.
pub(crate) async fn remove(
    store: &Store,
    settings: &ClusterSettings,
    dispatcher: &Dispatcher,
) -> Result<usize, StoreError> {
    let (idle, life) = (settings.container_idle, settings.container_life);
    let mut count = 0;
    loop {
        let removed = store
            .expire_cluster_containers(idle, life, BATCH_CONTAINERS)
            .await?;
        if removed.is_empty() {
            return Ok(count);
        }
        count += removed.len();
        let ids: Vec<String> = removed.into_iter().map(|(_, id)| id).collect();
        let workers = dispatcher.registry.alive();
        dispatcher.link.forget(&workers, &ids).await;
    }
}
