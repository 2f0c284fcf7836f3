//! The folders of containers: created in one step, accessible only to the server and the id
//! that the container's commands run as, and removed at any depth.

use super::ContainerStore;
use crate::collect::folder::FolderHandle;
use crate::error::{Error, ErrorContext};
use crate::{collect, id};
use rustix::fs::Mode;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Prefix of a folder that is being created.
const NEW_PREFIX: &str = ".new-";
/// Prefix of a folder that is being removed.
const REMOVED_PREFIX: &str = ".gone-";
/// Prefix of a folder for probing.
const TRIAL_PREFIX: &str = ".trial-";

/// Older folders with these prefixes were left behind by a crash.
const STALE_AFTER: Duration = Duration::from_secs(60 * 60);

const CREATE_FAILED: &str = "cannot create the container";
const REMOVE_FAILED: &str = "cannot remove the container";

impl ContainerStore {
    /// Creates the folder of a container under a temporary name.
    pub(super) fn stage(&self, host_id: u32) -> Result<CString, Error> {
        self.build(NEW_PREFIX, host_id)
    }

    /// Renames a staged folder to its final name.
    pub(super) fn publish(&self, staged: &CStr, id: &str) -> Result<(), Error> {
        let finish = || {
            let all = FolderHandle::open_path(&self.folder)?;
            all.rename_to(staged, &all, &to_cstring(id)?)
        };
        finish().at(CREATE_FAILED, &self.folder)
    }

    /// Creates a folder like a container's for probing, which is never listed. Returns its
    /// path relative to the state folder, and its host id.
    pub(crate) fn make_trial(&self) -> Result<(String, u32), Error> {
        let host_id = self.free_host_id()?;
        let name = self.build(TRIAL_PREFIX, host_id)?;
        let path = format!("sessions/{}", name.to_string_lossy());
        Ok((path, host_id))
    }

    fn build(&self, kind: &str, host_id: u32) -> Result<CString, Error> {
        let name = format!("{kind}{}", id::random_id()?);
        let build = || {
            let name = to_cstring(&name)?;
            let all = FolderHandle::open_path(&self.folder)?;
            let container = all.make_new(&name)?;
            container.make_new(c"data")?;
            container.write(c"lock", 0o600, None, |_| Ok(()))?;
            self.restrict_access(&container, host_id)?;
            Ok::<_, io::Error>(name)
        };
        build().at(CREATE_FAILED, &self.folder)
    }

    /// Restricts a container to the server and its own commands: these pass through its
    /// folder by their group, and own the files in it.
    pub(super) fn restrict_access(&self, container: &FolderHandle, host_id: u32) -> io::Result<()> {
        let data = container.enter(c"data")?;
        match self.owner_id(host_id) {
            Some(id) => {
                container.set_access(Some((0, id)), 0o710)?;
                data.set_access(Some((id, id)), 0o700)
            }
            None => {
                container.set_access(None, 0o700)?;
                data.set_access(None, 0o700)
            }
        }
    }

    /// Unlinks a container in one step. The caller must [clear](Self::clear) what is
    /// returned.
    pub(super) fn unlink(&self, id: &str) -> Result<CString, Error> {
        let gone = format!("{REMOVED_PREFIX}{}", id::random_id()?);
        let unlink = || {
            let (all, gone) = (FolderHandle::open_path(&self.folder)?, to_cstring(&gone)?);
            all.rename_to(&to_cstring(id)?, &all, &gone)?;
            Ok::<_, io::Error>(gone)
        };
        let gone = unlink().at(REMOVE_FAILED, &self.folder)?;
        self.index.remove(id);
        Ok(gone)
    }

    /// Deletes an unlinked folder.
    pub(super) fn clear(&self, gone: &CStr) -> Result<(), Error> {
        let remove = || FolderHandle::open_path(&self.folder)?.remove(gone);
        remove().at(REMOVE_FAILED, &self.folder)
    }

    /// Removes what a crash left behind.
    pub(crate) fn clean_up(&self) {
        let is_old = |entry: &fs::DirEntry| {
            let changed = entry.metadata().and_then(|found| found.modified());
            let age = changed.ok().and_then(|changed| changed.elapsed().ok());
            age.is_some_and(|age| age >= STALE_AFTER)
        };
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_ours = [NEW_PREFIX, REMOVED_PREFIX, TRIAL_PREFIX]
                .iter()
                .any(|kind| name.starts_with(kind));
            if is_ours
                && is_old(&entry)
                && let Ok(name) = to_cstring(&name)
            {
                // What cannot be removed is tried again at the next start.
                let _ = self.clear(&name);
            }
        }
    }
}

/// Removes a folder that no longer belongs to a container, with its content.
pub(crate) fn remove_folder(folder: &Path) -> Result<(), Error> {
    collect::clear(folder)?;
    fs::remove_dir(folder).at(REMOVE_FAILED, folder)
}

fn to_cstring(name: &str) -> io::Result<CString> {
    CString::new(name).map_err(io::Error::other)
}

impl FolderHandle {
    /// Creates a folder that must not exist yet, accessible only to the server.
    fn make_new(&self, name: &CStr) -> io::Result<Self> {
        self.mkdir(name, Mode::RWXU)?;
        self.enter(name)
    }
}
