//! Entries of a container as the store and as the sandbox write them.

use prowess_sandbox::{SnapshotContent, SnapshotEntry};
use prowess_store::{ContainerEntry, EntryContent};

/// An entry of the store.
pub(crate) fn from_stored(entry: ContainerEntry) -> SnapshotEntry {
    SnapshotEntry {
        path: entry.path,
        content: match entry.content {
            EntryContent::File(digest) => SnapshotContent::File(digest),
            EntryContent::Link(target) => SnapshotContent::Link(target),
            EntryContent::Directory => SnapshotContent::Directory,
        },
        size: u64::try_from(entry.size).unwrap_or_default(),
        mode: entry.mode,
    }
}

/// An entry for the store.
pub(crate) fn to_stored(entry: SnapshotEntry) -> ContainerEntry {
    ContainerEntry {
        path: entry.path,
        content: match entry.content {
            SnapshotContent::File(digest) => EntryContent::File(digest),
            SnapshotContent::Link(target) => EntryContent::Link(target),
            SnapshotContent::Directory => EntryContent::Directory,
        },
        size: i64::try_from(entry.size).unwrap_or(i64::MAX),
        mode: entry.mode,
    }
}
