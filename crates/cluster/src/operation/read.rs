//! Reads files of a container: from the store, and from what a run of this gateway has not
//! committed yet.

use bytes::Bytes;
use prowess_sandbox::{Error, FileInfo, FileStream, SandboxOutput, Snapshot, check_file_path};
use prowess_skill::Digest;

use crate::cluster::ClusterSandboxes;
use crate::deferred::PendingContent;

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
        if let Some(file) = self.containers.open_stored(owner, id, path).await? {
            return Ok(file);
        }
        let current = self.containers.current(owner, id).await?;
        self.containers.open(&current, path).await
    }

    /// Opens a file that a command has created or changed: as the command has left it, if that is
    /// still known here, else as it is now.
    pub(crate) async fn open_output_file(
        &self,
        owner: &str,
        id: &str,
        output: &SandboxOutput,
    ) -> Result<FileStream, Error> {
        let known = digest_of(output).and_then(|digest| self.known_content(owner, id, digest));
        match known {
            Some(known) => Ok(FileStream::from_bytes(known)),
            None => self.open_file(owner, id, &output.path).await,
        }
    }

    /// A content that a container has or has had a moment ago, if it is in memory.
    fn known_content(&self, owner: &str, id: &str, digest: Digest) -> Option<Bytes> {
        let deferred = self.containers.deferred.state(owner, id);
        let pending = deferred.and_then(|state| state.contents.get(&digest).cloned());
        match pending {
            Some(PendingContent::Bytes(bytes)) => Some(bytes),
            _ => self.contents.get(owner, id, digest),
        }
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

/// The digest of an output's content.
pub(super) fn digest_of(output: &SandboxOutput) -> Option<Digest> {
    format!("sha256:{}", output.sha256).parse().ok()
}
