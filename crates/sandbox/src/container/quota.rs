//! Quotas: containers and bytes per tenant, and bytes in total. A tenant that exceeds its
//! share loses its own least recently used containers; a tenant within an equal share
//! loses none for others.

use super::ContainerStore;
use super::account::tenant_for_owner;
use super::guard::ContainerGuard;
use super::meta::epoch_seconds;
use crate::error::Error;
use crate::settings::SandboxSettings;
use std::ffi::CString;
use std::sync::PoisonError;
use std::time::Duration;

/// The bounds.
#[derive(Debug, Clone)]
pub(super) struct Quota {
    containers: usize,
    tenant_bytes: u64,
    disk_bytes: u64,
    evict_idle: Duration,
}

impl Quota {
    pub(super) fn new(settings: &SandboxSettings) -> Self {
        Self {
            containers: settings.containers_per_tenant.max(1),
            tenant_bytes: settings.max_tenant_bytes(),
            disk_bytes: settings.disk_bytes,
            evict_idle: settings.evict_idle,
        }
    }
}

/// There is not enough space.
struct QuotaShortage {
    /// Available bytes.
    available: u64,
    error: Error,
}

/// Evicted containers that are not yet deleted from the disk.
type EvictedFolders = Vec<CString>;

impl ContainerStore {
    /// Counts a new container. At the owner's limit, it replaces an idle one of the same
    /// owner.
    pub(super) fn claim(&self, id: &str, owner: &str, host_id: u32) -> Result<(), Error> {
        let mut evicted = EvictedFolders::new();
        let claimed = self.claim_or_evict(id, owner, host_id, &mut evicted);
        self.clear_all(evicted);
        claimed
    }

    fn claim_or_evict(
        &self,
        id: &str,
        owner: &str,
        host_id: u32,
        evicted: &mut EvictedFolders,
    ) -> Result<(), Error> {
        let _quota = self
            .quota_lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let most = self.quota.containers;
        while let Err(held) = self.index.claim(id, owner, host_id, epoch_seconds(), most) {
            if !self.evict_idle(owner, evicted) {
                return Err(Error::TooManyContainers {
                    held,
                    allowed: most,
                });
            }
        }
        self.make_space(owner, 0, evicted).map_err(|short| {
            self.index.remove(id);
            short.error
        })
    }

    /// Counts a new temporary container.
    pub(super) fn claim_temporary(&self, id: &str, host_id: u32) -> Result<(), Error> {
        let mut evicted = EvictedFolders::new();
        let found = {
            let _quota = self
                .quota_lock
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            self.index.claim_temporary(id, host_id, epoch_seconds());
            self.find_space(0, &mut evicted)
        };
        self.clear_all(evicted);
        found.map_err(|short| {
            self.index.remove(id);
            short.error
        })
    }

    /// Reserves space for a container to grow, until its guard is dropped. Returns how many
    /// bytes are available.
    pub(crate) fn reserve_up_to(&self, held: &ContainerGuard, requested: u64) -> u64 {
        let grown = self.reserve_space(held, requested, |short| short.available);
        grown.map_or_else(|short| short.available.min(requested), |()| requested)
    }

    /// The same, for all bytes or none.
    pub(crate) fn reserve_exact(&self, held: &ContainerGuard, requested: u64) -> Result<(), Error> {
        let grown = self.reserve_space(held, requested, |_| 0);
        grown.map_err(|short| short.error)
    }

    /// Reserves all requested bytes, or what `otherwise` returns if there are fewer. The
    /// lock is held until they are counted, so that no two containers get the same bytes.
    fn reserve_space(
        &self,
        held: &ContainerGuard,
        requested: u64,
        otherwise: impl FnOnce(&QuotaShortage) -> u64,
    ) -> Result<(), QuotaShortage> {
        let mut evicted = EvictedFolders::new();
        let made = {
            let _quota = self
                .quota_lock
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let made = match held.meta.is_temporary {
                true => self.find_space(requested, &mut evicted),
                false => self.make_space(&held.meta.owner, requested, &mut evicted),
            };
            let bytes = match &made {
                Ok(()) => requested,
                Err(short) => otherwise(short).min(requested),
            };
            self.index.reserve(&held.id, bytes);
            made
        };
        self.clear_all(evicted);
        made
    }

    /// Whether a temporary container can use `requested` more bytes: of all bytes, and of no
    /// tenant's. Only expired containers make room for it. These bytes are in the total, so a tenant
    /// that needs space may find less of it.
    fn find_space(
        &self,
        requested: u64,
        evicted: &mut EvictedFolders,
    ) -> Result<(), QuotaShortage> {
        let all = self.quota.disk_bytes;
        if self.index.disk().saturating_add(requested) > all {
            evicted.extend(self.unlink_expired());
        }
        let used = self.index.disk();
        match used.saturating_add(requested) > all {
            true => Err(quota_shortage("disk_size", used, all)),
            false => Ok(()),
        }
    }

    /// Evicts until an owner can use `requested` more bytes. Containers in use stay.
    fn make_space(
        &self,
        owner: &str,
        requested: u64,
        evicted: &mut EvictedFolders,
    ) -> Result<(), QuotaShortage> {
        let (tenant, all) = (self.quota.tenant_bytes, self.quota.disk_bytes);
        if self.index.disk().saturating_add(requested) > all {
            evicted.extend(self.unlink_expired());
        }
        loop {
            let used = self.index.total(owner).disk;
            if used.saturating_add(requested) > tenant {
                if self.evict_idle(owner, evicted) {
                    continue;
                }
                return Err(quota_shortage("tenant_disk_size", used, tenant));
            }
            let used = self.index.disk();
            if used.saturating_add(requested) <= all {
                return Ok(());
            }
            if !self.evict_above_share(owner, requested, evicted) {
                return Err(quota_shortage("disk_size", used, all));
            }
        }
    }

    /// Evicts a container of an owner above an equal share. For an owner within its share,
    /// others' containers need not have been idle for a while.
    fn evict_above_share(&self, owner: &str, requested: u64, evicted: &mut EvictedFolders) -> bool {
        let above = self
            .index
            .above_share(owner, requested, self.quota.disk_bytes);
        let is_above = above.iter().any(|name| name == tenant_for_owner(owner));
        above.iter().any(|name| {
            if is_above {
                self.evict_idle(name, evicted)
            } else {
                self.evict(name, epoch_seconds(), evicted)
            }
        })
    }

    fn evict_idle(&self, owner: &str, evicted: &mut EvictedFolders) -> bool {
        let until = epoch_seconds().saturating_sub(self.quota.evict_idle.as_secs());
        self.evict(owner, until, evicted)
    }

    /// Evicts the least recently used container of an owner that was not used after `until`
    /// and is not in use.
    fn evict(&self, owner: &str, until: u64, evicted: &mut EvictedFolders) -> bool {
        let idle = self.index.idle(owner, until);
        let gone = idle
            .iter()
            .find_map(|(used, id)| self.unlink_unused(id, |meta| meta.used == *used));
        let is_gone = gone.is_some();
        evicted.extend(gone);
        is_gone
    }

    fn clear_all(&self, evicted: EvictedFolders) {
        for gone in evicted {
            // What cannot be removed is removed at the next start.
            let _ = self.clear(&gone);
        }
    }
}

fn quota_shortage(limit: &'static str, used: u64, allowed: u64) -> QuotaShortage {
    QuotaShortage {
        available: allowed.saturating_sub(used),
        error: Error::DiskFull {
            limit,
            used,
            allowed,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use std::sync::Barrier;

    #[tokio::test]
    async fn containers_that_grow_at_once_do_not_get_the_same_bytes() {
        const BYTES: u64 = 1 << 20;
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("sessions")).unwrap();
        let mut settings = SandboxSettings::new(folder.path());
        settings.tenant_disk_bytes = Some(BYTES);
        let containers = ContainerStore::new(folder.path(), false, &settings);
        let create = || containers.create("greedy", Policy::default(), || Ok(Vec::new()), |_| None);
        let ids: Vec<String> = (0..4).map(|_| create().unwrap()).collect();
        let before = containers.index.total("greedy").disk;
        for round in 0..200 {
            let mut all = Vec::new();
            for id in &ids {
                all.push(containers.acquire("greedy", id).await.unwrap());
            }
            let barrier = Barrier::new(all.len());
            let grow = |held: &ContainerGuard| {
                barrier.wait();
                containers.reserve_up_to(held, BYTES)
            };
            let grown: u64 = std::thread::scope(|scope| {
                let threads: Vec<_> = all.iter().map(|held| scope.spawn(|| grow(held))).collect();
                threads.into_iter().map(|one| one.join().unwrap()).sum()
            });
            assert_eq!(grown, BYTES - before, "round {round}");
            assert_eq!(containers.index.total("greedy").disk, BYTES);
        }
    }
}
