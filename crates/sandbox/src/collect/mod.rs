//! Taking what a command wrote into its session's folder, once every process is dead.
//!
//! The command wrote to a tmpfs of its own (see `prowess_launcher::spec::Data`), which
//! holds exactly what is new, changed or, as an overlay marks it, deleted. Only what we
//! copy from there reaches the disk: bytes of regular files, folders, and links as text.
//! Nothing is followed, on either side: every name is opened in its folder's descriptor,
//! and the kernel is told to resolve no link.

mod collector;
pub(crate) mod folder;
mod mime;
mod mirror;
mod remove;
mod usage;

pub(crate) use collector::{CollectTarget, collect_outputs};
pub use mime::guess as mime_type;
pub(crate) use mirror::{clear, mirror, remove_missing};
pub(crate) use usage::{DiskUsage, ENTRY_BYTES, counted_bytes, measure};

use folder::FolderHandle;
use rustix::fd::{AsFd, OwnedFd};
use serde::{Deserialize, Serialize};

/// Folders within folders that a session keeps.
pub(crate) const MAX_FOLDER_DEPTH: usize = 32;

/// A file the command made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxOutput {
    /// Path relative to `/mnt/data`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Type by content and name.
    pub mime_type: String,
    /// SHA-256 of the content, in hex.
    pub sha256: String,
}

/// Something that was found and not reported as an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    /// Path relative to `/mnt/data`, with what is not text replaced.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
}

/// Why something is not an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// A symbolic link: kept in the session, never followed.
    Symlink,
    /// A file with more than one name: each name is kept as a file of its own.
    HardLink,
    /// A fifo, socket or device: not kept.
    Special,
    /// A name that is not text, or holds control characters: not kept.
    Name,
    /// Deeper than folders are followed: not kept.
    Depth,
    /// Larger than one output may be: kept in the session.
    TooLarge,
    /// More outputs, or more bytes of them, than are reported: kept in the session.
    TooMany,
    /// More than the session may hold: not kept.
    Quota,
    /// More was skipped than is listed.
    More,
}

impl SkipReason {
    /// Whether it is not in the session either.
    pub(crate) fn is_loss(self) -> bool {
        matches!(self, Self::Special | Self::Name | Self::Depth | Self::Quota)
    }
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct CollectedFiles {
    pub(crate) outputs: Vec<SandboxOutput>,
    pub(crate) skipped: Vec<SkippedFile>,
}

/// Whether a folder is surely empty.
pub(crate) fn is_empty(folder: &OwnedFd) -> bool {
    let names = FolderHandle::reopen(folder.as_fd()).and_then(|folder| folder.names(1));
    names.is_ok_and(|names| names.is_empty())
}
