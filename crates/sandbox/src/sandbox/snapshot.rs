//! Snapshots of a container's files, and putting the files back to one.

use super::{Creation, Sandbox};
use crate::backend::run_blocking;
use crate::collect::{DiskUsage, measure};
use crate::container;
use crate::container_spec::ContainerSpec;
use crate::error::Error;
use crate::snapshot::{self, ContentReader, RestorePlan, RestoreTarget, Snapshot, SnapshotEntry};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Files that [`Sandbox::open_files`] opens at once.
const MAX_OPEN_FILES: usize = 64;

impl Sandbox {
    /// Takes a snapshot of a container's files between two of its commands. Files that have
    /// not changed since `previous` are not read.
    ///
    /// # Errors
    /// When the container does not exist, or has more files than its limits allow.
    pub async fn snapshot(
        &self,
        owner: &str,
        id: &str,
        previous: Option<Arc<Snapshot>>,
    ) -> Result<Snapshot, Error> {
        self.with_container(owner, id, move |held| {
            snapshot::take(&held.data(), &held.meta.policy.limits, previous.as_deref())
        })
        .await
    }

    /// Opens up to 64 files of a container for reading. What is read later is the content
    /// at the time of this call: commands replace files, they do not overwrite them.
    ///
    /// # Errors
    /// [`Error::FileNotFound`] when one does not exist or is not a regular file.
    pub async fn open_files(
        &self,
        owner: &str,
        id: &str,
        paths: Vec<String>,
    ) -> Result<Vec<File>, Error> {
        self.with_container(owner, id, move |held| {
            let paths = paths.iter().take(MAX_OPEN_FILES);
            paths
                .map(|path| container::open(&held.data(), path))
                .collect()
        })
        .await
    }

    /// Makes a container's files exactly these: what differs is replaced, everything else is
    /// removed. `contents` opens the content of a file that is missing or different, and is
    /// called on a thread where it may block, for one file after the other. Restoring again
    /// completes what was interrupted.
    ///
    /// # Errors
    /// When the container does not exist, the entries are not valid, a limit is reached, or
    /// a content cannot be read or is not the one that was stored.
    pub async fn restore(
        &self,
        owner: &str,
        id: &str,
        entries: Vec<SnapshotEntry>,
        contents: impl Fn(&SnapshotEntry) -> io::Result<ContentReader> + Send + 'static,
    ) -> Result<Snapshot, Error> {
        self.restore_known(owner, id, None, entries, contents).await
    }

    /// The same for a container of which an earlier snapshot is known: files that have not
    /// changed since it was taken are not read.
    ///
    /// # Errors
    /// As those of [`restore`](Self::restore).
    pub async fn restore_known(
        &self,
        owner: &str,
        id: &str,
        known: Option<Arc<Snapshot>>,
        entries: Vec<SnapshotEntry>,
        contents: impl Fn(&SnapshotEntry) -> io::Result<ContentReader> + Send + 'static,
    ) -> Result<Snapshot, Error> {
        let mut held = self.inner.containers.acquire(owner, id).await?;
        let inner = Arc::clone(&self.inner);
        run_blocking(move || {
            let (data, limits) = (held.data(), held.meta.policy.limits.clone());
            let plan = RestorePlan::new(entries, &limits)?;
            let used = measure(&data, DiskUsage::MAX, &mut |_, _| {})?.usage;
            let growth = plan.usage.on_disk().saturating_sub(used.on_disk());
            let reserved = inner.containers.reserve_exact(&held, growth);
            inner.forget_removed();
            reserved?;
            // What cannot be read, or exceeds the limits, is replaced.
            let found = snapshot::take(&data, &limits, known.as_deref()).unwrap_or_default();
            let target = RestoreTarget {
                folder: &data,
                owner: inner.containers.owner_id(held.meta.host_id),
                found: &found,
                contents: &contents,
            };
            let restored = snapshot::restore(&plan, &target);
            // Also when not all could be restored: what was written counts. Commands see
            // the files only if their number is known.
            let saved = held.save();
            restored?;
            saved?;
            snapshot::take(&data, &limits, Some(&found))
        })
        .await
    }

    /// Whether commands of a container may reach any domain.
    ///
    /// # Errors
    /// [`Error::ContainerNotFound`] when it does not exist, or is not the owner's.
    pub async fn network_allowed(&self, owner: &str, id: &str) -> Result<bool, Error> {
        Ok(!self.container(owner, id).await?.domains.is_empty())
    }

    /// Creates an empty container with the id of one that existed before and has expired.
    ///
    /// # Errors
    /// [`Error::ContainerExists`] when it still exists, [`Error::BadName`] when the id is not
    /// one that this crate creates, and as [`create`](Self::create).
    pub async fn recreate(&self, owner: &str, id: &str, spec: ContainerSpec) -> Result<(), Error> {
        let id = container::check_container_id(id)?;
        let creation = Creation::Again(id.to_owned());
        self.create_as(owner, creation, spec).await.map(drop)
    }
}
