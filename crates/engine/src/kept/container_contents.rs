//! Moves contents of files between a container and the store, in parts: neither a large file
//! nor many small ones are in memory as a whole.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use prowess_sandbox::{ContentReader, FileStream, SharedSandboxes, SnapshotContent, SnapshotEntry};
use prowess_skill::Digest;
use prowess_store::{
    ContentStream, Error as StoreError, StagedContent, StagingPlace, Store, TenantId,
};
use tokio::runtime::Handle;

use crate::error::RunError;

/// Files that are open at once.
const MAX_OPEN_FILES: usize = 64;
/// Contents that are stored at once.
const MAX_CONCURRENT_WRITES: usize = 4;
/// Bytes of small contents that wait for the commit in memory; more are written at once.
const MAX_MEMORY_BYTES: usize = 16 << 20;
/// Bytes of a small file, of which several are read from the store at once.
const MAX_SMALL_BYTES: u64 = 64 << 10;
/// Small contents that are read at once.
const MAX_READ_AHEAD: u32 = 128;

/// Stores the contents of these entries that are not stored yet, each digest once.
pub(super) async fn stage_files(
    store: &Store,
    sandbox: &SharedSandboxes,
    owner: &str,
    container: &str,
    entries: &[SnapshotEntry],
) -> Result<Vec<StagedContent>, RunError> {
    let mut sizes = BTreeMap::new();
    let mut paths = BTreeMap::new();
    for entry in entries {
        if let SnapshotContent::File(digest) = entry.content {
            sizes.insert(digest, entry.size);
            paths.insert(digest, entry.path.clone());
        }
    }
    let mut staged = store.stage_stored_contents(&sizes).await?;
    for content in &staged {
        paths.remove(&content.digest());
    }
    let missing: Vec<(Digest, String)> = paths.into_iter().collect();
    let in_memory = AtomicUsize::new(0);
    for batch in missing.chunks(MAX_OPEN_FILES) {
        let names = batch.iter().map(|(_, path)| path.clone()).collect();
        let files = sandbox.open_files(owner, container, names).await;
        let files = files.map_err(|error| RunError::Toolbox(error.into()))?;
        let digests = batch.iter().map(|(digest, _)| *digest);
        let writes = digests.zip(files).map(|(digest, file)| {
            let size = sizes.get(&digest).copied().unwrap_or_default();
            stage_file(store, digest, size, file, &in_memory)
        });
        let writes: Vec<_> = writes.collect();
        let written = stream::iter(writes).buffer_unordered(MAX_CONCURRENT_WRITES);
        staged.extend(written.try_collect::<Vec<_>>().await?);
    }
    Ok(staged)
}

async fn stage_file(
    store: &Store,
    digest: Digest,
    size: u64,
    file: FileStream,
    in_memory: &AtomicUsize,
) -> Result<StagedContent, StoreError> {
    let place = if in_memory.load(Ordering::Relaxed) < MAX_MEMORY_BYTES {
        StagingPlace::Memory
    } else {
        StagingPlace::Storage
    };
    let staged = store.stage_content(digest, size, file.body, place);
    let staged = staged.await?;
    in_memory.fetch_add(staged.memory_bytes(), Ordering::Relaxed);
    Ok(staged)
}

/// The stored contents of a container's files, for a thread that may block.
#[derive(Clone)]
pub(super) struct StoredContents(Arc<SharedContents>);

struct SharedContents {
    store: Store,
    tenant: TenantId,
    container: String,
    runtime: Handle,
    read_ahead: Mutex<ReadAhead>,
    /// The error of the store that ended the last attempt.
    error: Mutex<Option<StoreError>>,
}

/// Small contents that are likely to be opened next. A query for each would take most of the
/// time of a restore.
struct ReadAhead {
    contents: BTreeMap<Digest, Bytes>,
    /// How many to read next: more each time, so that little is read in vain.
    count: u32,
}

impl StoredContents {
    pub(super) fn new(store: &Store, tenant: &TenantId, container: &str) -> Self {
        Self(Arc::new(SharedContents {
            store: store.clone(),
            tenant: tenant.clone(),
            container: container.to_owned(),
            runtime: Handle::current(),
            read_ahead: Mutex::new(ReadAhead {
                contents: BTreeMap::new(),
                count: 1,
            }),
            error: Mutex::default(),
        }))
    }

    /// Opens the content of a file.
    pub(super) fn open(&self, entry: &SnapshotEntry) -> io::Result<ContentReader> {
        let SnapshotContent::File(digest) = entry.content else {
            return Err(io::Error::other("only a file has content"));
        };
        if entry.size <= MAX_SMALL_BYTES
            && let Some(small) = self.read_small(&entry.path, digest)?
        {
            return Ok(Box::new(io::Cursor::new(small)));
        }
        let inner = &self.0;
        let found = inner
            .store
            .container_content(&inner.tenant, &inner.container, digest);
        let content = inner.runtime.block_on(found);
        Ok(Box::new(StoredContent {
            content: content.map_err(|error| self.record(error))?,
            chunk: Bytes::new(),
            source: self.clone(),
        }))
    }

    /// The content of a small file, read with those of the files after it. `None` if it is
    /// not stored as a small one.
    fn read_small(&self, path: &str, digest: Digest) -> io::Result<Option<Bytes>> {
        let inner = &self.0;
        let mut ahead = inner
            .read_ahead
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !ahead.contents.contains_key(&digest) {
            let read = inner.store.small_container_contents(
                &inner.tenant,
                &inner.container,
                path,
                MAX_SMALL_BYTES,
                ahead.count,
            );
            let read = inner.runtime.block_on(read);
            ahead.contents = read.map_err(|error| self.record(error))?;
            ahead.count = MAX_READ_AHEAD.min(ahead.count * 2);
        }
        Ok(ahead.contents.get(&digest).cloned())
    }

    /// The error of the store that ended the last attempt, if one did.
    pub(super) fn take_error(&self) -> Option<StoreError> {
        let mut error = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.take()
    }

    /// Keeps an error of the store, which the sandbox cannot return.
    fn record(&self, error: StoreError) -> io::Error {
        let mut last = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(error);
        io::Error::other("the stored content cannot be read")
    }
}

/// One stored content.
struct StoredContent {
    content: ContentStream,
    /// What was received and not read yet.
    chunk: Bytes,
    source: StoredContents,
}

impl Read for StoredContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.source.0.runtime.block_on(self.content.next()) {
                None => return Ok(0),
                Some(chunk) => self.chunk = chunk.map_err(|error| self.source.record(error))?,
            }
        }
        let length = self.chunk.len().min(buffer.len());
        let part = self.chunk.split_to(length);
        if let Some(place) = buffer.get_mut(..length) {
            place.copy_from_slice(&part);
        }
        Ok(length)
    }
}
