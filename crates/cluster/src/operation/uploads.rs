//! Records of client files that were copied into a container.

use prowess_sandbox::{ContainerSetup, Error};

use crate::cluster::ClusterSandboxes;
use crate::containers::{read_setup, write_setup};
use crate::store_error::{not_found, store_error};

/// Maximum number of client files that are recorded.
const MAX_UPLOADS: usize = 1_000;

impl ClusterSandboxes {
    /// Whether a client's file was copied before, and its name is still in use.
    pub(crate) async fn knows_upload(
        &self,
        owner: &str,
        id: &str,
        source: &str,
        path: &str,
    ) -> Result<bool, Error> {
        let current = self.containers.current(owner, id).await?;
        let mut uploads = current.setup.uploads.iter();
        let is_known = uploads.any(|one| one.0 == source && one.1 == path);
        Ok(is_known && current.files.file(path).is_ok())
    }

    /// Records that client files, as (id, path), were copied.
    pub(crate) async fn record_uploads(
        &self,
        owner: &str,
        id: &str,
        uploads: Vec<(String, String)>,
    ) -> Result<(), Error> {
        if uploads.is_empty() {
            return Ok(());
        }
        let _turn = self.locks.acquire(id).await?;
        let (tenant, container) = self.containers.stored(owner, id).await?;
        let mut setup = read_setup(&container.setup)?;
        for (source, path) in &uploads {
            add_record(&mut setup, source, path);
        }
        let setup = write_setup(&setup)?;
        let set = self.store.set_cluster_setup(&tenant, id, &setup).await;
        match set.map_err(store_error)? {
            true => Ok(()),
            false => Err(not_found(id)),
        }
    }
}

/// Records that a client file was copied to a path. The oldest records are dropped.
pub(crate) fn add_record(setup: &mut ContainerSetup, source: &str, path: &str) {
    let uploads = &mut setup.uploads;
    uploads.retain(|one| !(one.0 == source && one.1 == path));
    uploads.push((source.to_owned(), path.to_owned()));
    let above = uploads.len().saturating_sub(MAX_UPLOADS);
    uploads.drain(..above);
}
