//! Caches that other processes must drop when this one has changed what they contain, and the
//! other way round.
//!
//! Without this, a cached entry is used for the configured freshness at most.

use tokio::sync::broadcast;

use crate::Store;
use crate::tenant::TenantId;

/// Drops that are stored for a slow receiver. One that misses some must drop everything.
const CHANNEL_DROPS: usize = 256;

/// Which caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheKind {
    /// Keys.
    Keys,
    /// Skills, their versions and labels.
    Skills,
    /// All of them.
    All,
}

/// What has changed, so that it must not be used from a cache any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDrop {
    /// Whose data; `None` for all tenants.
    pub tenant: Option<TenantId>,
    /// Which caches.
    pub what: CacheKind,
}

/// Sends what this process has changed.
#[derive(Debug)]
pub(crate) struct CacheDrops(broadcast::Sender<CacheDrop>);

impl Default for CacheDrops {
    fn default() -> Self {
        CacheDrops(broadcast::Sender::new(CHANNEL_DROPS))
    }
}

impl Store {
    /// What is changed through this store from now on, after each commit. A receiver that
    /// [lags](broadcast::error::RecvError::Lagged) has missed some: all caches are concerned.
    #[must_use]
    pub fn cache_drops(&self) -> broadcast::Receiver<CacheDrop> {
        self.cache_drop_channel().0.subscribe()
    }

    /// Drops cached entries because another process has changed what they contain. Not sent to
    /// the receivers of [`Store::cache_drops`]. The caches are shared by all tenants and small,
    /// so entries of other tenants may be dropped too.
    pub fn forget_caches(&self, _tenant: Option<&TenantId>, what: CacheKind) {
        match what {
            CacheKind::Keys => self.key_cache().invalidate_all(),
            CacheKind::Skills => self.resolve_cache().invalidate(),
            CacheKind::All => {
                self.key_cache().invalidate_all();
                self.resolve_cache().invalidate();
            }
        }
    }

    /// Must be called after every commit that changes a key of the tenant.
    pub(crate) fn keys_changed(&self, tenant: &TenantId) {
        self.drop_caches(tenant, CacheKind::Keys);
    }

    /// Must be called after every commit that changes what a skill of the tenant resolves to.
    pub(crate) fn skills_changed(&self, tenant: &TenantId) {
        self.drop_caches(tenant, CacheKind::Skills);
    }

    fn drop_caches(&self, tenant: &TenantId, what: CacheKind) {
        self.forget_caches(Some(tenant), what);
        let dropped = CacheDrop {
            tenant: Some(tenant.clone()),
            what,
        };
        // Without a receiver there is no other process.
        let _ = self.cache_drop_channel().0.send(dropped);
    }
}
