//! Checks what a worker reports of a command. Workers are not trusted: what passes can be the
//! state of this container, and of no other, within its limits.

mod report;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use prowess_sandbox::{
    ExecutionReport, SandboxLimits, SnapshotChanges, SnapshotContent, check_entries,
};
use prowess_skill::Digest;
use prowess_worker::protocol::{ChangedContent, ExecEnded, FileChanges};

use crate::file_set::FileSet;

/// A result that passed.
#[derive(Debug)]
pub(crate) struct CheckedResult {
    /// How the command ended.
    pub(crate) report: ExecutionReport,
    /// What it changed; none if the files are as before.
    pub(crate) changes: Option<CheckedChanges>,
}

/// Changes that passed.
#[derive(Debug)]
pub(crate) struct CheckedChanges {
    pub(crate) changes: SnapshotChanges,
    /// All files afterwards.
    pub(crate) files: Arc<FileSet>,
    /// New contents that were part of the message, and have these digests.
    pub(crate) inline: BTreeMap<Digest, Bytes>,
    /// New contents that the worker says to have uploaded: their digest, size and slot.
    pub(crate) uploaded: Vec<UploadedContent>,
}

/// A content that still has to be compared with its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UploadedContent {
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    pub(crate) slot: u64,
}

/// Checks a result. An error says what is wrong with it.
pub(crate) fn check(
    before: &Arc<FileSet>,
    ended: ExecEnded,
    limits: &SandboxLimits,
) -> Result<CheckedResult, String> {
    let ExecEnded {
        mut report,
        changes,
        ..
    } = ended;
    report::check(&report, limits)?;
    let changes = changes
        .map(|changes| check_changes(before, changes, limits))
        .transpose()?
        .filter(|changes| !changes.changes.is_empty());
    let files = changes.as_ref().map_or(before, |changes| &changes.files);
    report::bring_within_limits(&mut report, files, limits);
    Ok(CheckedResult { report, changes })
}

fn check_changes(
    before: &FileSet,
    reported: FileChanges,
    limits: &SandboxLimits,
) -> Result<CheckedChanges, String> {
    let FileChanges {
        changed,
        removed,
        files_digest,
        contents,
        omitted,
    } = reported;
    if omitted > 0 {
        tracing::warn!(omitted, "paths too long to be stored");
    }
    if changed.len() as u64 > limits.container_entries {
        return Err(format!("{} entries changed", changed.len()));
    }
    if let Some(path) = removed.iter().find(|path| before.get(path).is_none()) {
        return Err(format!("{:?} was removed and did not exist", shown(path)));
    }
    let changes = SnapshotChanges { changed, removed };
    let files = before.with_changes(&changes);
    check_entries(files.entries(), limits).map_err(|error| error.to_string())?;
    if files.digest() != files_digest {
        return Err("the digest of the files is another one".to_owned());
    }
    let mut given: HashMap<Digest, ChangedContent> = contents.into_iter().collect();
    let mut sizes: HashMap<Digest, u64> = HashMap::new();
    let (mut inline, mut uploaded) = (BTreeMap::new(), Vec::new());
    for entry in &changes.changed {
        let SnapshotContent::File(digest) = entry.content else {
            continue;
        };
        let size = entry.size;
        let known = before.content_size(&digest).or(sizes.get(&digest).copied());
        match known {
            Some(known) if known == size => continue,
            Some(known) => return Err(wrong_size(&entry.path, size, known)),
            None => {}
        }
        match given.remove(&digest) {
            Some(ChangedContent::Inline(bytes)) => {
                let bytes = bytes.0;
                if bytes.len() as u64 != size {
                    return Err(wrong_size(&entry.path, size, bytes.len() as u64));
                }
                if Digest::from_content(&bytes) != digest {
                    return Err(format!("{:?} has another digest", shown(&entry.path)));
                }
                inline.insert(digest, bytes);
            }
            Some(ChangedContent::Uploaded(slot)) => {
                uploaded.push(UploadedContent { digest, size, slot });
            }
            // It could be another tenant's.
            None => {
                return Err(format!(
                    "the content of {:?} is missing",
                    shown(&entry.path)
                ));
            }
        }
        sizes.insert(digest, size);
    }
    Ok(CheckedChanges {
        changes,
        files: Arc::new(files),
        inline,
        uploaded,
    })
}

fn wrong_size(path: &str, stated: u64, real: u64) -> String {
    let path = shown(path);
    format!("{path:?} is reported with {stated} bytes, but its content has {real}")
}

fn shown(path: &str) -> String {
    path.chars().take(100).collect()
}

#[cfg(test)]
mod tests;
