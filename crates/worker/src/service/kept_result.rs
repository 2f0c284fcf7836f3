//! The result of a command as it is kept, in memory.

use crate::protocol::CommandTimings;
use bytes::Bytes;
use prowess_sandbox::{ExecutionReport, SnapshotEntry};
use prowess_skill::Digest;

/// Bytes that an entry takes besides its texts.
const ENTRY_BYTES: usize = 128;

/// The result of a command, as it is kept.
#[derive(Debug)]
pub(super) struct KeptResult {
    pub(super) owner: String,
    pub(super) container: String,
    pub(super) report: ExecutionReport,
    pub(super) changes: Option<ResultChanges>,
    pub(super) timings: CommandTimings,
}

/// What a command changed.
#[derive(Debug)]
pub(super) struct ResultChanges {
    pub(super) changed: Vec<SnapshotEntry>,
    pub(super) removed: Vec<String>,
    pub(super) files_digest: Digest,
    pub(super) omitted: usize,
    /// Contents that are part of the message.
    pub(super) inline: Vec<(Digest, Bytes)>,
    /// Contents that are uploaded when the result is delivered. They are in the copy of the
    /// container as long as that has the label `files_digest`.
    pub(super) large: Vec<LargeContent>,
}

/// A content of a file in the container.
#[derive(Debug, Clone)]
pub(super) struct LargeContent {
    pub(super) digest: Digest,
    pub(super) size: u64,
    pub(super) path: String,
}

impl KeptResult {
    /// What it takes in memory, roughly.
    pub(super) fn memory_bytes(&self) -> usize {
        let report = &self.report;
        let outputs = report.outputs.len() + report.skipped.len() + report.connections.len();
        let own = report.stdout.text.len() + report.stderr.text.len() + outputs * 2 * ENTRY_BYTES;
        let changes = self.changes.as_ref().map_or(0, |changes| {
            let changed = changes.changed.iter().map(|entry| entry.path.len());
            let removed = changes.removed.iter().map(String::len);
            let inline = changes.inline.iter().map(|(_, bytes)| bytes.len());
            let large = changes.large.iter().map(|content| content.path.len());
            let parts = changed.chain(removed).chain(inline).chain(large);
            parts.map(|bytes| bytes + ENTRY_BYTES).sum()
        });
        own + changes + ENTRY_BYTES
    }
}
