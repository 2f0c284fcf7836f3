//! All sessions at once: which there are, which have expired, and what other processes
//! that share the folder did to them.

use super::meta::{ContainerMeta, epoch_seconds};
use super::{ContainerInfo, ContainerStore, ID_PREFIX, RemovedContainer, lock_file};
use crate::collect::folder::FolderHandle;
use rustix::fs::{FlockOperation, flock};
use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::sync::PoisonError;

/// Sessions that are read again whenever one is made, for other processes may use them.
const CHECKED_AT_ONCE: usize = 16;

impl ContainerStore {
    /// All sessions that have not expired, the most recently used first.
    pub(crate) fn list(&self) -> Vec<ContainerInfo> {
        self.compare();
        self.read(self.index.all())
    }

    /// The same, of one owner's.
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

    /// What all sessions have mounted, relative to the state folder: whatever a file says
    /// that is there, also of sessions that have expired and may still be in use.
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

    /// Removes expired sessions and returns how many.
    pub(crate) fn expire(&self) -> usize {
        self.compare();
        self.expire_known()
    }

    pub(super) fn expire_known(&self) -> usize {
        let gone = self.unlink_expired().into_iter();
        // What stays behind is removed at the next start.
        gone.filter(|gone| self.clear(gone).is_ok()).count()
    }

    /// Takes all that has expired out of sight. What is returned is to be cleared.
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

    /// Takes a session out of sight, unless someone holds it, or what its file says now
    /// is no reason to. What is returned is to be cleared.
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

    /// The sessions that were removed since this was last called, other than by
    /// [`destroy`](Self::destroy).
    pub(crate) fn take_removed(&self) -> Vec<RemovedContainer> {
        let mut all = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut all)
    }

    /// Learns of sessions that other processes made, removed or used.
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
            // It may have been made since the names were read.
            if fs::symlink_metadata(self.folder.join(&id)).is_err() {
                self.index.remove(&id);
            }
        }
        for id in new {
            if let Some(meta) = self.reload(&id) {
                // Sessions of an earlier version were open to more; that they cannot be
                // closed is told when one is used.
                let folder = FolderHandle::open_path(&self.folder.join(&id));
                let _ = folder.and_then(|folder| self.restrict_access(&folder, meta.host_id));
            }
        }
    }

    fn reload(&self, id: &str) -> Option<ContainerMeta> {
        let meta = ContainerMeta::load(&self.folder.join(id))?;
        // Whoever holds it here says what has become of it.
        if !self.is_held(id) {
            self.index.set(id, &meta);
        }
        Some(meta)
    }
}
