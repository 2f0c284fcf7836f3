//! The result of a command, and the files it changed.

use super::encoded_bytes::EncodedBytes;
use prowess_sandbox::{ExecutionReport, SnapshotEntry};
use prowess_skill::Digest;
use serde::{Deserialize, Serialize};

/// The result of a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExecEnded {
    /// How it ended, and its outputs.
    pub report: ExecutionReport,
    /// What it changed, if anything.
    #[serde(default)]
    pub changes: Option<FileChanges>,
    /// Where its time went.
    #[serde(default)]
    pub timings: CommandTimings,
}

/// The files that a command changed. The gateway checks all of it: a worker is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChanges {
    /// Entries that are new or different, by path.
    pub changed: Vec<SnapshotEntry>,
    /// Paths that are gone.
    pub removed: Vec<String>,
    /// The digest of all files after the command (`Snapshot::digest`).
    pub files_digest: Digest,
    /// Every content that a changed entry has and no file of the container had before, as
    /// (digest, where it is). A digest that is in neither must be refused: it could be
    /// another tenant's.
    pub contents: Vec<(Digest, ChangedContent)>,
    /// Entries that were left out because their paths are too long.
    #[serde(default)]
    pub omitted: usize,
}

/// Where a new content is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangedContent {
    /// In this message.
    Inline(EncodedBytes),
    /// Uploaded to this slot of the same conversation
    /// ([`UploadPlace::slot`](super::UploadPlace::slot)).
    Uploaded(u64),
}

/// Where the time of a command went, in milliseconds, for traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandTimings {
    /// Providing skills, packages and files.
    pub prepare_ms: u64,
    /// Waiting in the worker's queue, and running.
    pub run_ms: u64,
    /// Finding out what changed, and uploading it.
    pub store_ms: u64,
}
