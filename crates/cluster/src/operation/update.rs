//! Changes files of a container without a command.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prowess_sandbox::{ContainerSetup, Error, SnapshotChanges};
use prowess_skill::Digest;
use prowess_store::{
    ContainerUpdate, ContainerUser, Error as StoreError, StagingPlace, UpdateContainerOutcome,
};
use tokio::time::Instant;

use crate::cluster::ClusterSandboxes;
use crate::containers::{CurrentContainer, write_setup};
use crate::deferred::PendingContent;
use crate::entries;
use crate::file_set::FileSet;
use crate::file_stream::stream_bytes;
use crate::store_error::{not_found, store_error};

/// Bytes of contents of one container that are deferred in memory; others are written.
pub(crate) const MAX_PENDING_BYTES: usize = 16 << 20;
/// Bytes of a content that may be deferred in memory.
const MAX_PENDING_CONTENT: usize = 256 << 10;
/// The first and the longest time between two attempts to change a container that is in use.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// A change of some files.
#[derive(Debug)]
pub(crate) struct FileUpdate {
    pub(crate) changes: SnapshotChanges,
    /// All files afterwards.
    pub(crate) files: Arc<FileSet>,
    /// Contents that the container may not have, with their digests.
    pub(crate) contents: Vec<(Digest, Bytes)>,
    /// A new setup.
    pub(crate) setup: Option<ContainerSetup>,
}

/// Tries again and again, with growing pauses.
#[derive(Debug)]
pub(crate) struct Retry {
    deadline: Instant,
    delay: Duration,
}

impl Retry {
    pub(crate) fn new(wait: Duration) -> Self {
        Self {
            deadline: Instant::now() + wait,
            delay: RETRY_DELAYS.0,
        }
    }

    /// Waits before the next attempt. Returns false if there is no time for one.
    pub(crate) async fn pause(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.deadline {
            return false;
        }
        let pause = self.delay.mul_f64(0.5 + fastrand::f64());
        tokio::time::sleep_until(self.deadline.min(now + pause)).await;
        self.delay = RETRY_DELAYS.1.min(self.delay * 2);
        true
    }
}

impl ClusterSandboxes {
    /// Applies a change that is made from a container's current files, again if the container
    /// has changed meanwhile. The caller has the container's turn in this process.
    pub(crate) async fn update(
        &self,
        owner: &str,
        id: &str,
        change: impl Fn(&CurrentContainer) -> Result<FileUpdate, Error>,
    ) -> Result<(), Error> {
        let mut retry = Retry::new(self.container_wait());
        loop {
            let current = self.containers.current(owner, id).await?;
            let update = change(&current)?;
            let is_done = match current.deferred.is_some() {
                true => self.defer_update(owner, &current, update).await?,
                false => self.store_update(&current, update).await?,
            };
            if is_done {
                return Ok(());
            }
            if !retry.pause().await {
                return Err(Error::ContainerBusy { id: id.to_owned() });
            }
        }
    }

    /// Stores a change. Returns false if it has to be made again.
    async fn store_update(
        &self,
        current: &CurrentContainer,
        update: FileUpdate,
    ) -> Result<bool, Error> {
        let FileUpdate {
            changes,
            files,
            contents,
            setup,
        } = update;
        let setup = setup.as_ref().map(write_setup).transpose()?;
        let staged = match contents.is_empty() {
            true => Ok(Vec::new()),
            false => {
                let contents = contents.into_iter().collect();
                self.store.stage_contents(contents).await
            }
        };
        let update = ContainerUpdate {
            // Callers do not change a container that a run holds unless they are part of it.
            user: ContainerUser::HoldingRun,
            generation: Some(current.container.generation),
            changed: changes
                .changed
                .into_iter()
                .map(entries::to_stored)
                .collect(),
            removed: changes.removed,
            files_digest: Some(files.digest()),
            contents: staged.map_err(store_error)?,
            setup: setup.as_ref(),
        };
        let (tenant, id) = (&current.tenant, &current.container.id);
        match self.store.change_container_files(tenant, id, update).await {
            Ok(UpdateContainerOutcome::Changed { .. }) => {
                self.containers.keep(&files);
                Ok(true)
            }
            Ok(UpdateContainerOutcome::Stale { .. } | UpdateContainerOutcome::Busy { .. })
            | Err(StoreError::Busy) => Ok(false),
            Ok(UpdateContainerOutcome::NotFound) => Err(not_found(id)),
            Err(error) => Err(store_error(error)),
        }
    }

    /// Keeps a change until its run commits it. The setup is no part of that: it is stored.
    async fn defer_update(
        &self,
        owner: &str,
        current: &CurrentContainer,
        update: FileUpdate,
    ) -> Result<bool, Error> {
        let id = &current.container.id;
        let state = current.deferred.as_ref();
        let mut in_memory = state.map_or(0, |state| state.memory_bytes());
        let mut new = HashMap::new();
        if self.containers.temporary.contains(owner, id) {
            new = self.temporary_contents(update.contents).await?;
        } else {
            for (digest, bytes) in update.contents {
                let content = self.pending_content(digest, bytes, &mut in_memory).await?;
                new.insert(digest, content);
            }
        }
        if let Some(setup) = &update.setup {
            let setup = write_setup(setup)?;
            let set = self.store.set_cluster_setup(&current.tenant, id, &setup);
            if !set.await.map_err(store_error)? {
                return Err(not_found(id));
            }
        }
        let deferred = &self.containers.deferred;
        Ok(deferred.set_files(owner, id, update.files, new))
    }

    /// A content that waits for its commit: in memory if it is small.
    pub(crate) async fn pending_content(
        &self,
        digest: Digest,
        bytes: Bytes,
        in_memory: &mut usize,
    ) -> Result<PendingContent, Error> {
        let length = bytes.len();
        if length <= MAX_PENDING_CONTENT && in_memory.saturating_add(length) <= MAX_PENDING_BYTES {
            *in_memory += length;
            return Ok(PendingContent::Bytes(bytes));
        }
        let (size, content) = (length as u64, stream_bytes(bytes));
        let staged = self
            .store
            .stage_content(digest, size, content, StagingPlace::Storage);
        let staged = staged.await.map_err(store_error)?;
        Ok(PendingContent::Staged(Arc::new(staged)))
    }
}
