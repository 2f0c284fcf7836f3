//! Makes the files of a container those that a resumed run has committed. The store has them
//! already; what a gateway had not committed is gone with it.

use std::io;
use std::sync::Arc;

use prowess_sandbox::{
    Error, RestoreContents, Snapshot, SnapshotContent, SnapshotEntry, check_entries,
};
use prowess_store::{
    ContainerUpdate, ContainerUser, StagedContent, StagingPlace, UpdateContainerOutcome,
};

use crate::cluster::ClusterSandboxes;
use crate::containers::CurrentContainer;
use crate::entries;
use crate::file_set::FileSet;
use crate::file_stream::stream_reader;
use crate::store_error::{not_found, store_error};

impl ClusterSandboxes {
    /// Makes a container's files exactly these.
    pub(crate) async fn restore_files(
        &self,
        owner: &str,
        id: &str,
        entries: Vec<SnapshotEntry>,
        contents: RestoreContents,
    ) -> Result<Snapshot, Error> {
        let _turn = self.locks.acquire(id).await?;
        self.containers.deferred.resume(owner, id);
        let current = self.containers.current(owner, id).await?;
        let target = Arc::new(FileSet::new(entries));
        if current.files.digest() != target.digest() {
            check_entries(target.entries(), &current.setup.policy.limits)?;
            self.replace_files(&current, &target, contents).await?;
        }
        Ok(target.snapshot())
    }

    /// Stores other files.
    async fn replace_files(
        &self,
        current: &CurrentContainer,
        target: &Arc<FileSet>,
        contents: RestoreContents,
    ) -> Result<(), Error> {
        let before = current.files.snapshot();
        let changes = target.snapshot().changes_since(Some(&before));
        let new = changes.changed.iter().filter(|entry| match &entry.content {
            SnapshotContent::File(digest) => current.files.content_size(digest).is_none(),
            _ => false,
        });
        let new: Vec<SnapshotEntry> = new.cloned().collect();
        let staged = self.stage_restored(new, contents).await?;
        let changed = changes.changed.into_iter().map(entries::to_stored);
        let update = ContainerUpdate {
            user: ContainerUser::HoldingRun,
            generation: Some(current.container.generation),
            changed: changed.collect(),
            removed: changes.removed,
            files_digest: Some(target.digest()),
            contents: staged,
            setup: None,
        };
        let (tenant, id) = (&current.tenant, &current.container.id);
        let changed = self.store.change_container_files(tenant, id, update).await;
        match changed.map_err(store_error)? {
            UpdateContainerOutcome::Changed { .. } => {
                self.containers.keep(target);
                Ok(())
            }
            UpdateContainerOutcome::NotFound => Err(not_found(id)),
            UpdateContainerOutcome::Stale { .. } | UpdateContainerOutcome::Busy { .. } => {
                Err(Error::ContainerBusy { id: id.clone() })
            }
        }
    }

    /// Stores contents that the caller provides, one after the other.
    async fn stage_restored(
        &self,
        entries: Vec<SnapshotEntry>,
        mut contents: RestoreContents,
    ) -> Result<Vec<StagedContent>, Error> {
        let mut staged = Vec::new();
        for entry in entries {
            let SnapshotContent::File(digest) = entry.content else {
                continue;
            };
            let size = entry.size;
            let opened = tokio::task::spawn_blocking(move || {
                let opened = contents(&entry);
                (contents, opened)
            });
            let (back, reader) = opened.await.map_err(|error| unreadable(&error.into()))?;
            contents = back;
            let content = stream_reader(reader.map_err(|error| unreadable(&error))?);
            let stored = self
                .store
                .stage_content(digest, size, content, StagingPlace::Storage);
            staged.push(stored.await.map_err(store_error)?);
        }
        Ok(staged)
    }
}

fn unreadable(error: &io::Error) -> Error {
    Error::Remote {
        code: "io".to_owned(),
        message: format!("cannot read the content of a file that is restored: {error}"),
    }
}
