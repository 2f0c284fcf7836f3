//! Caches of the store that gateways forget for each other: what one changes is used by none any
//! more within a moment. If a message is lost, within the freshness of the store's settings.

use prowess_store::{CacheDrop, CacheKind, Store, TenantId};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::link::ClusterLink;

/// What a gateway has changed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CacheDropMessage {
    /// Names the process.
    boot: String,
    /// Whose data; of all tenants without it.
    #[serde(default)]
    tenant: Option<String>,
    /// `keys`, `skills` or `all`, which anything else means too.
    #[serde(default)]
    what: String,
}

/// Waits for a change by this process.
pub(super) async fn next(drops: &mut broadcast::Receiver<CacheDrop>) -> CacheDrop {
    match drops.recv().await {
        Ok(dropped) => dropped,
        // Too many at once: some are not known.
        Err(RecvError::Lagged(_)) => CacheDrop {
            tenant: None,
            what: CacheKind::All,
        },
        Err(RecvError::Closed) => std::future::pending().await,
    }
}

impl ClusterLink {
    /// Announces a change.
    pub(super) async fn publish_cache_drop(&self, dropped: &CacheDrop) {
        let what = match dropped.what {
            CacheKind::Keys => "keys",
            CacheKind::Skills => "skills",
            CacheKind::All => "all",
        };
        let tenant = dropped.tenant.as_ref();
        let message = CacheDropMessage {
            boot: self.boot().to_owned(),
            tenant: tenant.map(|tenant| tenant.as_str().to_owned()),
            what: what.to_owned(),
        };
        let subject = self.subjects().caches();
        self.publish(&subject, &message).await;
    }
}

/// Forgets what another gateway has changed.
pub(super) fn apply(store: &Store, link: &ClusterLink, message: &CacheDropMessage) {
    if message.boot == link.boot() {
        return;
    }
    let what = match message.what.as_str() {
        "keys" => CacheKind::Keys,
        "skills" => CacheKind::Skills,
        _ => CacheKind::All,
    };
    // A name that is none means that all are concerned.
    let tenant = message.tenant.clone();
    let tenant = tenant.and_then(|tenant| TenantId::new(tenant).ok());
    store.forget_caches(tenant.as_ref(), what);
}

/// Forgets everything, after messages may have been lost.
pub(super) fn forget_all(store: &Store) {
    store.forget_caches(None, CacheKind::All);
}
