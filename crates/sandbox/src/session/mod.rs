//! Sessions: a folder, an owner and a policy that outlive the commands run in them, and
//! the server too. Processes do not: each command's sandbox ends with it.

mod files;
mod meta;

pub use files::FileInfo;
pub(crate) use files::{list, open, put, remove};
pub(crate) use meta::{Meta, now};

use crate::collect::{Usage, measure};
use crate::egress::DomainRule;
use crate::error::{During, Error};
use crate::policy::{Network, Policy};
use crate::settings::Settings;
use crate::{id, name};
use rustix::fs::{FlockOperation, Gid, Uid, flock};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// First part of every session's id.
const PREFIX: &str = "container_";

/// All sessions under one folder.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// The folder of all sessions.
    folder: PathBuf,
    root: bool,
    ids: std::ops::Range<u32>,
    idle: Duration,
    life: Duration,
    disk_bytes: u64,
    locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// What is known of a session from outside.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// Who it belongs to.
    pub owner: String,
    /// When it was made, in seconds since the epoch.
    pub created: u64,
    /// When it was last used, in seconds since the epoch.
    pub used: u64,
    /// Bytes its files take.
    pub bytes: u64,
    /// Domains its commands may reach.
    pub domains: Vec<DomainRule>,
}

/// A session held by one user of it. Others wait, in this process; other processes are
/// told that it is busy.
pub(crate) struct Held {
    pub(crate) id: String,
    pub(crate) meta: Meta,
    folder: PathBuf,
    file: File,
    _turn: tokio::sync::OwnedMutexGuard<()>,
}

impl Drop for Held {
    /// Closing the file would do, were it not that a launcher just being started has a
    /// copy of it for a moment.
    fn drop(&mut self) {
        // It fails only for a file that is not open.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Held {
    /// The folder behind `/mnt/data`.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Remembers that it was used just now, and what it holds.
    pub(crate) fn save(&mut self) -> Result<(), Error> {
        self.meta.usage = measure(&self.data(), &mut |_, _| {})?;
        self.touch()
    }

    /// Remembers that it was used just now; what it holds has not changed.
    pub(crate) fn touch(&mut self) -> Result<(), Error> {
        self.meta.used = now();
        self.meta.save(&self.folder)
    }
}

impl Sessions {
    pub(crate) fn new(state: &Path, root: bool, settings: &Settings) -> Self {
        Self {
            folder: state.join("sessions"),
            root,
            ids: settings.host_ids.clone(),
            idle: settings.session_idle,
            life: settings.session_life,
            disk_bytes: settings.disk_bytes,
            locks: Mutex::default(),
        }
    }

    /// Makes a session, after clearing away what has expired. It gets `host_id` if one
    /// was made ready for it.
    pub(crate) fn create(
        &self,
        owner: &str,
        policy: Policy,
        mounts: Vec<(String, String)>,
        host_id: Option<u32>,
    ) -> Result<String, Error> {
        self.expire();
        self.make_room()?;
        let id = format!("{PREFIX}{}", id::random()?);
        let folder = self.folder.join(&id);
        let host_id = host_id.map_or_else(|| self.free_host_id(), Ok)?;
        self.make_folders(&folder, host_id)?;
        File::create(folder.join("lock")).during("lock")?;
        let (created, owner) = (now(), owner.to_owned());
        Meta {
            owner,
            policy,
            host_id,
            mounts,
            created,
            used: created,
            usage: Usage::default(),
        }
        .save(&folder)?;
        Ok(id)
    }

    /// A folder like a session's that no one will find, for trying. Returns its path
    /// relative to the state folder, and its host id.
    pub(crate) fn make_trial(&self) -> Result<(String, u32), Error> {
        let (name, host_id) = (format!(".trial-{}", id::random()?), self.free_host_id()?);
        self.make_folders(&self.folder.join(&name), host_id)?;
        let path = format!("sessions/{name}");
        Ok((path, host_id))
    }

    fn make_folders(&self, folder: &Path, host_id: u32) -> Result<(), Error> {
        let data = folder.join("data");
        for (place, mode) in [(folder, 0o711), (data.as_path(), 0o755)] {
            fs::create_dir(place).during(place.display())?;
            fs::set_permissions(place, fs::Permissions::from_mode(mode)).during(place.display())?;
        }
        if let Some(id) = self.owner_id(host_id) {
            let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
            rustix::fs::chown(&data, Some(uid), Some(gid)).during(data.display())?;
        }
        Ok(())
    }

    /// The id that a session's files belong to on the host, if not to us.
    pub(crate) fn owner_id(&self, host_id: u32) -> Option<u32> {
        self.root.then_some(host_id)
    }

    /// Waits for a session and holds it.
    pub(crate) async fn hold(&self, owner: &str, id: &str) -> Result<Held, Error> {
        let none = || Error::NoSession { id: id.to_owned() };
        // First, so that an id that somebody made up leaves no lock behind, and nobody
        // waits for a session of another's.
        self.known(owner, id)?;
        let turn = self.lock_of(id).lock_owned().await;
        let meta = match self.known(owner, id) {
            Ok(meta) => meta,
            Err(gone) => {
                self.forget_lock(id);
                return Err(gone);
            }
        };
        let folder = self.folder.join(id);
        let file = File::open(folder.join("lock")).map_err(|_| none())?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| Error::SessionBusy { id: id.to_owned() })?;
        Ok(Held {
            id: id.to_owned(),
            meta,
            folder,
            file,
            _turn: turn,
        })
    }

    /// What is known of a session of this owner's that has not expired.
    fn known(&self, owner: &str, id: &str) -> Result<Meta, Error> {
        let none = || Error::NoSession { id: id.to_owned() };
        name::word("session", id).map_err(|_| none())?;
        let meta = Meta::load(&self.folder.join(id)).ok_or_else(none)?;
        if meta.owner != owner || meta.expired(now(), self.idle, self.life) {
            return Err(none());
        }
        Ok(meta)
    }

    /// Until when a session lives if nobody uses it, without waiting for those who do.
    pub(crate) fn expiry(&self, owner: &str, id: &str) -> Result<u64, Error> {
        let meta = self.known(owner, id)?;
        let idle = meta.used.saturating_add(self.idle.as_secs());
        Ok(idle.min(meta.created.saturating_add(self.life.as_secs())))
    }

    /// Removes a session and its files.
    pub(crate) fn destroy(&self, held: &Held) -> Result<(), Error> {
        self.forget_lock(&held.id);
        fs::remove_dir_all(&held.folder).during(held.folder.display())
    }

    /// All sessions that have not expired, the most recently used first.
    pub(crate) fn list(&self) -> Vec<SessionInfo> {
        let now = now();
        let mut all: Vec<_> = self
            .each()
            .filter(|(_, meta)| !meta.expired(now, self.idle, self.life))
            .map(|(id, meta)| SessionInfo {
                id,
                owner: meta.owner,
                created: meta.created,
                used: meta.used,
                bytes: meta.usage.bytes,
                domains: match meta.policy.network {
                    Network::Off => Vec::new(),
                    Network::Allow(domains) => domains,
                },
            })
            .collect();
        all.sort_by(|a, b| (b.used, &b.id).cmp(&(a.used, &a.id)));
        all
    }

    /// Removes expired sessions and returns how many.
    pub(crate) fn expire(&self) -> usize {
        let now = now();
        let expired = self
            .each()
            .filter(|(_, meta)| meta.expired(now, self.idle, self.life));
        expired.filter(|(id, _)| self.remove_unused(id)).count()
    }

    /// Evicts the least recently used sessions while all together take too much.
    fn make_room(&self) -> Result<(), Error> {
        let mut all = self.list();
        let mut used: u64 = all.iter().map(|session| session.bytes).sum();
        while used >= self.disk_bytes {
            let Some(oldest) = all.pop() else {
                return Err(Error::DiskFull {
                    used,
                    allowed: self.disk_bytes,
                });
            };
            if self.remove_unused(&oldest.id) {
                used = used.saturating_sub(oldest.bytes);
            }
        }
        Ok(())
    }

    /// Removes a session unless someone holds it.
    fn remove_unused(&self, id: &str) -> bool {
        let Ok(_turn) = self.lock_of(id).try_lock_owned() else {
            return false;
        };
        let folder = self.folder.join(id);
        let Ok(file) = File::open(folder.join("lock")) else {
            return false;
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return false;
        }
        self.forget_lock(id);
        fs::remove_dir_all(&folder).is_ok()
    }

    fn each(&self) -> impl Iterator<Item = (String, Meta)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let meta = Meta::load(&entry.path())?;
            Some((entry.file_name().into_string().ok()?, meta))
        })
    }

    fn lock_of(&self, id: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry(id.to_owned()).or_default())
    }

    fn forget_lock(&self, id: &str) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.remove(id);
    }

    /// A host id that no other session here has.
    pub(crate) fn free_host_id(&self) -> Result<u32, Error> {
        let taken: Vec<u32> = self.each().map(|(_, meta)| meta.host_id).collect();
        loop {
            let width = self.ids.end.saturating_sub(self.ids.start);
            let id = self.ids.start.saturating_add(id::below(width)?);
            if !taken.contains(&id) || taken.len() >= width as usize {
                return Ok(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_id_that_somebody_made_up_leaves_nothing_behind() {
        let folder = tempfile::TempDir::new().unwrap();
        let sessions = Sessions::new(folder.path(), false, &Settings::new(folder.path()));
        for number in 0..3 {
            let id = format!("container_{number}");
            let held = sessions.hold("somebody", &id).await;
            assert!(matches!(held, Err(Error::NoSession { .. })));
        }
        assert!(sessions.locks.lock().unwrap().is_empty());
    }
}
