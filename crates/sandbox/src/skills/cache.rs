//! The folder of skills: which exist, their disk usage, and which are evicted when the
//! total exceeds the limit or they were not used for long.
//!
//! A skill that a container names stays. To keep skills while a container is being created
//! with them, its creator holds a shared lock until the container's metadata names them,
//! and eviction holds the lock exclusively while it reads the containers' metadata. The
//! lock is a file, because other servers may share the folder. The modification time of a
//! skill's folder is when it was last used.

use super::{PARTIAL_PREFIX, SkillFiles, is_folder, write};
use crate::collect::{DiskUsage, ENTRY_BYTES, measure};
use crate::error::{Error, ErrorContext};
use crate::{id, name};
use prowess_launcher::LAYOUT;
use rustix::fs::{AtFlags, CWD, FlockOperation, Timespec, Timestamps, UTIME_NOW, flock, utimensat};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Prefix of a skill that is being removed.
const REMOVED_PREFIX: &str = ".removed-";

/// The lock file between users and eviction of skills.
const LOCK_FILE: &str = ".lock";

/// Older partial folders were left behind by a crash.
const STALE_AFTER: Duration = Duration::from_secs(60 * 60);

/// How often unused skills are searched for.
const TIDY_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// The mounts of containers, as paths relative to the state folder.
pub(crate) type MountedPaths<'a> = &'a dyn Fn() -> HashSet<String>;

/// All skills under one state folder.
#[derive(Debug)]
pub(crate) struct SkillCache {
    folder: PathBuf,
    max_bytes: u64,
    /// How long an unused skill that no container names is retained.
    max_idle: Duration,
    known: Mutex<KnownSkills>,
    /// Held while skills are removed; writers wait for it.
    removing: Mutex<()>,
}

#[derive(Debug, Default)]
struct KnownSkills {
    /// Bytes of each skill, by digest. A digest always has the same bytes.
    sizes: HashMap<String, u64>,
    /// Their sum.
    bytes: u64,
    /// Bytes that are about to be written.
    reserved: u64,
    tidied: Option<Instant>,
}

impl KnownSkills {
    fn set(&mut self, digest: &str, bytes: u64) {
        let before = self.sizes.insert(digest.to_owned(), bytes);
        let rest = self.bytes.saturating_sub(before.unwrap_or(0));
        self.bytes = rest.saturating_add(bytes);
    }

    fn with(&self, requested: u64) -> u64 {
        let taken = self.bytes.saturating_add(self.reserved);
        taken.saturating_add(requested)
    }
}

/// A skill as a candidate for removal.
struct SkillCacheEntry {
    digest: String,
    bytes: u64,
    used: SystemTime,
}

/// Keeps skills in use until dropped.
#[derive(Debug, Default)]
pub(crate) struct SkillsGuard {
    /// What to mount, as (path relative to the state folder, path inside).
    pub(crate) mounts: Vec<(String, String)>,
    _lock: Option<FolderLock>,
}

#[derive(Debug)]
struct FolderLock(File);

impl Drop for FolderLock {
    /// Closing the file is not enough: a launcher that is just being started may have a
    /// copy of the descriptor for a moment.
    fn drop(&mut self) {
        // It fails only for a file that is not open.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// A reservation of bytes to be written, released when dropped.
struct ByteReservation<'a> {
    skills: &'a SkillCache,
    bytes: u64,
}

impl Drop for ByteReservation<'_> {
    fn drop(&mut self) {
        let mut known = self.skills.known();
        known.reserved = known.reserved.saturating_sub(self.bytes);
    }
}

impl SkillCache {
    /// `max_idle` is how long an unused skill that no container names is retained.
    pub(crate) fn new(state: &Path, max_bytes: u64, max_idle: Duration) -> Self {
        let skills = Self {
            folder: state.join("skills"),
            max_bytes,
            max_idle,
            known: Mutex::default(),
            removing: Mutex::default(),
        };
        skills.list();
        skills
    }

    /// Writes the missing skills. They stay until the returned guard is dropped, and after
    /// that as long as a container names them.
    pub(crate) fn provide(
        &self,
        skills: &[SkillFiles],
        mounted: MountedPaths<'_>,
    ) -> Result<SkillsGuard, Error> {
        if skills.is_empty() {
            return Ok(SkillsGuard::default());
        }
        for skill in skills {
            name::check_word("skill", &skill.name)?;
            name::check_word("digest", &skill.digest)?;
        }
        self.tidy_if_due(mounted)?;
        let reserved = self.reserve(skills, mounted)?;
        // A waiting eviction goes before later writers.
        drop(lock(&self.removing));
        let lock = self.lock_folder(FlockOperation::LockShared)?;
        let mounts = skills.iter().map(|skill| self.write(skill));
        let mounts = mounts.collect::<Result<_, Error>>()?;
        drop(reserved);
        let _lock = Some(lock);
        Ok(SkillsGuard { mounts, _lock })
    }

    fn write(&self, skill: &SkillFiles) -> Result<(String, String), Error> {
        let place = self.folder.join(&skill.digest);
        if write(&place, skill)? {
            let bytes = disk_bytes(&place)?;
            self.known().set(&skill.digest, bytes);
        } else {
            let now = Timespec {
                tv_sec: 0,
                tv_nsec: UTIME_NOW,
            };
            let now = Timestamps {
                last_access: now,
                last_modification: now,
            };
            // If it fails, only the time of last use is lost.
            let _ = utimensat(CWD, &place, &now, AtFlags::SYMLINK_NOFOLLOW);
        }
        let folder = format!("skills/{}", skill.digest);
        Ok((folder, LAYOUT.skill_path(&skill.name)))
    }

    /// Reserves space for the missing ones of these skills.
    fn reserve(
        &self,
        skills: &[SkillFiles],
        mounted: MountedPaths<'_>,
    ) -> Result<ByteReservation<'_>, Error> {
        let mut digests = HashSet::new();
        let new = skills.iter().filter(|skill| {
            digests.insert(skill.digest.as_str()) && !is_folder(&self.folder.join(&skill.digest))
        });
        let bytes = new.map(SkillFiles::disk_bytes).fold(0, u64::saturating_add);
        let reserved = |known: &mut KnownSkills| {
            let fits = bytes == 0 || known.with(bytes) <= self.max_bytes;
            if fits {
                known.reserved = known.reserved.saturating_add(bytes);
            }
            // Created only if it fits: dropping it would release bytes.
            fits.then(|| ByteReservation {
                skills: self,
                bytes,
            })
        };
        if let Some(reserved) = reserved(&mut self.known()) {
            return Ok(reserved);
        }
        // More than needed, so that the next call need not scan all again.
        let target = (self.max_bytes / 4 * 3).saturating_sub(bytes);
        self.remove_unused(target, &digests, mounted)?;
        let mut known = self.known();
        let used = known.with(0);
        reserved(&mut known).ok_or(Error::DiskFull {
            limit: "skills_size",
            used,
            allowed: self.max_bytes,
        })
    }

    /// Evicts skills that were not used for long or exceed the limit.
    pub(crate) fn tidy(&self, mounted: MountedPaths<'_>) -> Result<(), Error> {
        self.known().tidied = Some(Instant::now());
        self.remove_unused(self.max_bytes, &HashSet::new(), mounted)
    }

    fn tidy_if_due(&self, mounted: MountedPaths<'_>) -> Result<(), Error> {
        let tidied = self.known().tidied;
        if tidied.is_none_or(|at| at.elapsed() >= TIDY_INTERVAL) {
            self.tidy(mounted)
        } else {
            Ok(())
        }
    }

    /// Evicts skills that no container names, the least recently used first, until the
    /// total is at most `target`; and all that were not used for long.
    fn remove_unused(
        &self,
        target: u64,
        requested: &HashSet<&str>,
        mounted: MountedPaths<'_>,
    ) -> Result<(), Error> {
        let _removing = lock(&self.removing);
        let alone = self.lock_folder(FlockOperation::LockExclusive)?;
        let mut all = self.list();
        let is_due = |one: &SkillCacheEntry| is_older(one.used, self.max_idle);
        if self.known().with(0) <= target && !all.iter().any(is_due) {
            return Ok(());
        }
        let mounted = mounted();
        all.retain(|one| {
            !requested.contains(one.digest.as_str())
                && !mounted.contains(&format!("skills/{}", one.digest))
        });
        all.sort_by_key(|one| one.used);
        let mut removed = Vec::new();
        for one in all {
            if self.known().with(0) <= target && !is_due(&one) {
                break;
            }
            // Renamed in one step, so that nobody finds a partial skill.
            let gone = self
                .folder
                .join(format!("{REMOVED_PREFIX}{}", id::random_id()?));
            if fs::rename(self.folder.join(&one.digest), &gone).is_ok() {
                let mut known = self.known();
                known.sizes.remove(&one.digest);
                known.bytes = known.bytes.saturating_sub(one.bytes);
                removed.push(gone);
            }
        }
        drop(alone);
        for gone in removed {
            // What cannot be removed is tried again later.
            let _ = fs::remove_dir_all(gone);
        }
        Ok(())
    }

    /// Lists all skills and updates the known sizes. Nobody may write one in the meantime.
    /// Removes leftovers of killed servers.
    fn list(&self) -> Vec<SkillCacheEntry> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut all = Vec::new();
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let changed = entry.metadata().and_then(|found| found.modified());
            let used = changed.unwrap_or(SystemTime::UNIX_EPOCH);
            let is_left = name.starts_with(REMOVED_PREFIX) || name.starts_with(PARTIAL_PREFIX);
            if is_left && is_older(used, STALE_AFTER) {
                let _ = fs::remove_dir_all(entry.path());
            } else if name::check_word("digest", &name).is_ok() && is_folder(&entry.path()) {
                all.extend(self.cached_skill(name, used));
            }
        }
        let mut known = self.known();
        known.sizes.clear();
        known.bytes = 0;
        for one in &all {
            known.set(&one.digest, one.bytes);
        }
        all
    }

    fn cached_skill(&self, digest: String, used: SystemTime) -> Option<SkillCacheEntry> {
        let bytes = self.known().sizes.get(&digest).copied();
        let bytes = bytes.or_else(|| disk_bytes(&self.folder.join(&digest)).ok())?;
        Some(SkillCacheEntry {
            digest,
            bytes,
            used,
        })
    }

    fn lock_folder(&self, operation: FlockOperation) -> Result<FolderLock, Error> {
        let place = self.folder.join(LOCK_FILE);
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let file = options
            .open(&place)
            .at("cannot lock the folder of skills", &place)?;
        flock(&file, operation).at("cannot lock the folder of skills", &place)?;
        Ok(FolderLock(file))
    }

    fn known(&self) -> MutexGuard<'_, KnownSkills> {
        lock(&self.known)
    }
}

/// Locks a mutex; a panic of a holder leaves its data consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_older(time: SystemTime, than: Duration) -> bool {
    time.elapsed().is_ok_and(|age| age >= than)
}

/// Disk usage of a folder, including itself.
fn disk_bytes(folder: &Path) -> Result<u64, Error> {
    let usage = measure(folder, DiskUsage::MAX, &mut |_, _| {})?.usage;
    Ok(usage.on_disk().saturating_add(ENTRY_BYTES))
}

#[cfg(test)]
mod tests;
