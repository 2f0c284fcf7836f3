//! What lies in a container. A file that a run made is known by the id that the run
//! told; any other by an id that holds its path.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;

use prowess_sandbox::FileInfo;
use prowess_store::{Error as StoreError, FileFilter, FileRecord, MAX_PAGE_ITEMS, PageRequest};
use prowess_toolbox::Workspace;

use super::{Containers, to_run_error};
use crate::error::RunError;
use crate::ids;
use crate::uploads::{self, ExistingUpload};

/// How the ids begin that hold a path.
const PATH_ID_PREFIX: &str = "cfile_";
/// Bytes of a file that is read at once.
const MAX_READ_BYTES: u64 = 512 << 20;

/// A file in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerFile {
    /// `file_…` if a run made it, else `cfile_…`.
    pub id: String,
    /// Its path, below `/mnt/data`.
    pub path: String,
    /// Its length.
    pub size: u64,
    /// Whether a run made it.
    pub made_by_run: bool,
    /// When, in seconds since the epoch; when the container was made if nobody knows.
    pub created_at: u64,
}

impl Containers {
    /// All files of a container, by path.
    ///
    /// # Errors
    /// [`RunError::NoContainer`] when there is no such container.
    pub async fn files(&self, id: &str) -> Result<Vec<ContainerFile>, RunError> {
        let container = self.get(id).await?;
        let (sandbox, session) = self.find(id).await?;
        let there = sandbox.list(self.owner(), &session).await;
        let there = there.map_err(|error| to_run_error(error, id, ""))?;
        let made = self.run_files(&session).await?;
        let files = there.into_iter().map(|file| {
            let record = made.get(&(file.path.clone(), file.size));
            to_container_file(file, record, container.created_at)
        });
        Ok(files.collect())
    }

    /// One of them.
    ///
    /// # Errors
    /// [`RunError::NoFile`] when there is no such file.
    pub async fn file(&self, id: &str, file: &str) -> Result<ContainerFile, RunError> {
        let path = self.resolve_path(id, file).await?;
        let mut found = self.files(id).await?.into_iter();
        found
            .find(|found| found.path == path)
            .ok_or_else(|| file_not_found(file))
    }

    /// Its content, as it lies in the container now.
    ///
    /// # Errors
    /// [`RunError::NoFile`] when there is no such file.
    pub async fn read(&self, id: &str, file: &str) -> Result<Vec<u8>, RunError> {
        let path = self.resolve_path(id, file).await?;
        let (sandbox, session) = self.find(id).await?;
        let opened = sandbox.get(self.owner(), &session, &path).await;
        let opened = opened.map_err(|error| to_run_error(error, id, file))?;
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            opened
                .take(MAX_READ_BYTES)
                .read_to_end(&mut bytes)
                .map(|_| bytes)
        });
        match read.await {
            Ok(Ok(bytes)) => Ok(bytes),
            _ => Err(file_not_found(file)),
        }
    }

    /// Puts a file in, under a plain name, in place of one of the same name.
    ///
    /// # Errors
    /// When the name is none, or the container cannot hold it.
    pub async fn put(
        &self,
        id: &str,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<ContainerFile, RunError> {
        let (sandbox, session) = self.find(id).await?;
        let put = sandbox.put(self.owner(), &session, name, bytes).await;
        put.map_err(|error| to_run_error(error, id, name))?;
        self.file(id, &path_id(name)).await
    }

    /// Puts a stored file in.
    ///
    /// # Errors
    /// [`RunError::NoFile`] when it is not stored.
    pub async fn put_stored(&self, id: &str, file: &str) -> Result<ContainerFile, RunError> {
        let (sandbox, session) = self.find(id).await?;
        let (store, file_ids) = (self.engine.store(), [file.to_owned()]);
        let found = uploads::find_uploads(store, &self.tenant, &file_ids, &mut [], false).await?;
        let workspace = Workspace::for_container(sandbox, self.owner(), &session);
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

    /// Removes one. What a run made stays among the tenant's files.
    ///
    /// # Errors
    /// [`RunError::NoFile`] when there is no such file.
    pub async fn remove(&self, id: &str, file: &str) -> Result<(), RunError> {
        let path = self.resolve_path(id, file).await?;
        let (sandbox, session) = self.find(id).await?;
        let gone = sandbox.unlink(self.owner(), &session, &path).await;
        gone.map_err(|error| to_run_error(error, id, file))
    }

    /// The path that a file's id means in a container.
    async fn resolve_path(&self, id: &str, file: &str) -> Result<String, RunError> {
        let session = ids::container_id(id);
        if let Some(path) = parse_path_id(file) {
            return Ok(path);
        }
        match self.engine.store().file(&self.tenant, file).await {
            Ok(record) if record.scope.as_deref() == Some(&session) => Ok(record.name),
            Ok(_) | Err(StoreError::NotFound { .. } | StoreError::FileExpired { .. }) => {
                // A container that is not there is told as such.
                self.find(id).await.and_then(|_| Err(file_not_found(file)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The files that runs made in a session, by path and size, the newest of each.
    async fn run_files(
        &self,
        session: &str,
    ) -> Result<BTreeMap<(String, u64), FileRecord>, RunError> {
        let filter = FileFilter {
            scope: Some(session.to_owned()),
            ..FileFilter::default()
        };
        let page = PageRequest {
            limit: MAX_PAGE_ITEMS,
            ..PageRequest::default()
        };
        let page = self.engine.store().list_files(&self.tenant, &filter, &page);
        let mut made = BTreeMap::new();
        for file in page.await?.items {
            let size = u64::try_from(file.size).unwrap_or_default();
            made.entry((file.name.clone(), size)).or_insert(file);
        }
        Ok(made)
    }
}

fn to_container_file(file: FileInfo, made: Option<&FileRecord>, created: u64) -> ContainerFile {
    let at = made.and_then(|record| u64::try_from(record.created_at.as_seconds()).ok());
    ContainerFile {
        id: made.map_or_else(|| path_id(&file.path), |record| record.id.clone()),
        size: file.size,
        made_by_run: made.is_some(),
        created_at: at.unwrap_or(created),
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
    use super::*;

    #[test]
    fn an_id_that_holds_a_path_gives_it_back_and_no_other_does() {
        for path in ["a.txt", "out/größe 1.csv"] {
            assert_eq!(parse_path_id(&path_id(path)).as_deref(), Some(path));
        }
        for id in ["file_1", "cfile_6", "cfile_zz", "cfile_ff", "cfile_+1"] {
            assert_eq!(parse_path_id(id), None, "{id}");
        }
    }
}
