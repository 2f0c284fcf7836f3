//! The files of a kept run's container: they are committed with the run's steps, and put back
//! to the last committed generation when the run is resumed.
//!
//! A run that has not committed anything of a container begins with [`ContainerState::open`],
//! or with [`ContainerState::create`] if the container is new, and commits what it finds there,
//! such as a client's uploads, before its first command: from then on a lost command leaves no
//! trace. A run that has done so is resumed with [`ContainerState::restore`].
//!
//! Where containers are on other hosts, their files are in the store, and a command's changes
//! are committed when it ends. As long as a [`ContainerState`] lives they are not: its changes
//! are committed with the steps of the run.
//!
//! This module does not know what a step contains, and appends none.

use std::sync::Arc;

use prowess_sandbox::{
    ChangesGuard, ContainerSetup, ContainerSpec, Error as SandboxError, SharedSandboxes, Snapshot,
    SnapshotContent, SnapshotEntry,
};
use prowess_skill::Digest;
use prowess_store::{
    ContainerChange, ContainerEntry, ContainerFiles, EntryContent, HoldOutcome, RunLease,
    StagedContent, Store, TenantId,
};

use super::container_contents::{StoredContents, stage_files};
use super::container_retry::ContainerRetry;
use crate::containers::foreground_containers::ForegroundContainers;
use crate::error::RunError;

#[cfg(test)]
mod tests;

/// The files of a container that a run holds.
#[derive(Debug)]
pub(crate) struct ContainerState {
    tenant: TenantId,
    container: String,
    generation: i64,
    /// The files of that generation.
    committed: Arc<Snapshot>,
    /// The files when they were last read: those that have not changed are not read again.
    seen: Arc<Snapshot>,
    /// The files of the next generation, once the step that changes them is committed.
    staged: Option<Arc<Snapshot>>,
    /// Where the container is.
    sandbox: SharedSandboxes,
    /// Commands leave it to this run to commit their changes.
    _deferred: ChangesGuard,
}

impl ContainerState {
    /// Holds a container for a run that has not begun to use it, once no other run does.
    ///
    /// # Errors
    /// The sandbox's `container-busy` when another run has it for too long.
    pub(crate) async fn wait_until_free(
        store: &Store,
        foreground: &ForegroundContainers,
        lease: &RunLease,
        container: &str,
    ) -> Result<(), RunError> {
        let mut retry = ContainerRetry::default();
        wait_for_hold(store, lease, container, &mut retry).await?;
        // Runs that are not kept use none that is held, but may have begun to before.
        while foreground.is_used(&lease.tenant, container) {
            retry.wait(container).await?;
        }
        Ok(())
    }

    /// Holds a container for a run that has not committed anything of it yet. Files that are
    /// not part of the container's last generation, because others have changed them, are
    /// part of the next change.
    ///
    /// # Errors
    /// The sandbox's `container-busy` when another run has it for too long.
    pub(crate) async fn open(
        store: &Store,
        sandbox: &SharedSandboxes,
        lease: &RunLease,
        container: &str,
    ) -> Result<Self, RunError> {
        let retry = ContainerRetry::default();
        Self::open_with(store, sandbox, lease, container, retry).await
    }

    async fn open_with(
        store: &Store,
        sandbox: &SharedSandboxes,
        lease: &RunLease,
        container: &str,
        mut retry: ContainerRetry,
    ) -> Result<Self, RunError> {
        let files = hold(store, lease, container, &mut retry).await?;
        let deferred = sandbox.defer_changes(lease.tenant.as_str(), container);
        let seen = first_snapshot(sandbox, lease, container, &mut retry).await?;
        Ok(Self::new(sandbox, deferred, lease, container, &files, seen))
    }

    /// A container that the run has created, and that no other run knows: it is recorded and
    /// held with the step that commits its first change. If its files are in the store, what
    /// commands have changed until now is committed.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub(crate) async fn create(
        store: &Store,
        sandbox: &SharedSandboxes,
        lease: &RunLease,
        container: &str,
    ) -> Result<Self, RunError> {
        let mut retry = ContainerRetry::default();
        let deferred = sandbox.defer_changes(lease.tenant.as_str(), container);
        let files = store.container_files(&lease.tenant, container).await?;
        let files = files.unwrap_or_else(|| ContainerFiles {
            generation: 0,
            entries: Vec::new(),
        });
        let seen = first_snapshot(sandbox, lease, container, &mut retry).await?;
        Ok(Self::new(sandbox, deferred, lease, container, &files, seen))
    }

    /// Holds the container of a resumed run and makes its files those of the last committed
    /// generation. A container that has expired is created again, as `spec` describes it.
    ///
    /// # Errors
    /// The sandbox's `container-busy` when another run, or a server that lost this run and
    /// still runs a command, has it for too long.
    pub(crate) async fn restore(
        store: &Store,
        sandbox: &SharedSandboxes,
        lease: &RunLease,
        container: &str,
        spec: impl Into<ContainerSpec>,
    ) -> Result<Self, RunError> {
        let mut retry = ContainerRetry::default();
        let files = hold(store, lease, container, &mut retry).await?;
        let owner = lease.tenant.as_str();
        let deferred = sandbox.defer_changes(owner, container);
        let entries: Vec<_> = files.entries.iter().map(to_snapshot_entry).collect();
        let contents = StoredContents::new(store, &lease.tenant, container);
        let mut spec = Some(spec.into());
        let seen = loop {
            let (entries, source) = (entries.clone(), contents.clone());
            let open = Box::new(move |entry: &SnapshotEntry| source.open(entry));
            match sandbox.restore(owner, container, entries, open).await {
                Ok(seen) => break seen,
                Err(SandboxError::ContainerBusy { .. }) => retry.wait(container).await?,
                Err(error @ SandboxError::ContainerNotFound { .. }) => {
                    let spec = spec.take().ok_or(sandbox_error(error))?;
                    let created = sandbox.recreate(owner, container, spec).await;
                    created.map_err(sandbox_error)?;
                }
                Err(error) => {
                    let cause = contents.take_error().map(RunError::from);
                    return Err(cause.unwrap_or_else(|| sandbox_error(error)));
                }
            }
        };
        Ok(Self::new(sandbox, deferred, lease, container, &files, seen))
    }

    fn new(
        sandbox: &SharedSandboxes,
        deferred: ChangesGuard,
        lease: &RunLease,
        container: &str,
        files: &ContainerFiles,
        seen: Snapshot,
    ) -> Self {
        let entries = files.entries.iter().map(to_snapshot_entry).collect();
        Self {
            tenant: lease.tenant.clone(),
            container: container.to_owned(),
            generation: files.generation,
            committed: Arc::new(Snapshot::from_entries(entries)),
            seen: Arc::new(seen),
            staged: None,
            sandbox: Arc::clone(sandbox),
            _deferred: deferred,
        }
    }

    /// The container's id.
    pub(crate) fn id(&self) -> &str {
        &self.container
    }

    /// The digest of the files of the last committed generation.
    pub(super) fn committed_digest(&self) -> Digest {
        self.committed.digest()
    }

    /// What the container was set up with.
    ///
    /// # Errors
    /// When it does not exist.
    pub(crate) async fn setup(&self) -> Result<ContainerSetup, RunError> {
        let (owner, id) = (self.tenant.as_str(), &self.container);
        let setup = self.sandbox.container_setup(owner, id);
        setup.await.map_err(sandbox_error)
    }

    /// Stores what has changed since the last committed generation, for the step that is
    /// about to be appended. Returns no change if nothing has changed.
    ///
    /// # Errors
    /// When the files cannot be read or stored.
    pub(crate) async fn stage_changes(
        &mut self,
        store: &Store,
    ) -> Result<(Vec<StagedContent>, Option<ContainerChange>), RunError> {
        self.staged = None;
        let sandbox = &self.sandbox;
        let (owner, id) = (self.tenant.as_str(), self.container.as_str());
        let before = Some(Arc::clone(&self.seen));
        let found = sandbox.snapshot(owner, id, before).await;
        let found = Arc::new(found.map_err(sandbox_error)?);
        self.seen = Arc::clone(&found);
        if found.omitted() > 0 {
            let omitted = found.omitted();
            tracing::warn!(container = id, omitted, "paths too long to be stored");
        }
        let changes = found.changes_since(Some(&self.committed));
        if changes.is_empty() {
            return Ok((Vec::new(), None));
        }
        let contents = stage_files(store, sandbox, owner, id, &changes.changed).await?;
        let change = ContainerChange {
            container: id.to_owned(),
            generation: self.generation,
            changed: changes.changed.iter().map(to_container_entry).collect(),
            removed: changes.removed,
            files_digest: Some(found.digest()),
        };
        self.staged = Some(found);
        Ok((contents, Some(change)))
    }

    /// The step with the staged change was committed.
    pub(crate) fn committed(&mut self) {
        let (owner, id) = (self.tenant.as_str(), &self.container);
        self.sandbox.step_stored(owner, id);
        if let Some(staged) = self.staged.take() {
            self.generation += 1;
            self.sandbox
                .changes_committed(owner, id, self.generation, &staged);
            self.committed = staged;
        }
    }
}

/// The files of a container, once no command uses it.
async fn first_snapshot(
    sandbox: &SharedSandboxes,
    lease: &RunLease,
    container: &str,
    retry: &mut ContainerRetry,
) -> Result<Snapshot, RunError> {
    let owner = lease.tenant.as_str();
    loop {
        match sandbox.snapshot(owner, container, None).await {
            Err(SandboxError::ContainerBusy { .. }) => retry.wait(container).await?,
            other => return other.map_err(sandbox_error),
        }
    }
}

/// Holds a container for a run and reads its committed files.
async fn hold(
    store: &Store,
    lease: &RunLease,
    container: &str,
    retry: &mut ContainerRetry,
) -> Result<ContainerFiles, RunError> {
    wait_for_hold(store, lease, container, retry).await?;
    let files = store.container_files(&lease.tenant, container).await?;
    files.ok_or_else(|| not_found(container))
}

async fn wait_for_hold(
    store: &Store,
    lease: &RunLease,
    container: &str,
    retry: &mut ContainerRetry,
) -> Result<(), RunError> {
    loop {
        match store.hold_container(lease, container).await? {
            HoldOutcome::Held { .. } => return Ok(()),
            HoldOutcome::Busy { .. } => retry.wait(container).await?,
            HoldOutcome::NotFound => return Err(not_found(container)),
        }
    }
}

fn not_found(container: &str) -> RunError {
    RunError::ContainerNotFound {
        id: container.to_owned(),
    }
}

fn sandbox_error(error: SandboxError) -> RunError {
    RunError::Toolbox(error.into())
}

pub(super) fn to_snapshot_entry(entry: &ContainerEntry) -> SnapshotEntry {
    SnapshotEntry {
        path: entry.path.clone(),
        content: match &entry.content {
            EntryContent::File(digest) => SnapshotContent::File(*digest),
            EntryContent::Link(target) => SnapshotContent::Link(target.clone()),
            EntryContent::Directory => SnapshotContent::Directory,
        },
        size: u64::try_from(entry.size).unwrap_or_default(),
        mode: entry.mode,
    }
}

fn to_container_entry(entry: &SnapshotEntry) -> ContainerEntry {
    ContainerEntry {
        path: entry.path.clone(),
        content: match &entry.content {
            SnapshotContent::File(digest) => EntryContent::File(*digest),
            SnapshotContent::Link(target) => EntryContent::Link(target.clone()),
            SnapshotContent::Directory => EntryContent::Directory,
        },
        size: i64::try_from(entry.size).unwrap_or(i64::MAX),
        mode: entry.mode,
    }
}
