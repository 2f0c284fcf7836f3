//! Sessions: a folder, an owner and a policy that outlive the commands run in them, and
//! the server too. Processes do not: each command's sandbox ends with it.

mod account;
mod files;
mod held;
mod index;
mod meta;
mod place;
mod room;
mod survey;

pub(crate) use account::tenant;
pub use files::FileInfo;
pub(crate) use files::{list, open, put, remove};
pub(crate) use held::Held;
pub(crate) use meta::{Meta, now};
pub(crate) use place::remove_folder;

use crate::collect::Usage;
use crate::collect::folder::Folder;
use crate::egress::DomainRule;
use crate::error::Error;
use crate::policy::{Limits, Network, Policy};
use crate::settings::Settings;
use crate::{id, name};
use held::Lock;
use index::Index;
use room::Quota;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
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
    quota: Quota,
    index: Arc<Index>,
    /// Held while room is made, so that nobody takes it twice.
    room: Mutex<()>,
    locks: Mutex<HashMap<String, Arc<Lock>>>,
    /// Sessions that were evicted or have expired, which the backend may still keep
    /// something for.
    removed: Mutex<Vec<Removed>>,
}

/// A session that is no more.
#[derive(Debug)]
pub(crate) struct Removed {
    pub(crate) id: String,
    pub(crate) host_id: u32,
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

impl SessionInfo {
    fn new(id: String, meta: Meta) -> Self {
        Self {
            id,
            owner: meta.owner,
            created: meta.created,
            used: meta.used,
            bytes: meta.usage.bytes,
            domains: match meta.policy.network {
                Network::Off => Vec::new(),
                Network::Allow(domains) => domains,
            },
        }
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
            quota: Quota::new(settings),
            index: Arc::default(),
            room: Mutex::default(),
            locks: Mutex::default(),
            removed: Mutex::default(),
        }
    }

    /// Makes a session, after clearing away what has expired. It gets the host id that
    /// `adopt` returns if one was made ready for it; that is asked for only once the
    /// session is counted, so that one who is refused takes nothing from others. So are the
    /// `mounts`, as (path relative to the state folder, path inside).
    pub(crate) fn create(
        &self,
        owner: &str,
        policy: Policy,
        mounts: impl FnOnce() -> Result<Vec<(String, String)>, Error>,
        adopt: impl FnOnce(&Limits) -> Option<u32>,
    ) -> Result<String, Error> {
        self.sync();
        self.expire_known();
        let id = format!("{PREFIX}{}", id::random()?);
        let free = self.free_host_id()?;
        self.claim(&id, owner, free)?;
        let mounts = mounts().inspect_err(|_| self.index.remove(&id))?;
        let host_id = adopt(&policy.limits).unwrap_or(free);
        let (created, owner) = (now(), owner.to_owned());
        let meta = Meta {
            owner,
            policy,
            host_id,
            mounts,
            created,
            used: created,
            usage: Usage::default(),
            uploads: Vec::new(),
        };
        if let Err(error) = self.make(&id, &meta) {
            self.index.remove(&id);
            return Err(error);
        }
        self.index.set(&id, &meta);
        Ok(id)
    }

    /// Whole or not at all: a folder with a session's name is a session.
    fn make(&self, id: &str, meta: &Meta) -> Result<(), Error> {
        let begun = self.begin(meta.host_id)?;
        let folder = self.folder.join(begun.to_string_lossy().as_ref());
        let made = meta.save(&folder).and_then(|()| self.finish(&begun, id));
        if made.is_err() {
            // The first error is the one to tell.
            let _ = self.clear(&begun);
        }
        made
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
        let turn = self.lock_of(id).turn(id).await?;
        let meta = match self.known(owner, id) {
            Ok(meta) => meta,
            Err(gone) => {
                self.forget_lock(id);
                return Err(gone);
            }
        };
        let folder = self.folder.join(id);
        let file = lock_file(&folder).ok_or_else(none)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| Error::SessionBusy { id: id.to_owned() })?;
        Ok(Held {
            id: id.to_owned(),
            meta,
            folder,
            file,
            index: Arc::clone(&self.index),
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

    /// What is known of one session, without waiting for those who use it.
    pub(crate) fn info(&self, owner: &str, id: &str) -> Result<SessionInfo, Error> {
        let meta = self.known(owner, id)?;
        Ok(SessionInfo::new(id.to_owned(), meta))
    }

    /// Removes a session and its files.
    pub(crate) fn destroy(&self, held: &Held) -> Result<(), Error> {
        self.forget_lock(&held.id);
        let gone = self.unlink(&held.id)?;
        self.clear(&gone)
    }

    fn is_held(&self, id: &str) -> bool {
        let locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.get(id).is_some_and(|lock| lock.try_turn().is_none())
    }

    fn lock_of(&self, id: &str) -> Arc<Lock> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry(id.to_owned()).or_default())
    }

    fn forget_lock(&self, id: &str) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.remove(id);
    }

    /// A host id that no other session here has.
    pub(crate) fn free_host_id(&self) -> Result<u32, Error> {
        if self.index.should_compare() {
            self.compare();
        }
        let width = self.ids.end.saturating_sub(self.ids.start);
        loop {
            let id = self.ids.start.saturating_add(id::below(width)?);
            if !self.index.is_host_id_taken(id) || self.index.len() >= width as usize {
                return Ok(id);
            }
        }
    }
}

fn lock_file(session: &Path) -> Option<File> {
    Folder::open_path(session).ok()?.open_file(c"lock").ok()
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

    #[test]
    fn one_who_is_refused_a_session_adopts_nothing_that_was_made_ahead() {
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("sessions")).unwrap();
        let mut settings = Settings::new(folder.path());
        settings.sessions_per_tenant = 1;
        let sessions = Sessions::new(folder.path(), false, &settings);
        let create = |adopt: &mut dyn FnMut(&Limits) -> Option<u32>| {
            sessions.create("greedy", Policy::default(), || Ok(Vec::new()), adopt)
        };
        let id = create(&mut |_| Some(1_900_000_007)).unwrap();
        let known = sessions.known("greedy", &id).unwrap();
        assert_eq!(known.host_id, 1_900_000_007);
        assert!(sessions.index.is_host_id_taken(1_900_000_007));
        let mut is_adopted = false;
        let refused = create(&mut |_| {
            is_adopted = true;
            None
        });
        assert!(matches!(refused, Err(Error::TooManySessions { .. })));
        assert!(!is_adopted);
    }
}
