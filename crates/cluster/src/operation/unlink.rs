//! Removes a file of a container.

use std::sync::Arc;

use prowess_sandbox::{Error, SnapshotChanges, check_file_path};

use super::update::FileUpdate;
use crate::cluster::ClusterSandboxes;

impl ClusterSandboxes {
    /// Removes a regular file.
    pub(crate) async fn remove_file(&self, owner: &str, id: &str, path: &str) -> Result<(), Error> {
        check_file_path(path)?;
        let _turn = self.locks.acquire(id).await?;
        self.update(owner, id, |current| {
            current.files.file(path)?;
            let changes = SnapshotChanges {
                removed: vec![path.to_owned()],
                ..SnapshotChanges::default()
            };
            Ok(FileUpdate {
                files: Arc::new(current.files.with_changes(&changes)),
                changes,
                contents: Vec::new(),
                setup: None,
            })
        })
        .await
    }
}
