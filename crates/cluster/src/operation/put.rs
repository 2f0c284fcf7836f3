//! Writes a file into a container.

use std::sync::Arc;

use bytes::Bytes;
use prowess_sandbox::{Error, check_entries, check_file_path};
use prowess_skill::Digest;

use super::update::FileUpdate;
use super::uploads::add_record;
use crate::cluster::ClusterSandboxes;

/// Bytes that are hashed without a thread of their own.
const MAX_HASHED_HERE: usize = 1 << 20;

impl ClusterSandboxes {
    /// Writes a file, replacing what has its name. A client's file is recorded as `source`.
    pub(crate) async fn put_file(
        &self,
        owner: &str,
        id: &str,
        source: Option<&str>,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<(), Error> {
        check_file_path(path)?;
        let _turn = self.locks.acquire(id).await?;
        let bytes = Bytes::from(bytes);
        let (digest, size) = (digest_of(&bytes).await?, bytes.len() as u64);
        self.update(owner, id, |current| {
            let changes = current.files.put(path, digest, size);
            let files = current.files.with_changes(&changes);
            let limits = &current.setup.policy.limits;
            let checked = check_entries(files.entries(), limits);
            checked.map_err(|error| with_path(error, path))?;
            let setup = source.map(|source| {
                let mut setup = current.setup.clone();
                add_record(&mut setup, source, path);
                setup
            });
            Ok(FileUpdate {
                changes,
                files: Arc::new(files),
                contents: vec![(digest, bytes.clone())],
                setup,
            })
        })
        .await
    }
}

/// The digest of a content; of a large one on a thread for blocking work.
async fn digest_of(bytes: &Bytes) -> Result<Digest, Error> {
    if bytes.len() <= MAX_HASHED_HERE {
        return Ok(Digest::from_content(bytes));
    }
    let bytes = bytes.clone();
    let hashed = tokio::task::spawn_blocking(move || Digest::from_content(&bytes));
    hashed.await.map_err(|error| Error::Remote {
        code: "io".to_owned(),
        message: error.to_string(),
    })
}

/// The file that does not fit is the one that is written.
fn with_path(error: Error, path: &str) -> Error {
    match error {
        Error::OverQuota { allowed, unit, .. } => Error::OverQuota {
            path: path.to_owned(),
            allowed,
            unit,
        },
        other => other,
    }
}
