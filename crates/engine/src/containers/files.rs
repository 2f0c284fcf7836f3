//! The files in a container. A file that a run created has the id under which the run stored
//! it; any other an id that encodes its path.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use prowess_sandbox::{Error as SandboxError, FileInfo, FileStream, SharedSandboxes};
use prowess_skill::misleading::describe_misleading;
use prowess_store::{Error as StoreError, FileFilter, FileRecord, MAX_PAGE_ITEMS, PageRequest};
use prowess_toolbox::Workspace;

use crate::containers::api::{Containers, to_run_error};
use crate::error::RunError;
use crate::ids;
use crate::intake::uploads::{self, ExistingUpload};

/// Prefix of ids that encode a path.
const PATH_ID_PREFIX: &str = "cfile_";

/// A file in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerFile {
    /// `file_…` if a run created it, else `cfile_…`.
    pub id: String,
    /// Its path, below `/mnt/data`.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Whether a run created it.
    pub made_by_run: bool,
    /// When it was created, in seconds since the epoch; if unknown, when the container was.
    pub created_at: u64,
}

impl Containers {
    /// All files of a container, by path.
    ///
    /// # Errors
    /// [`RunError::ContainerNotFound`] when it does not exist.
    pub async fn files(&self, id: &str) -> Result<Vec<ContainerFile>, RunError> {
        let (files, _) = self.files_after(id, None, usize::MAX).await?;
        Ok(files)
    }

    /// Some of its files, by path: those after a file, at most `limit`, and whether there are more.
    /// A container may have many files with long paths, so only those are copied.
    ///
    /// # Errors
    /// [`RunError::ContainerNotFound`] when it does not exist.
    pub async fn files_after(
        &self,
        id: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<ContainerFile>, bool), RunError> {
        let container = self.get(id).await?;
        let (sandbox, container_id) = self.find(id).await?;
        let listed = sandbox.list(self.owner(), &container_id).await;
        let listed = listed.map_err(|error| to_run_error(error, id, ""))?;
        let created = self.run_files(&container_id).await?;
        let mut files = listed.into_iter().map(|file| {
            let record = created.get(&(file.path.clone(), file.size));
            to_container_file(file, record, container.created_at)
        });
        if let Some(after) = after {
            // Without such a file there are none after it.
            let _ = files.any(|file| file.id == after);
        }
        let found = files.by_ref().take(limit).collect();
        Ok((found, files.next().is_some()))
    }

    /// Waits while a command uses a container. A caller that lists its files next need not hold a
    /// permit meanwhile that others need.
    ///
    /// # Errors
    /// [`RunError::ContainerNotFound`] when it does not exist.
    pub async fn wait_while_used(&self, id: &str) -> Result<(), RunError> {
        let (sandbox, container_id) = self.find(id).await?;
        // The answer does not matter.
        let used = sandbox.has_upload(self.owner(), &container_id, "", "");
        let used = used.await.map(drop);
        used.map_err(|error| to_run_error(error, id, ""))
    }

    /// One of them.
    ///
    /// # Errors
    /// [`RunError::FileNotFound`] when it does not exist.
    pub async fn file(&self, id: &str, file: &str) -> Result<ContainerFile, RunError> {
        let path = self.resolve_path(id, file).await?;
        let container = self.get(id).await?;
        let (sandbox, container_id) = self.find(id).await?;
        let size = match sandbox.get(self.owner(), &container_id, &path).await {
            // No file can have this path.
            Err(SandboxError::BadName { .. }) => return Err(file_not_found(file)),
            opened => opened.map_err(|error| to_run_error(error, id, file))?.size,
        };
        let created = self.run_files(&container_id).await?;
        let record = created.get(&(path.clone(), size));
        let found = FileInfo { path, size };
        Ok(to_container_file(found, record, container.created_at))
    }

    /// Opens its current content in the container, which is read in parts: it may be as large
    /// as the container, and any number of clients may read it slowly.
    ///
    /// # Errors
    /// [`RunError::FileNotFound`] when it does not exist.
    pub async fn open(&self, id: &str, file: &str) -> Result<FileStream, RunError> {
        let path = self.resolve_path(id, file).await?;
        let (sandbox, container_id) = self.find(id).await?;
        let opened = sandbox.get(self.owner(), &container_id, &path).await;
        opened.map_err(|error| to_run_error(error, id, file))
    }

    /// Adds a file under a name without folders; replaces one of the same name.
    ///
    /// # Errors
    /// When the name is invalid, the container is full, or a kept run uses it.
    pub async fn put(
        &self,
        id: &str,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<ContainerFile, RunError> {
        if let Some(why) = describe_misleading(name) {
            let why = format!("its name {why}");
            return Err(RunError::invalid_field("file", why));
        }
        let (sandbox, container_id) = self.find_unheld(id).await?;
        let put = sandbox.put(self.owner(), &container_id, name, bytes).await;
        put.map_err(|error| to_run_error(error, id, name))?;
        self.file(id, &path_id(name)).await
    }

    /// Adds a stored file.
    ///
    /// # Errors
    /// [`RunError::FileNotFound`] when it is not stored; the sandbox's `container-busy` when a
    /// kept run uses the container.
    pub async fn put_stored(&self, id: &str, file: &str) -> Result<ContainerFile, RunError> {
        let (sandbox, container_id) = self.find_unheld(id).await?;
        let (store, file_ids) = (self.engine.store(), [file.to_owned()]);
        let found = uploads::find_uploads(store, &self.tenant, &file_ids, &mut [], false).await?;
        let workspace = Workspace::for_container(sandbox, self.owner(), &container_id);
        uploads::place_uploads(
            store,
            &self.tenant,
            &workspace,
            &found,
            ExistingUpload::Replace,
        )
        .await?;
        let place = found.first().map(uploads::sandbox_name).unwrap_or_default();
        self.file(id, &path_id(&place)).await
    }

    /// Removes one. A file that a run created stays among the tenant's files.
    ///
    /// # Errors
    /// [`RunError::FileNotFound`] when it does not exist; the sandbox's `container-busy` when a
    /// kept run uses the container.
    pub async fn remove(&self, id: &str, file: &str) -> Result<(), RunError> {
        let path = self.resolve_path(id, file).await?;
        let (sandbox, container_id) = self.find_unheld(id).await?;
        let removed = sandbox.unlink(self.owner(), &container_id, &path).await;
        removed.map_err(|error| to_run_error(error, id, file))
    }

    /// Finds a container to change its files. Not one that a kept run holds: what others change
    /// there would be undone if its server died, or keep its steps from being committed.
    async fn find_unheld(&self, id: &str) -> Result<(SharedSandboxes, String), RunError> {
        let (sandbox, container_id) = self.find(id).await?;
        let store = self.engine.store();
        if store.is_container_held(&self.tenant, &container_id).await? {
            let id = id.to_owned();
            return Err(RunError::Toolbox(SandboxError::ContainerBusy { id }.into()));
        }
        Ok((sandbox, container_id))
    }

    /// The path of a file in a container, from its id.
    async fn resolve_path(&self, id: &str, file: &str) -> Result<String, RunError> {
        let container_id = ids::container_id(id);
        if let Some(path) = parse_path_id(file) {
            return Ok(path);
        }
        match self.engine.store().file(&self.tenant, file).await {
            Ok(record) if record.scope.as_deref() == Some(&container_id) => Ok(record.name),
            Ok(_) | Err(StoreError::NotFound { .. } | StoreError::FileExpired { .. }) => {
                // If the container does not exist, that is the error.
                self.find(id).await.and_then(|_| Err(file_not_found(file)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The files that runs created in a container, by path and size, the newest of each.
    async fn run_files(
        &self,
        container_id: &str,
    ) -> Result<BTreeMap<(String, u64), FileRecord>, RunError> {
        let filter = FileFilter {
            scope: Some(container_id.to_owned()),
            ..FileFilter::default()
        };
        let page = PageRequest {
            limit: MAX_PAGE_ITEMS,
            ..PageRequest::default()
        };
        let page = self.engine.store().list_files(&self.tenant, &filter, &page);
        let mut files = BTreeMap::new();
        for file in page.await?.items {
            let size = u64::try_from(file.size).unwrap_or_default();
            files.entry((file.name.clone(), size)).or_insert(file);
        }
        Ok(files)
    }
}

fn to_container_file(
    file: FileInfo,
    record: Option<&FileRecord>,
    container_created_at: u64,
) -> ContainerFile {
    let created_at = record.and_then(|record| u64::try_from(record.created_at.as_seconds()).ok());
    ContainerFile {
        id: record.map_or_else(|| path_id(&file.path), |record| record.id.clone()),
        size: file.size,
        made_by_run: record.is_some(),
        created_at: created_at.unwrap_or(container_created_at),
        path: file.path,
    }
}

fn file_not_found(id: &str) -> RunError {
    RunError::FileNotFound {
        id: id.escape_debug().take(100).collect(),
    }
}

fn path_id(path: &str) -> String {
    path.bytes()
        .fold(PATH_ID_PREFIX.to_owned(), |mut id, byte| {
            // Writing to a string does not fail.
            let _ = write!(id, "{byte:02x}");
            id
        })
}

fn parse_path_id(id: &str) -> Option<String> {
    let digits = id.strip_prefix(PATH_ID_PREFIX)?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Option<Vec<u8>> = pairs.iter().map(|pair| byte(pair)).collect();
    bytes
        .filter(|_| rest.is_empty() && digits.iter().all(u8::is_ascii_hexdigit))
        .and_then(|bytes| String::from_utf8(bytes).ok())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use futures_util::TryStreamExt;
    use prowess_store::{
        BeginOutcome, EndOutcome, NewJournalRun, RunResult, RunState, Store, StoreConfig, TenantId,
    };
    use prowess_wire::neutral::Map;
    use tempfile::TempDir;

    use super::*;
    use crate::containers::command_place::{CommandPlace, on_one_host_and_over_a_cluster};
    use crate::containers::create::NewContainer;
    use crate::containers::sandbox_handle::SandboxHandle;
    use crate::engine::Engine;
    use crate::settings::EngineSettings;

    on_one_host_and_over_a_cluster! {
        a_file_is_read_in_parts_and_not_into_memory,
        files_of_a_container_that_a_kept_run_holds_are_not_changed,
    }

    async fn files_of_a_container_that_a_kept_run_holds_are_not_changed(place: CommandPlace) {
        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let store = Store::open(&StoreConfig::local(folders[0].path())).await;
        let store = store.unwrap();
        let (sandbox, _cluster) = place.open(&store, folders[1].path(), |_| {}).await;
        let sandbox = SandboxHandle::ready(sandbox);
        let engine = Engine::new(store.clone(), EngineSettings::default(), sandbox);
        let tenant = TenantId::default_tenant();
        let containers = engine.containers(&tenant);
        let new = Map::from_iter([("name".to_owned(), "files".into())]);
        let new = NewContainer::parse(&new).unwrap();
        let id = containers.create(new).await.unwrap().id;
        let file = containers.put(&id, "first", b"1".to_vec()).await.unwrap();
        let new = NewJournalRun {
            id: "run_1",
            api_key: None,
            dialect: "messages",
            model: "m",
            kept: true,
            format: 1,
            idempotency_key: None,
            request_digest: "d",
            request: b"{}",
        };
        let (owner, time) = ("a server", Duration::from_secs(600));
        let container = ids::container_id(&id);
        let started = store.begin_run_in(&tenant, &new, owner, time, &container);
        let BeginOutcome::Started(lease) = started.await.unwrap() else {
            panic!("the run is known already");
        };
        let put = containers.put(&id, "second", b"2".to_vec()).await;
        assert_eq!(put.unwrap_err().code(), "container-busy");
        let removed = containers.remove(&id, &file.id).await;
        assert_eq!(removed.unwrap_err().code(), "container-busy");
        assert_eq!(
            containers.files(&id).await.unwrap(),
            std::slice::from_ref(&file)
        );
        let result = RunResult {
            state: RunState::Completed,
            body: "{}",
            events: None,
        };
        let ended = store.end_run(&lease, &result, &[]).await.unwrap();
        assert_eq!(ended, EndOutcome::Ended);
        containers.remove(&id, &file.id).await.unwrap();
    }

    async fn a_file_is_read_in_parts_and_not_into_memory(place: CommandPlace) {
        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let store = Store::open(&StoreConfig::local(folders[0].path())).await;
        let store = store.unwrap();
        let (sandbox, _cluster) = place.open(&store, folders[1].path(), |_| {}).await;
        let sandbox = SandboxHandle::ready(sandbox);
        let engine = Engine::new(store, EngineSettings::default(), sandbox);
        let containers = engine.containers(&TenantId::default_tenant());
        let new = Map::from_iter([("name".to_owned(), "files".into())]);
        let new = NewContainer::parse(&new).unwrap();
        let container = containers.create(new).await.unwrap();
        for size in [0, 1, 1 << 20] {
            let content: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let put = containers.put(&container.id, "file.bin", content.clone());
            let file = put.await.unwrap();
            let opened = containers.open(&container.id, &file.id).await.unwrap();
            assert_eq!(opened.size, content.len() as u64);
            let parts: Vec<Bytes> = opened.body.try_collect().await.unwrap();
            assert_eq!(parts.concat(), content);
            if place == CommandPlace::OneHost {
                assert!(parts.iter().all(|part| part.len() <= 256 << 10));
            }
        }
    }

    #[test]
    fn an_id_that_encodes_a_path_is_decoded_and_no_other_is() {
        for path in ["a.txt", "out/größe 1.csv"] {
            assert_eq!(parse_path_id(&path_id(path)).as_deref(), Some(path));
        }
        for id in ["file_1", "cfile_6", "cfile_zz", "cfile_ff", "cfile_+1"] {
            assert_eq!(parse_path_id(id), None, "{id}");
        }
    }
}
