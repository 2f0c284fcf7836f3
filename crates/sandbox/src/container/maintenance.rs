//! Operations on all containers: list, expire, and synchronise with other processes that
//! share the folder.

use super::meta::{ContainerMeta, epoch_seconds};
use super::new_id::ID_PREFIX;
use super::{ContainerInfo, ContainerStore, RemovedContainer, lock_file};
use crate::collect::folder::FolderHandle;
use rustix::fs::{FlockOperation, flock};
use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::sync::PoisonError;

/// Containers that are read again whenever one is created: other processes may use them.
const CHECKED_AT_ONCE: usize = 16;

impl ContainerStore {
    /// All containers that have not expired, the most recently used first.
    pub(crate) fn list(&self) -> Vec<ContainerInfo> {
        self.compare();
        self.read(self.index.all())
    }

    /// The same, for one owner.
    pub(crate) fn list_of_owner(&self, owner: &str) -> Vec<ContainerInfo> {
        self.compare();
        let mut own = self.read(self.index.ids(owner));
        own.retain(|container| container.owner == owner);
        own
    }

    fn read(&self, ids: Vec<String>) -> Vec<ContainerInfo> {
        let now = epoch_seconds();
        let read = ids.into_iter().filter_map(|id| {
            let meta = self.reload(&id)?;
            let lives = !meta.is_expired(now, self.idle, self.life);
            lives.then(|| ContainerInfo::new(id, meta))
        });
        let mut all: Vec<ContainerInfo> = read.collect();
        all.sort_by(|a, b| (b.used, &b.id).cmp(&(a.used, &a.id)));
        all
    }

    /// The mounts of all containers, relative to the state folder. Includes expired
    /// containers, which may still be in use.
    pub(crate) fn mounted(&self) -> HashSet<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_container = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            name.to_str()
                .is_some_and(|name| name.starts_with(ID_PREFIX))
        };
        let containers = entries.filter(is_container);
        containers
            .filter_map(|container| ContainerMeta::load(&container.path()))
            .flat_map(|meta| meta.mounts)
            .map(|(source, _)| source)
            .collect()
    }

    /// Removes expired containers and returns how many.
    pub(crate) fn expire(&self) -> usize {
        self.compare();
        self.expire_known()
    }

    pub(super) fn expire_known(&self) -> usize {
        let gone = self.unlink_expired().into_iter();
        // What cannot be removed is removed at the next start.
        gone.filter(|gone| self.clear(gone).is_ok()).count()
    }

    /// Unlinks all expired containers. The caller must clear what is returned.
    pub(super) fn unlink_expired(&self) -> Vec<CString> {
        let now = epoch_seconds();
        let (idle, life) = (self.idle.as_secs(), self.life.as_secs());
        let until = |time: u64| now.checked_sub(time);
        let (used, made) = (until(idle).unwrap_or(0), until(life).unwrap_or(0));
        let expired = self.index.expired(used, made);
        let is_due = |meta: &ContainerMeta| meta.is_expired(now, self.idle, self.life);
        let gone = expired.iter();
        gone.filter_map(|id| self.unlink_unused(id, is_due))
            .collect()
    }

    /// Unlinks a container, unless it is in use or, by its current file, not due. The
    /// caller must clear what is returned.
    pub(super) fn unlink_unused(
        &self,
        id: &str,
        is_due: impl Fn(&ContainerMeta) -> bool,
    ) -> Option<CString> {
        let lock = self.container_lock(id);
        let _turn = lock.try_acquire()?;
        let folder = self.folder.join(id);
        let (file, meta) = (lock_file(&folder), ContainerMeta::load(&folder));
        let (Some(file), Some(meta)) = (file, meta) else {
            self.forget_lock(id);
            self.index.remove(id);
            return None;
        };
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        if !is_due(&meta) {
            self.index.set(id, &meta);
            return None;
        }
        let gone = self.unlink(id).ok()?;
        self.forget_lock(id);
        let removed = RemovedContainer {
            id: id.to_owned(),
            host_id: meta.host_id,
        };
        let mut all = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(removed);
        Some(gone)
    }

    /// The containers removed since the last call, other than by
    /// [`destroy`](Self::destroy).
    pub(crate) fn take_removed(&self) -> Vec<RemovedContainer> {
        let mut all = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut all)
    }

    /// Updates the index with containers that other processes created, removed or used.
    pub(crate) fn sync(&self) {
        if self.index.should_compare() {
            self.compare();
        }
        for id in self.index.to_check(CHECKED_AT_ONCE) {
            self.reload(&id);
        }
    }

    pub(super) fn compare(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let names = names.filter(|name| name.starts_with(ID_PREFIX)).collect();
        let (missing, new) = self.index.compare(names);
        for id in missing {
            // It may have been created since the names were read.
            if fs::symlink_metadata(self.folder.join(&id)).is_err() {
                self.index.remove(&id);
            }
        }
        for id in new {
            if let Some(meta) = self.reload(&id) {
                // Containers of an earlier version had wider permissions. A failure to
                // restrict them is reported when the container is used.
                let folder = FolderHandle::open_path(&self.folder.join(&id));
                let _ = folder.and_then(|folder| self.restrict_access(&folder, meta.host_id));
            }
        }
    }

    fn reload(&self, id: &str) -> Option<ContainerMeta> {
        let meta = ContainerMeta::load(&self.folder.join(id))?;
        // Its current user updates the index.
        if !self.is_held(id) {
            self.index.set(id, &meta);
        }
        Some(meta)
    }
}
