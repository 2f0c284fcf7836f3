//! The folder of runtimes: which are installed, which are in use, and removing them.
//!
//! `NAME/current` is a link to the folder of the build that containers use. Builds are never
//! changed. A server holds a shared lock on the folder of its build, so that a new
//! installation, or another process, does not remove it.

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::definition::RuntimeDefinition;
use super::error::{AtPlace, RuntimeError};
use super::folders::{ROOT, ignore_missing, remove_folder};
use super::lock::RuntimeLock;
use super::name::{RuntimeName, RuntimeSource};
use super::staging_lock::StagingLock;
use crate::error::Error;
use crate::id;
use crate::settings::{BackendKind, SandboxSettings};

/// The folder of runtimes in the sandbox's.
const FOLDER: &str = "runtimes";
/// The link to the current build of a runtime.
const CURRENT: &str = "current";
/// Prefix of the folder of a build.
const BUILD_PREFIX: &str = "build-";
/// The folder in which an installation works.
const STAGING: &str = "staging";
/// The file of its versions there.
pub(super) const LOCK_FILE: &str = "lock.json";
/// The list it was made from there.
pub(super) const DEFINITION_FILE: &str = "definition.toml";

/// The error when a runtime cannot be removed.
const REMOVE_FAILED: &str = "cannot remove the runtime";

/// How often the current build is read again when it is replaced meanwhile.
const MAX_READS: usize = 8;

/// The runtimes in the folder of a sandbox.
#[derive(Debug, Clone)]
pub struct RuntimeStore {
    folder: PathBuf,
}

/// A runtime that containers can use.
#[derive(Debug, Clone)]
pub struct InstalledRuntime {
    /// Its name.
    pub name: RuntimeName,
    /// Its root file system.
    pub root: PathBuf,
    /// The versions it has.
    pub lock: RuntimeLock,
    /// What it was made from.
    pub definition: RuntimeDefinition,
}

/// Keeps a build in use until dropped.
#[derive(Debug)]
pub(crate) struct RuntimeGuard {
    folder: File,
}

impl Drop for RuntimeGuard {
    /// Closing the file is not enough: a launcher that is just being started may have a
    /// copy of the descriptor for a moment.
    fn drop(&mut self) {
        // It fails only for a file that is not open.
        let _ = flock(&self.folder, FlockOperation::Unlock);
    }
}

/// Replaces the name of an installed runtime by the folder of its current build, which stays
/// in use until the guard is dropped.
///
/// # Errors
/// [`Error::Refused`] when it is not installed.
pub(crate) fn pin(settings: &mut SandboxSettings) -> Result<Option<RuntimeGuard>, Error> {
    let RuntimeSource::Installed(name) = &settings.runtime else {
        return Ok(None);
    };
    if settings.backend != BackendKind::Native {
        return Ok(None);
    }
    match RuntimeStore::new(settings).lock_current(name) {
        Some((build, guard)) => {
            settings.runtime = RuntimeSource::Folder(build.join(ROOT));
            Ok(Some(guard))
        }
        None => Err(Error::Refused {
            reason: format!("runtime `{name}` is not installed"),
            advice: format!("run `prowess runtime install {name}`"),
        }),
    }
}

impl RuntimeStore {
    /// The runtimes of a sandbox with these settings.
    #[must_use]
    pub fn new(settings: &SandboxSettings) -> Self {
        let folder = settings.folder.join(FOLDER);
        Self { folder }
    }

    /// All installed runtimes, by name.
    #[must_use]
    pub fn list(&self) -> Vec<InstalledRuntime> {
        let names = self.names().into_iter();
        names.filter_map(|name| self.find(&name)).collect()
    }

    /// Runtimes whose installation was begun and has not been completed, by name.
    #[must_use]
    pub fn unfinished(&self) -> Vec<RuntimeName> {
        let mut names = self.names();
        names.retain(|name| self.is_unfinished(name));
        names
    }

    fn names(&self) -> Vec<RuntimeName> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut names: Vec<RuntimeName> = names.collect();
        names.sort();
        names
    }

    /// An installed runtime.
    #[must_use]
    pub fn find(&self, name: &RuntimeName) -> Option<InstalledRuntime> {
        let (build, _in_use) = self.lock_current(name)?;
        let lock = fs::read(build.join(LOCK_FILE)).ok()?;
        let definition = fs::read_to_string(build.join(DEFINITION_FILE)).ok()?;
        Some(InstalledRuntime {
            name: name.clone(),
            root: build.join(ROOT),
            lock: serde_json::from_slice(&lock).ok()?,
            definition: RuntimeDefinition::parse(&definition).ok()?,
        })
    }

    /// Whether an installation was begun and has not been completed.
    #[must_use]
    pub fn is_unfinished(&self, name: &RuntimeName) -> bool {
        self.staging(name).exists()
    }

    /// Removes a runtime, and what an unfinished installation has left.
    ///
    /// # Errors
    /// [`RuntimeError::NotInstalled`]; [`RuntimeError::InUse`] when a server uses it or it is
    /// being installed.
    pub fn remove(&self, name: &RuntimeName) -> Result<(), RuntimeError> {
        let shown = name.to_string();
        if !self.folder_of(name).exists() {
            return Err(RuntimeError::NotInstalled { name: shown });
        }
        let Some(_lock) = StagingLock::try_acquire(&self.folder_of(name))? else {
            return Err(RuntimeError::InUse { name: shown });
        };
        if !self.is_unfinished(name) && self.builds(name).is_empty() {
            return Err(RuntimeError::NotInstalled { name: shown });
        }
        let mut held = Vec::new();
        for build in self.builds(name) {
            match lock_exclusively(&build) {
                Some(lock) => held.push(lock),
                None => return Err(RuntimeError::InUse { name: shown }),
            }
        }
        let current = self.folder_of(name).join(CURRENT);
        ignore_missing(fs::remove_file(&current)).at_place(REMOVE_FAILED, &current)?;
        let staging = self.staging(name);
        for folder in self.builds(name).iter().chain([&staging]) {
            remove_folder(folder)?;
        }
        Ok(())
    }

    pub(super) fn folder_of(&self, name: &RuntimeName) -> PathBuf {
        self.folder.join(name.as_str())
    }

    pub(super) fn staging(&self, name: &RuntimeName) -> PathBuf {
        self.folder_of(name).join(STAGING)
    }

    /// Makes a finished build, which may be anywhere on the same file system, the current
    /// one. The last step is one rename.
    pub(super) fn activate(&self, name: &RuntimeName, built: &Path) -> Result<(), RuntimeError> {
        const FAILED: &str = "cannot activate the runtime";
        let folder = self.folder_of(name);
        let build = format!("{BUILD_PREFIX}{}", id::random_id()?);
        let place = folder.join(&build);
        fs::rename(built, &place).at_place(FAILED, &place)?;
        let link = folder.join(format!(".{build}"));
        std::os::unix::fs::symlink(&build, &link).at_place(FAILED, &link)?;
        let current = folder.join(CURRENT);
        fs::rename(&link, &current).at_place(FAILED, &current)
    }

    /// Removes builds that are not current and that nobody uses. What cannot be removed now
    /// is tried again at the next installation.
    pub(super) fn remove_earlier_builds(&self, name: &RuntimeName) {
        let current = self.current_build(name);
        for build in self.builds(name) {
            if Some(&build) != current.as_ref() && lock_exclusively(&build).is_some() {
                let _ = remove_folder(&build);
            }
        }
    }

    fn builds(&self, name: &RuntimeName) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder_of(name));
        let entries = entries.into_iter().flatten().flatten();
        let is_build = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(is_build_name)
        };
        entries.map(|entry| entry.path()).filter(is_build).collect()
    }

    fn current_build(&self, name: &RuntimeName) -> Option<PathBuf> {
        let folder = self.folder_of(name);
        let target = fs::read_link(folder.join(CURRENT)).ok()?;
        let build = target.to_str().filter(|build| is_build_name(build))?;
        Some(folder.join(build))
    }

    /// The folder of the current build, locked. It may be replaced by another at any moment,
    /// and then it is looked up again.
    fn lock_current(&self, name: &RuntimeName) -> Option<(PathBuf, RuntimeGuard)> {
        for _ in 0..MAX_READS {
            let build = self.current_build(name)?;
            if let Ok(folder) = open_folder(&build)
                && flock(&folder, FlockOperation::NonBlockingLockShared).is_ok()
            {
                let guard = RuntimeGuard { folder };
                let exists = guard.folder.metadata().is_ok_and(|found| found.nlink() > 0);
                if exists && build.join(ROOT).is_dir() {
                    return Some((build, guard));
                }
            }
        }
        None
    }
}

fn is_build_name(name: &str) -> bool {
    name.strip_prefix(BUILD_PREFIX)
        .is_some_and(id::is_random_id)
}

fn open_folder(place: &Path) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, place, flags, Mode::empty()).map(File::from)
}

/// A lock that nobody else has; `None` while the build is in use.
fn lock_exclusively(build: &Path) -> Option<File> {
    let folder = open_folder(build).ok()?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(folder)
}
