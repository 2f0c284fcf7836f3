//! What a command changed: the entries, small contents, and where the others are.

use super::failure::CommandFailure;
use super::kept_result::{LargeContent, ResultChanges};
use super::restore::FilesBefore;
use super::state::WorkerState;
use crate::protocol::{ExecRequest, MAX_INLINE_CONTENT_BYTES, MAX_INLINE_TOTAL_BYTES, RemoteError};
use bytes::Bytes;
use prowess_sandbox::{Snapshot, SnapshotContent, SnapshotEntry};
use prowess_skill::Digest;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};

/// Files that are opened at once.
const MAX_OPEN_FILES: usize = 64;

/// A content that no file had before.
#[derive(Clone, Copy)]
struct NewContent<'a> {
    digest: Digest,
    size: u64,
    path: &'a str,
}

impl WorkerState {
    /// What has changed since before the command. Files whose contents are among the known ones
    /// are not read.
    pub(super) async fn changes(
        &self,
        request: &ExecRequest,
        before: &FilesBefore,
        after: &Snapshot,
        mut known: HashMap<Digest, Bytes>,
    ) -> Result<Option<ResultChanges>, CommandFailure> {
        let changes = after.changes_since(Some(&before.committed));
        if changes.is_empty() {
            return Ok(None);
        }
        let mut new = new_contents(&changes.changed, &before.committed);
        // The small ones first, so that as many as possible are part of the message.
        new.sort_by(|one, other| (one.size, one.path).cmp(&(other.size, other.path)));
        let mut total = 0;
        let inline = new.iter().take_while(|content| {
            total += content.size;
            content.size <= MAX_INLINE_CONTENT_BYTES && total <= MAX_INLINE_TOTAL_BYTES
        });
        let inline_count = inline.count();
        let (small, large) = new.split_at(inline_count);
        let mut inline = Vec::with_capacity(small.len());
        let mut unread = Vec::new();
        for content in small {
            match known.remove(&content.digest) {
                Some(bytes) => inline.push((content.digest, bytes)),
                None => unread.push(*content),
            }
        }
        inline.extend(self.read_contents(request, &unread).await?);
        let large = large.iter().map(|content| LargeContent {
            digest: content.digest,
            size: content.size,
            path: content.path.to_owned(),
        });
        Ok(Some(ResultChanges {
            large: large.collect(),
            inline,
            files_digest: after.digest(),
            omitted: after.omitted(),
            removed: changes.removed,
            changed: changes.changed,
        }))
    }

    async fn read_contents(
        &self,
        request: &ExecRequest,
        contents: &[NewContent<'_>],
    ) -> Result<Vec<(Digest, Bytes)>, CommandFailure> {
        let mut read = Vec::with_capacity(contents.len());
        for batch in contents.chunks(MAX_OPEN_FILES) {
            let paths = batch.iter().map(|content| content.path.to_owned());
            let (owner, id) = (request.owner.as_str(), request.container.as_str());
            let files = self.sandbox.open_files(owner, id, paths.collect()).await?;
            let expected = batch.iter().map(|content| (content.digest, content.size));
            let expected: Vec<(Digest, u64)> = expected.collect();
            let bytes = tokio::task::spawn_blocking(move || {
                let both = expected.into_iter().zip(files);
                both.map(|((digest, size), file)| read_content(file, digest, size))
                    .collect::<io::Result<Vec<_>>>()
            });
            let bytes = bytes.await.map_err(io::Error::other).and_then(|read| read);
            read.extend(bytes.map_err(|error| {
                tracing::warn!(%error, "a changed file cannot be read");
                let message = "a file that the command changed cannot be read";
                RemoteError::new(RemoteError::UPLOAD_FAILED, message)
            })?);
        }
        Ok(read)
    }
}

/// Contents of changed files that no file had before, each once.
fn new_contents<'a>(changed: &'a [SnapshotEntry], before: &Snapshot) -> Vec<NewContent<'a>> {
    let known = before.entries().filter_map(|entry| match entry.content {
        SnapshotContent::File(digest) => Some(digest),
        _ => None,
    });
    let mut known: HashSet<Digest> = known.collect();
    let new = changed.iter().filter_map(|entry| match entry.content {
        SnapshotContent::File(digest) => known.insert(digest).then_some(NewContent {
            digest,
            size: entry.size,
            path: &entry.path,
        }),
        _ => None,
    });
    new.collect()
}

fn read_content(file: File, digest: Digest, size: u64) -> io::Result<(Digest, Bytes)> {
    let mut bytes = Vec::new();
    file.take(size.saturating_add(1)).read_to_end(&mut bytes)?;
    if Digest::from_content(&bytes) != digest {
        return Err(io::Error::other("the file has changed since it was hashed"));
    }
    Ok((digest, bytes.into()))
}
