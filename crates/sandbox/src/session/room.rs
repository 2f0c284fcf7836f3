//! Who may have how much: sessions and bytes per tenant, and bytes in all. Whoever wants
//! more than its share pays with its own least recently used sessions; nobody pays for
//! others while it has no more than an equal share.

use super::Sessions;
use super::account::tenant;
use super::held::Held;
use super::meta::now;
use crate::error::Error;
use crate::settings::Settings;
use std::ffi::CString;
use std::sync::PoisonError;
use std::time::Duration;

/// The bounds.
#[derive(Debug, Clone)]
pub(super) struct Quota {
    sessions: usize,
    tenant_bytes: u64,
    disk_bytes: u64,
    evict_idle: Duration,
}

impl Quota {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            sessions: settings.sessions_per_tenant.max(1),
            tenant_bytes: settings.most_tenant_bytes(),
            disk_bytes: settings.disk_bytes,
            evict_idle: settings.evict_idle,
        }
    }
}

/// There is not enough room.
struct Short {
    /// Bytes that there are.
    available: u64,
    error: Error,
}

/// Sessions that were evicted and are still to be cleared from the disk.
type Evicted = Vec<CString>;

impl Sessions {
    /// Counts a new session, in place of an idle one of the same owner's where it has
    /// as many as it may.
    pub(super) fn claim(&self, id: &str, owner: &str, host_id: u32) -> Result<(), Error> {
        let mut evicted = Evicted::new();
        let claimed = self.claim_place(id, owner, host_id, &mut evicted);
        self.clear_all(evicted);
        claimed
    }

    fn claim_place(
        &self,
        id: &str,
        owner: &str,
        host_id: u32,
        evicted: &mut Evicted,
    ) -> Result<(), Error> {
        let _room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let most = self.quota.sessions;
        while let Err(held) = self.index.claim(id, owner, host_id, now(), most) {
            if !self.evict_idle(owner, evicted) {
                return Err(Error::TooManySessions {
                    held,
                    allowed: most,
                });
            }
        }
        self.make_room(owner, 0, evicted).map_err(|short| {
            self.index.remove(id);
            short.error
        })
    }

    /// Makes room for a session to grow by so many bytes, and keeps it until the session
    /// is let go of. Returns for how many there is.
    pub(crate) fn grow(&self, held: &Held, wanted: u64) -> u64 {
        let grown = self.reserve(held, wanted, |short| short.available);
        grown.map_or_else(|short| short.available.min(wanted), |()| wanted)
    }

    /// The same, for all of it or nothing.
    pub(crate) fn grow_whole(&self, held: &Held, wanted: u64) -> Result<(), Error> {
        let grown = self.reserve(held, wanted, |_| 0);
        grown.map_err(|short| short.error)
    }

    /// Reserves all that is wanted, or what `otherwise` says where there is less. The lock
    /// is kept until that is counted, so that no two sessions get the same bytes.
    fn reserve(
        &self,
        held: &Held,
        wanted: u64,
        otherwise: impl FnOnce(&Short) -> u64,
    ) -> Result<(), Short> {
        let mut evicted = Evicted::new();
        let made = {
            let _room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            let made = self.make_room(&held.meta.owner, wanted, &mut evicted);
            let bytes = match &made {
                Ok(()) => wanted,
                Err(short) => otherwise(short).min(wanted),
            };
            self.index.reserve(&held.id, bytes);
            made
        };
        self.clear_all(evicted);
        made
    }

    /// Evicts until an owner can have `wanted` bytes more. Sessions in use stay.
    fn make_room(&self, owner: &str, wanted: u64, evicted: &mut Evicted) -> Result<(), Short> {
        let (tenant, all) = (self.quota.tenant_bytes, self.quota.disk_bytes);
        if self.index.disk().saturating_add(wanted) > all {
            evicted.extend(self.unlink_expired());
        }
        loop {
            let used = self.index.total(owner).disk;
            if used.saturating_add(wanted) > tenant {
                if self.evict_idle(owner, evicted) {
                    continue;
                }
                return Err(short("tenant_disk_bytes", used, tenant));
            }
            let used = self.index.disk();
            if used.saturating_add(wanted) <= all {
                return Ok(());
            }
            if !self.evict_above_share(owner, wanted, evicted) {
                return Err(short("disk_bytes", used, all));
            }
        }
    }

    /// Evicts a session of one who has more than an equal share. One who has no more
    /// than that need not wait until others' sessions have been idle for a while.
    fn evict_above_share(&self, owner: &str, wanted: u64, evicted: &mut Evicted) -> bool {
        let above = self.index.above_share(owner, wanted, self.quota.disk_bytes);
        let is_above = above.iter().any(|name| name == tenant(owner));
        above.iter().any(|name| match is_above {
            true => self.evict_idle(name, evicted),
            false => self.evict(name, now(), evicted),
        })
    }

    fn evict_idle(&self, owner: &str, evicted: &mut Evicted) -> bool {
        let until = now().saturating_sub(self.quota.evict_idle.as_secs());
        self.evict(owner, until, evicted)
    }

    /// Evicts the least recently used session of an owner, of those that were not used
    /// after `until` and are not in use.
    fn evict(&self, owner: &str, until: u64, evicted: &mut Evicted) -> bool {
        let idle = self.index.idle(owner, until);
        let gone = idle
            .iter()
            .find_map(|(used, id)| self.unlink_unused(id, |meta| meta.used == *used));
        let is_gone = gone.is_some();
        evicted.extend(gone);
        is_gone
    }

    fn clear_all(&self, evicted: Evicted) {
        for gone in evicted {
            // What stays behind is removed at the next start.
            let _ = self.clear(&gone);
        }
    }
}

fn short(limit: &'static str, used: u64, allowed: u64) -> Short {
    Short {
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
    async fn sessions_that_grow_at_once_do_not_get_the_same_bytes() {
        const BYTES: u64 = 1 << 20;
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("sessions")).unwrap();
        let mut settings = Settings::new(folder.path());
        settings.tenant_disk_bytes = Some(BYTES);
        let sessions = Sessions::new(folder.path(), false, &settings);
        let create = || sessions.create("greedy", Policy::default(), || Ok(Vec::new()), |_| None);
        let ids: Vec<String> = (0..4).map(|_| create().unwrap()).collect();
        let before = sessions.index.total("greedy").disk;
        for round in 0..200 {
            let mut all = Vec::new();
            for id in &ids {
                all.push(sessions.hold("greedy", id).await.unwrap());
            }
            let barrier = Barrier::new(all.len());
            let grow = |held: &Held| {
                barrier.wait();
                sessions.grow(held, BYTES)
            };
            let grown: u64 = std::thread::scope(|scope| {
                let threads: Vec<_> = all.iter().map(|held| scope.spawn(|| grow(held))).collect();
                threads.into_iter().map(|one| one.join().unwrap()).sum()
            });
            assert_eq!(grown, BYTES - before, "round {round}");
            assert_eq!(sessions.index.total("greedy").disk, BYTES);
        }
    }
}
