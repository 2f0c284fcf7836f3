//! Reads files of a container: from the store, and from what a run of this gateway has not
//! committed yet.

use prowess_sandbox::{Error, FileInfo, FileStream, Snapshot, check_file_path};

use crate::cluster::ClusterSandboxes;

/// Files that are opened at once.
const MAX_OPEN_FILES: usize = 64;

impl ClusterSandboxes {
    /// Every regular file.
    pub(crate) async fn list_files(&self, owner: &str, id: &str) -> Result<Vec<FileInfo>, Error> {
        Ok(self.containers.current(owner, id).await?.files.list())
    }

    /// Opens a file.
    pub(crate) async fn open_file(
        &self,
        owner: &str,
        id: &str,
        path: &str,
    ) -> Result<FileStream, Error> {
        check_file_path(path)?;
        let current = self.containers.current(owner, id).await?;
        self.containers.open(&current, path).await
    }

    /// Opens several files of the same moment.
    pub(crate) async fn open_several(
        &self,
        owner: &str,
        id: &str,
        paths: Vec<String>,
    ) -> Result<Vec<FileStream>, Error> {
        let current = self.containers.current(owner, id).await?;
        let mut opened = Vec::new();
        for path in paths.iter().take(MAX_OPEN_FILES) {
            check_file_path(path)?;
            opened.push(self.containers.open(&current, path).await?);
        }
        Ok(opened)
    }

    /// All files, once no command of this gateway uses the container.
    pub(crate) async fn take_snapshot(&self, owner: &str, id: &str) -> Result<Snapshot, Error> {
        let _turn = self.locks.acquire(id).await?;
        Ok(self.containers.current(owner, id).await?.files.snapshot())
    }
}
