//! Containers as they are now: what is stored of them, and what a run of this gateway has
//! changed and not committed yet.

use std::sync::Arc;

use prowess_sandbox::{ContainerSetup, Error, FileStream};
use prowess_skill::Digest;
use prowess_store::{ClusterContainer, ClusterContainerSummary, Store, TenantId};
use serde_json::Value;

use crate::deferred::{DeferredContainers, DeferredState, PendingContent};
use crate::entries;
use crate::file_set::FileSet;
use crate::file_stream::stream_of;
use crate::recent::RecentMap;
use crate::store_error::{not_found, store_error, tenant_of};
use crate::temporary::TemporaryContainers;

/// Entries of all containers whose files are kept in memory.
const MAX_CACHED_ENTRIES: usize = 500_000;
/// Attempts to read a container that is changed meanwhile.
const MAX_READS: usize = 5;

/// Reads containers.
#[derive(Debug)]
pub(crate) struct ContainerReader {
    store: Store,
    pub(crate) deferred: DeferredContainers,
    pub(crate) temporary: TemporaryContainers,
    /// Files by the digest of all of them.
    files: RecentMap<Digest, Arc<FileSet>>,
}

/// A container and its files.
#[derive(Debug)]
pub(crate) struct CurrentContainer {
    pub(crate) tenant: TenantId,
    pub(crate) container: ClusterContainer,
    pub(crate) setup: ContainerSetup,
    pub(crate) files: Arc<FileSet>,
    /// Set if a run of this gateway commits the changes of the container.
    pub(crate) deferred: Option<DeferredState>,
}

impl ContainerReader {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            deferred: DeferredContainers::default(),
            temporary: TemporaryContainers::default(),
            files: RecentMap::new(MAX_CACHED_ENTRIES),
        }
    }

    /// What is stored of a container, without its files.
    pub(crate) async fn stored(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<(TenantId, ClusterContainer), Error> {
        let tenant = tenant_of(owner).map_err(|_| not_found(id))?;
        if let Some(container) = self.temporary.get(owner, id) {
            return Ok((tenant, container));
        }
        let found = self.store.cluster_container(&tenant, id).await;
        let container = found.map_err(store_error)?.ok_or_else(|| not_found(id))?;
        Ok((tenant, container))
    }

    /// What is stored of a container, without its files and skills.
    pub(crate) async fn summary(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<ClusterContainerSummary, Error> {
        let tenant = tenant_of(owner).map_err(|_| not_found(id))?;
        if let Some(container) = self.temporary.get(owner, id) {
            return Ok(ClusterContainerSummary {
                id: container.id,
                setup: container.setup,
                stored_bytes: container.stored_bytes,
                created_at: container.created_at,
                used_at: container.used_at,
            });
        }
        let found = self.store.cluster_container_summary(&tenant, id).await;
        found.map_err(store_error)?.ok_or_else(|| not_found(id))
    }

    /// A container with its files.
    pub(crate) async fn current(&self, owner: &str, id: &str) -> Result<CurrentContainer, Error> {
        for _ in 0..MAX_READS {
            let (tenant, container) = self.stored(owner, id).await?;
            let current = self.with_files(owner, tenant, container).await?;
            if let Some(current) = current {
                return Ok(current);
            }
        }
        Err(Error::ContainerBusy { id: id.to_owned() })
    }

    /// Adds the files of a container; none if it was changed meanwhile.
    pub(crate) async fn with_files(
        &self,
        owner: &str,
        tenant: TenantId,
        container: ClusterContainer,
    ) -> Result<Option<CurrentContainer>, Error> {
        let deferred = self.deferred.state(owner, &container.id);
        let changed = deferred.as_ref().and_then(|state| state.files.clone());
        let files = match changed {
            Some(files) => files,
            None => match self.stored_files(&tenant, &container).await? {
                Some(files) => files,
                None => return Ok(None),
            },
        };
        Ok(Some(CurrentContainer {
            setup: read_setup(&container.setup)?,
            tenant,
            container,
            files,
            deferred,
        }))
    }

    /// The stored files of a container; none if they are of another generation.
    async fn stored_files(
        &self,
        tenant: &TenantId,
        container: &ClusterContainer,
    ) -> Result<Option<Arc<FileSet>>, Error> {
        let digest = container.files_digest;
        if let Some(known) = digest.and_then(|digest| self.files.get(&digest)) {
            return Ok(Some(known));
        }
        let read = self.store.container_files(tenant, &container.id).await;
        let read = read.map_err(store_error)?;
        let read = read.ok_or_else(|| not_found(&container.id))?;
        if read.generation != container.generation {
            return Ok(None);
        }
        let read = read.entries.into_iter().map(entries::from_stored);
        let files = Arc::new(FileSet::new(read.collect()));
        self.keep(&files);
        Ok(Some(files))
    }

    /// Keeps files that are stored, so that they need not be read again.
    pub(crate) fn keep(&self, files: &Arc<FileSet>) {
        let weight = files.entries().len() + 1;
        self.files.insert(files.digest(), Arc::clone(files), weight);
    }

    /// Opens a stored file of a container, which costs one statement. None if there is none, or
    /// a run of this gateway has changed the container's files: [`open`](Self::open) knows more.
    pub(crate) async fn open_stored(
        &self,
        owner: &str,
        id: &str,
        path: &str,
    ) -> Result<Option<FileStream>, Error> {
        let deferred = self.deferred.state(owner, id);
        let is_changed = deferred.is_some_and(|state| state.files.is_some());
        let (false, Ok(tenant)) = (is_changed, tenant_of(owner)) else {
            return Ok(None);
        };
        let opened = self.store.open_container_file(&tenant, id, path).await;
        let opened = opened.map_err(store_error)?;
        Ok(opened.map(|file| stream_of(file.size, file.content)))
    }

    /// Opens the content of a file.
    pub(crate) async fn open(
        &self,
        current: &CurrentContainer,
        path: &str,
    ) -> Result<FileStream, Error> {
        let (digest, size) = current.files.file(path)?;
        let pending = current.deferred.as_ref();
        let content = match pending.and_then(|state| state.contents.get(&digest)) {
            Some(PendingContent::Bytes(bytes)) => {
                return Ok(FileStream::from_bytes(bytes.clone()));
            }
            Some(PendingContent::Staged(staged)) => self.store.open_staged(staged).await,
            None => {
                let (tenant, id) = (&current.tenant, &current.container.id);
                self.store.container_content(tenant, id, digest).await
            }
        };
        Ok(stream_of(size, content.map_err(store_error)?))
    }
}

/// The setup of a container as it was written.
pub(crate) fn read_setup(setup: &Value) -> Result<ContainerSetup, Error> {
    serde_json::from_value(setup.clone()).map_err(|error| {
        tracing::error!(%error, "the stored setup of a container cannot be read");
        Error::Remote {
            code: "container-setup".to_owned(),
            message: "the container was made by a release that this one does not understand"
                .to_owned(),
        }
    })
}

/// A setup for the store.
pub(crate) fn write_setup(setup: &ContainerSetup) -> Result<Value, Error> {
    serde_json::to_value(setup).map_err(|error| Error::Remote {
        code: "container-setup".to_owned(),
        message: format!("the setup of the container cannot be stored: {error}"),
    })
}
