//! What is remembered of a session, in one small file beside its data.

use crate::collect::Usage;
use crate::error::{During, Error};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Facts that survive a restart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Meta {
    /// Who it belongs to.
    pub(crate) owner: String,
    /// What its commands may have.
    pub(crate) policy: Policy,
    /// The host id behind its user, where we are root.
    pub(crate) host_id: u32,
    /// Read-only mounts, as (path relative to the state folder, path inside).
    pub(crate) mounts: Vec<(String, String)>,
    /// Seconds since the epoch.
    pub(crate) created: u64,
    /// Seconds since the epoch.
    pub(crate) used: u64,
    /// What its folder holds.
    pub(crate) usage: Usage,
}

impl Meta {
    pub(crate) fn load(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join("meta.json")).ok()?).ok()
    }

    /// Replaces the file in one step, so that a crash leaves the old or the new.
    pub(crate) fn save(&self, folder: &Path) -> Result<(), Error> {
        let (part, place) = (folder.join("meta.part"), folder.join("meta.json"));
        let text = serde_json::to_vec(self)
            .map_err(std::io::Error::other)
            .during("session")?;
        fs::write(&part, text).during(part.display())?;
        fs::rename(&part, &place).during(place.display())
    }

    /// Whether it has been idle for too long, or lived for too long.
    pub(crate) fn expired(&self, now: u64, idle: Duration, life: Duration) -> bool {
        now.saturating_sub(self.used) >= idle.as_secs()
            || now.saturating_sub(self.created) >= life.as_secs()
    }
}

/// Seconds since the epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
