//! Making the files of a container's copy those that the gateway names.

use super::active_command::ActiveCommand;
use super::failure::CommandFailure;
use super::state::WorkerState;
use crate::protocol::{Ask, ExecRequest, FilesPage, GatewayAnswer, RemoteError};
use prowess_sandbox::{ContentReader, Snapshot, SnapshotContent, SnapshotEntry, check_entries};
use prowess_skill::Digest;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// The files of a copy before a command.
#[derive(Debug, Clone)]
pub(super) struct FilesBefore {
    /// As the gateway names them: changes are those since then.
    pub(super) committed: Arc<Snapshot>,
    /// As they were read here: those that have not changed are not read again.
    pub(super) found: Arc<Snapshot>,
}

impl FilesBefore {
    pub(super) fn same(files: Arc<Snapshot>) -> Self {
        Self {
            committed: Arc::clone(&files),
            found: files,
        }
    }
}

impl WorkerState {
    /// Restores the files of the request's digest. `known` is what the copy contains, if that
    /// is known.
    pub(super) async fn restore(
        &self,
        request: &ExecRequest,
        command: &ActiveCommand,
        known: Option<Arc<Snapshot>>,
    ) -> Result<FilesBefore, CommandFailure> {
        let entries = self.container_entries(request, command).await?;
        let contents = missing_contents(&entries, known.as_deref());
        let pinned = self.provide(command, &contents).await?;
        let committed = Arc::new(Snapshot::from_entries(entries.clone()));
        let open = move |entry: &SnapshotEntry| -> io::Result<ContentReader> {
            match entry.content {
                SnapshotContent::File(digest) => Ok(Box::new(pinned.open(digest)?)),
                _ => Err(io::Error::other("only a file has content")),
            }
        };
        let (owner, id) = (request.owner.as_str(), request.container.as_str());
        let found = self
            .sandbox
            .restore_known(owner, id, known, entries, open)
            .await?;
        Ok(FilesBefore {
            committed,
            found: Arc::new(found),
        })
    }

    /// The entries of the request's digest, from the gateway.
    async fn container_entries(
        &self,
        request: &ExecRequest,
        command: &ActiveCommand,
    ) -> Result<Vec<SnapshotEntry>, CommandFailure> {
        if request.files_digest == Snapshot::default().digest() {
            return Ok(Vec::new());
        }
        let limit = request.policy.limits.container_entries;
        let mut entries: Vec<SnapshotEntry> = Vec::new();
        loop {
            let after = entries.last().map(|entry| entry.path.clone());
            let answer = self
                .ask(
                    command,
                    Ask::Files {
                        after: after.clone(),
                    },
                )
                .await?;
            let GatewayAnswer::Files(FilesPage {
                entries: page,
                more,
            }) = answer
            else {
                return Err(unavailable("the gateway answered something else").into());
            };
            let mut last = after;
            for entry in page.iter().map(|entry| &entry.path) {
                if last.as_ref().is_some_and(|last| last >= entry) {
                    return Err(unavailable("the files are not in order").into());
                }
                last = Some(entry.clone());
            }
            let is_empty = page.is_empty();
            entries.extend(page);
            if entries.len() as u64 > limit {
                return Err(unavailable("there are more files than the container may have").into());
            }
            if !more || is_empty {
                break;
            }
        }
        check_entries(&entries, &request.policy.limits)?;
        if Snapshot::from_entries(entries.clone()).digest() != request.files_digest {
            return Err(unavailable("the files are not those of the digest").into());
        }
        Ok(entries)
    }
}

/// The contents that a copy may lack: those of files that it does not have at their paths.
fn missing_contents(entries: &[SnapshotEntry], known: Option<&Snapshot>) -> BTreeMap<Digest, u64> {
    let known = known.into_iter().flat_map(Snapshot::entries);
    let known: HashMap<&str, &SnapshotContent> = known
        .map(|entry| (entry.path.as_str(), &entry.content))
        .collect();
    let mut missing = BTreeMap::new();
    for entry in entries {
        if let SnapshotContent::File(digest) = entry.content
            && known.get(entry.path.as_str()) != Some(&&entry.content)
        {
            missing.insert(digest, entry.size);
        }
    }
    missing
}

fn unavailable(why: &str) -> RemoteError {
    tracing::warn!(why, "the files of a container are not available");
    let message = format!("the files of the container are not available: {why}");
    RemoteError::new(RemoteError::FILES_UNAVAILABLE, message)
}
