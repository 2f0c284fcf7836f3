//! The metadata of a container, in one small file beside its data.

use crate::collect::DiskUsage;
use crate::collect::folder::FolderHandle;
use crate::error::{Error, ErrorContext};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The file's name.
const FILE_NAME: &CStr = c"meta.json";

/// Maximum size that is read.
const MAX_META_BYTES: u64 = 8 << 20;

/// Maximum number of client files that are recorded.
const MAX_UPLOADS: usize = 1_000;

const SAVE_FAILED: &str = "cannot save the container";

/// Metadata that survives a restart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ContainerMeta {
    /// Its owner.
    pub(crate) owner: String,
    /// Limits and network access of its commands.
    pub(crate) policy: Policy,
    /// The host id that its user maps to, if the server is root.
    pub(crate) host_id: u32,
    /// Read-only mounts, as (path relative to the state folder, path inside).
    pub(crate) mounts: Vec<(String, String)>,
    /// Seconds since the epoch.
    pub(crate) created: u64,
    /// Seconds since the epoch.
    pub(crate) used: u64,
    /// Disk usage of its folder.
    pub(crate) usage: DiskUsage,
    /// Client files that were copied into it, as (id, path).
    #[serde(default)]
    pub(crate) uploads: Vec<(String, String)>,
    /// Whether it is a temporary container: those count for no tenant.
    #[serde(default)]
    pub(crate) is_temporary: bool,
}

impl ContainerMeta {
    /// Of a container that is created now.
    pub(crate) fn new(
        owner: &str,
        policy: Policy,
        host_id: u32,
        mounts: Vec<(String, String)>,
    ) -> Self {
        let now = epoch_seconds();
        Self {
            owner: owner.to_owned(),
            policy,
            host_id,
            mounts,
            created: now,
            used: now,
            usage: DiskUsage::default(),
            uploads: Vec::new(),
            is_temporary: false,
        }
    }

    /// Reads it. A link in its place is not followed.
    pub(crate) fn load(folder: &Path) -> Option<Self> {
        let file = FolderHandle::open_path(folder)
            .ok()?
            .open_file(FILE_NAME)
            .ok()?;
        let mut text = Vec::new();
        file.take(MAX_META_BYTES).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Replaces the file in one step, so that a crash leaves the old or the new.
    pub(crate) fn save(&self, folder: &Path) -> Result<(), Error> {
        let text = serde_json::to_vec(self)
            .map_err(io::Error::other)
            .context(SAVE_FAILED)?;
        let place = FolderHandle::open_path(folder).at(SAVE_FAILED, folder)?;
        place
            .write(FILE_NAME, 0o600, None, |file| file.write_all(&text))
            .at(SAVE_FAILED, folder)
    }

    /// Whether this client file was copied to this path before.
    pub(crate) fn has_upload(&self, source: &str, path: &str) -> bool {
        let known = |one: &(String, String)| one.0 == source && one.1 == path;
        self.uploads.iter().any(known)
    }

    /// Records that a client file was copied to a path. The oldest records are dropped.
    pub(crate) fn add_upload(&mut self, source: &str, path: &str) {
        self.uploads
            .retain(|one| !(one.0 == source && one.1 == path));
        self.uploads.push((source.to_owned(), path.to_owned()));
        let above = self.uploads.len().saturating_sub(MAX_UPLOADS);
        self.uploads.drain(..above);
    }

    /// Whether it has been idle for too long, or is too old.
    pub(crate) fn is_expired(&self, now: u64, idle: Duration, life: Duration) -> bool {
        now.saturating_sub(self.used) >= idle.as_secs()
            || now.saturating_sub(self.created) >= life.as_secs()
    }
}

/// Seconds since the epoch.
pub(crate) fn epoch_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
