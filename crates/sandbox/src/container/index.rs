//! An in-memory index of all containers: count and disk usage per owner, and the order of
//! last use, without reading each container's file every time.
//!
//! The files are authoritative. Other processes may share the folder, so the names are
//! compared with the folder at intervals, a few containers are read again with each new
//! one, and a container's file is read before it is removed because of this index.

use super::account::tenant_for_owner;
use super::meta::ContainerMeta;
use crate::collect::DiskUsage;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Disk usage of a container in addition to its files.
pub(super) const CONTAINER_BYTES: u64 = 16 << 10;

/// How long the names are used before they are compared again.
const MAX_NAMES_AGE: Duration = Duration::from_secs(1);

/// All containers of one folder.
#[derive(Debug, Default)]
pub(super) struct ContainerIndex(Mutex<IndexState>);

#[derive(Debug, Default)]
struct IndexState {
    containers: HashMap<String, IndexedContainer>,
    owners: HashMap<String, OwnerEntry>,
    host_ids: HashMap<u32, usize>,
    by_use: BTreeSet<(u64, String)>,
    by_age: BTreeSet<(u64, String)>,
    disk: u64,
    /// All ids, the least recently read first.
    to_check: VecDeque<String>,
    compared: Option<Instant>,
}

#[derive(Debug, Clone)]
struct IndexedContainer {
    /// The tenant it is counted for; none of a temporary one.
    owner: Option<String>,
    created: u64,
    used: u64,
    host_id: u32,
    /// Disk usage of its files, in bytes.
    disk: u64,
    /// Bytes reserved for the operation in progress.
    reserved: u64,
    /// Whether its folder exists yet.
    is_created: bool,
}

impl IndexedContainer {
    /// Of a container that is about to be created.
    fn new(owner: Option<String>, host_id: u32, now: u64) -> Self {
        Self {
            owner,
            created: now,
            used: now,
            host_id,
            disk: DiskUsage::default().on_disk(),
            reserved: 0,
            is_created: false,
        }
    }

    fn bytes(&self) -> u64 {
        let taken = self.disk.saturating_add(CONTAINER_BYTES);
        taken.saturating_add(self.reserved)
    }
}

#[derive(Debug, Default)]
struct OwnerEntry {
    by_use: BTreeSet<(u64, String)>,
    disk: u64,
}

/// Totals of an owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OwnerTotal {
    pub(super) containers: usize,
    pub(super) disk: u64,
}

impl ContainerIndex {
    fn lock(&self) -> MutexGuard<'_, IndexState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the entry from a container's file.
    pub(super) fn set(&self, id: &str, meta: &ContainerMeta) {
        let mut state = self.lock();
        let before = state.take(id);
        let reserved = before.as_ref().map_or(0, |known| known.reserved);
        if before.is_none() {
            state.to_check.push_back(id.to_owned());
        }
        let known = IndexedContainer {
            owner: (!meta.is_temporary).then(|| tenant_for_owner(&meta.owner).to_owned()),
            created: meta.created,
            used: meta.used,
            host_id: meta.host_id,
            disk: meta.usage.on_disk(),
            reserved,
            is_created: true,
        };
        state.put(id, known);
    }

    /// Counts a container that is about to be created. If its owner already has `most`,
    /// returns how many it has.
    pub(super) fn claim(
        &self,
        id: &str,
        owner: &str,
        host_id: u32,
        now: u64,
        most: usize,
    ) -> Result<(), usize> {
        let mut state = self.lock();
        let held = state.total(owner).containers;
        if held >= most {
            return Err(held);
        }
        let owner = tenant_for_owner(owner).to_owned();
        state.add(id, IndexedContainer::new(Some(owner), host_id, now));
        Ok(())
    }

    /// Counts a temporary container that is about to be created: in total, and for no owner.
    pub(super) fn claim_temporary(&self, id: &str, host_id: u32, now: u64) {
        let known = IndexedContainer::new(None, host_id, now);
        self.lock().add(id, known);
    }

    pub(super) fn remove(&self, id: &str) {
        self.lock().take(id);
    }

    /// Reserves bytes for a container to grow by; 0 releases them.
    pub(super) fn reserve(&self, id: &str, bytes: u64) {
        let mut state = self.lock();
        if let Some(mut known) = state.take(id) {
            known.reserved = bytes;
            state.put(id, known);
        }
    }

    pub(super) fn total(&self, owner: &str) -> OwnerTotal {
        self.lock().total(owner)
    }

    /// Disk usage of all containers, in bytes.
    pub(super) fn disk(&self) -> u64 {
        self.lock().disk
    }

    /// Owners that use more than an equal share once `requested` is added for `owner`, the
    /// largest first.
    pub(super) fn above_share(&self, owner: &str, requested: u64, disk_bytes: u64) -> Vec<String> {
        let state = self.lock();
        let owner = tenant_for_owner(owner);
        let is_new = u64::from(!state.owners.contains_key(owner));
        let owners = (state.owners.len() as u64).saturating_add(is_new).max(1);
        let share = disk_bytes / owners;
        let mut above: Vec<(u64, bool, &String)> = state
            .owners
            .iter()
            .map(|(name, known)| {
                let own = name == owner;
                let more = if own { requested } else { 0 };
                (known.disk.saturating_add(more), own, name)
            })
            .filter(|(disk, ..)| *disk > share)
            .collect();
        above.sort_unstable_by(|a, b| b.cmp(a));
        above.into_iter().map(|(.., name)| name.clone()).collect()
    }

    /// Containers of an owner that were last used at `until` or before, as (time, id), the
    /// least recently used first.
    pub(super) fn idle(&self, owner: &str, until: u64) -> Vec<(u64, String)> {
        let state = self.lock();
        let all = state.owners.get(tenant_for_owner(owner)).into_iter();
        all.flat_map(|owner| &owner.by_use)
            .take_while(|(used, _)| *used <= until)
            .filter(|(_, id)| {
                state
                    .containers
                    .get(id)
                    .is_some_and(|known| known.is_created)
            })
            .cloned()
            .collect()
    }

    /// Containers last used or created at these times or before.
    pub(super) fn expired(&self, used_until: u64, made_until: u64) -> Vec<String> {
        let state = self.lock();
        let idle = state.by_use.iter().take_while(|one| one.0 <= used_until);
        let old = state.by_age.iter().take_while(|one| one.0 <= made_until);
        let ids: BTreeSet<&String> = idle.chain(old).map(|(_, id)| id).collect();
        ids.into_iter().cloned().collect()
    }

    pub(super) fn ids(&self, owner: &str) -> Vec<String> {
        let state = self.lock();
        let all = state.owners.get(tenant_for_owner(owner)).into_iter();
        all.flat_map(|owner| &owner.by_use)
            .map(|(_, id)| id.clone())
            .collect()
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.lock().containers.keys().cloned().collect()
    }

    pub(super) fn is_host_id_taken(&self, id: u32) -> bool {
        self.lock().host_ids.contains_key(&id)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().containers.len()
    }

    /// The next few to read again.
    pub(super) fn to_check(&self, most: usize) -> Vec<String> {
        let mut state = self.lock();
        let mut next = Vec::new();
        for _ in 0..most.min(state.to_check.len()) {
            let Some(id) = state.to_check.pop_front() else {
                break;
            };
            if state.containers.contains_key(&id) {
                state.to_check.push_back(id.clone());
                next.push(id);
            }
        }
        next
    }

    /// Whether the names are due to be compared with the folder. Returns true once per
    /// interval; the caller compares.
    pub(super) fn should_compare(&self) -> bool {
        let mut state = self.lock();
        let is_due = state
            .compared
            .is_none_or(|at| at.elapsed() >= MAX_NAMES_AGE);
        if is_due {
            state.compared = Some(Instant::now());
        }
        is_due
    }

    /// Containers without a folder among these names, and names without a container.
    pub(super) fn compare(&self, names: HashSet<String>) -> (Vec<String>, Vec<String>) {
        let state = self.lock();
        let missing = state.containers.iter();
        let missing = missing.filter(|(id, known)| known.is_created && !names.contains(*id));
        let missing = missing.map(|(id, _)| id.clone()).collect();
        let is_new = |id: &String| !state.containers.contains_key(id);
        (missing, names.into_iter().filter(is_new).collect())
    }
}

impl IndexState {
    fn total(&self, owner: &str) -> OwnerTotal {
        let owner = self.owners.get(tenant_for_owner(owner));
        owner.map_or(OwnerTotal::default(), |owner| OwnerTotal {
            containers: owner.by_use.len(),
            disk: owner.disk,
        })
    }

    fn add(&mut self, id: &str, known: IndexedContainer) {
        self.put(id, known);
        self.to_check.push_back(id.to_owned());
    }

    fn put(&mut self, id: &str, known: IndexedContainer) {
        let bytes = known.bytes();
        self.disk = self.disk.saturating_add(bytes);
        if let Some(owner) = &known.owner {
            let owner = self.owners.entry(owner.clone()).or_default();
            owner.disk = owner.disk.saturating_add(bytes);
            owner.by_use.insert((known.used, id.to_owned()));
        }
        self.by_use.insert((known.used, id.to_owned()));
        self.by_age.insert((known.created, id.to_owned()));
        *self.host_ids.entry(known.host_id).or_default() += 1;
        self.containers.insert(id.to_owned(), known);
    }

    fn take(&mut self, id: &str) -> Option<IndexedContainer> {
        let known = self.containers.remove(id)?;
        let bytes = known.bytes();
        self.disk = self.disk.saturating_sub(bytes);
        self.by_use.remove(&(known.used, id.to_owned()));
        self.by_age.remove(&(known.created, id.to_owned()));
        if let Some(name) = &known.owner
            && let Some(owner) = self.owners.get_mut(name)
        {
            owner.disk = owner.disk.saturating_sub(bytes);
            owner.by_use.remove(&(known.used, id.to_owned()));
            if owner.by_use.is_empty() {
                self.owners.remove(name);
            }
        }
        if let Some(count) = self.host_ids.get_mut(&known.host_id) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.host_ids.remove(&known.host_id);
            }
        }
        Some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_containers_are_on_their_tenants_account_and_take_no_share() {
        let index = ContainerIndex::default();
        for (id, owner) in [("a", "x"), ("b", "v"), ("c", "\0layers x")] {
            index.claim(id, owner, 1, 0, 2).unwrap();
        }
        index.reserve("b", 40 << 10);
        assert_eq!(index.total("x").containers, 2);
        assert_eq!(index.total("\0layers x"), index.total("x"));
        assert_eq!(index.claim("d", "\0layers x", 1, 0, 2), Err(2));
        // Half of the bytes are an equal share of two tenants, whoever builds.
        let bytes = 2 * index.total("v").disk;
        assert_eq!(index.above_share("v", 0, bytes), Vec::<String>::new());
        let above = index.above_share("\0layers x", bytes, bytes);
        assert_eq!(above, ["x"]);
    }
}
