//! What a worker announces each second.

use serde::{Deserialize, Serialize};

/// A worker's announcement of itself, from which gateways choose where commands run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerBeat {
    /// Its id: the token in its subjects.
    pub id: String,
    /// A random text of this start of the process: another one means that all copies of
    /// containers and all results are gone.
    pub boot: String,
    /// The version of its program.
    #[serde(default)]
    pub version: String,
    /// The version of the messages it reads.
    #[serde(default)]
    pub protocol: u8,
    /// Commands that run.
    #[serde(default)]
    pub running: usize,
    /// Commands that were accepted and do not run yet.
    #[serde(default)]
    pub waiting: usize,
    /// Commands that can run at once.
    #[serde(default)]
    pub slots: usize,
    /// Free bytes on the disk of its state folder.
    #[serde(default)]
    pub free_disk_bytes: u64,
    /// The isolation of its sandbox: `strict` or `reduced`.
    #[serde(default)]
    pub grade: String,
    /// Whether it accepts no further commands.
    #[serde(default)]
    pub draining: bool,
    /// Keys ([`MountedSkill::key`](super::MountedSkill::key)) of skills it has, the most
    /// recently used first, 200 at most.
    #[serde(default)]
    pub skills: Vec<String>,
    /// Keys ([`requirements_key`](super::requirements_key)) of requirements it has installed,
    /// the most recently used first, 200 at most.
    #[serde(default)]
    pub layers: Vec<String>,
}
