//! Copies the files a command wrote into its container's folder, once every process is
//! dead.
//!
//! The command wrote to its own tmpfs (see `prowess_launcher::spec::DataSpec`), which
//! contains exactly the new and changed files, and whiteouts for deleted ones. Only copies
//! reach the disk: bytes of regular files, folders, and links as text. No link is followed
//! on either side: every name is opened relative to its folder's descriptor, without
//! resolving links.

mod collector;
pub(crate) mod folder;
mod mime;
mod mirror;
mod remove;
mod usage;
mod write;

pub(crate) use collector::{CollectTarget, collect_outputs};
pub use mime::guess as mime_type;
#[cfg(feature = "docker")]
pub(crate) use mirror::mirror;
pub(crate) use mirror::{clear, remove_missing};
#[cfg(feature = "docker")]
pub(crate) use usage::measure_written;
pub(crate) use usage::{DiskUsage, ENTRY_BYTES, counted_bytes, measure};

use std::fmt;

use folder::FolderHandle;
use rustix::fd::{AsFd, OwnedFd};
use serde::{Deserialize, Serialize};

/// Maximum nesting of folders in a container.
pub(crate) const MAX_FOLDER_DEPTH: usize = 32;

/// A file the command created or changed.
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

/// An entry that is not reported as an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    /// Path relative to `/mnt/data`; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
}

/// Why an entry is not an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// A symbolic link: stored in the container, never followed.
    Symlink,
    /// A file with more than one name: each name is stored as a separate file.
    HardLink,
    /// A fifo, socket or device: not stored.
    Special,
    /// A name that is not UTF-8, has control characters, or turns the direction of text: not
    /// stored.
    Name,
    /// Nested too deep, or a path of more than 1024 bytes: not stored.
    Depth,
    /// Larger than the limit of one output: stored in the container.
    TooLarge,
    /// Beyond the limit on outputs or their bytes: stored in the container.
    TooMany,
    /// Beyond the container's limits: not stored.
    Quota,
    /// More entries were skipped than are listed.
    More,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Symlink => "symbolic link",
            Self::HardLink => "hard link",
            Self::Special => "not a regular file",
            Self::Name => "invalid name",
            Self::Depth => "nested too deeply",
            Self::TooLarge => "too large",
            Self::TooMany => "too many files",
            Self::Quota => "container limit reached",
            Self::More => "more entries were skipped than are listed",
        })
    }
}

impl SkipReason {
    /// Whether it is not stored in the container either.
    pub(crate) fn is_loss(self) -> bool {
        matches!(self, Self::Special | Self::Name | Self::Depth | Self::Quota)
    }
}

/// The collected outputs and skipped entries.
#[derive(Debug, Default)]
pub(crate) struct CollectedFiles {
    pub(crate) outputs: Vec<SandboxOutput>,
    pub(crate) skipped: Vec<SkippedFile>,
}

/// Whether a folder is empty; false if unknown.
pub(crate) fn is_empty(folder: &OwnedFd) -> bool {
    let names = FolderHandle::reopen(folder.as_fd()).and_then(|folder| folder.names(1));
    names.is_ok_and(|names| names.is_empty())
}
