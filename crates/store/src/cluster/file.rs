//! One file of a container, found and opened in one statement: what a command has created is
//! read once for each run.

use crate::Store;
use crate::blob::{ContentStream, parse_digest};
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;

/// A regular file of a container, opened for reading.
pub struct OpenedContainerFile {
    /// Its size in bytes.
    pub size: u64,
    /// Its content.
    pub content: ContentStream,
}

impl Store {
    /// Opens a regular file that the tenant's container has in its current generation. `None` if
    /// the tenant has no such container, or the container no such file.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn open_container_file(
        &self,
        tenant: &TenantId,
        id: &str,
        path: &str,
    ) -> Result<Option<OpenedContainerFile>> {
        let row = self.db().fetch_optional(select_file(tenant, id, path));
        let Some(row) = row.await? else {
            return Ok(None);
        };
        let digest = parse_digest(&row.text("digest")?)?;
        Ok(Some(OpenedContainerFile {
            size: u64::try_from(row.int("size")?).unwrap_or_default(),
            content: self.blobs().open_row(digest, &row).await?,
        }))
    }
}

pub(super) fn select_file(tenant: &TenantId, id: &str, path: &str) -> Sql {
    Sql::new(
        "SELECT f.size, b.digest, b.place, b.data
         FROM cluster_containers c
         JOIN container_files f ON f.container = c.id
         JOIN blobs b ON b.digest = f.digest AND b.state = 'ready'
         WHERE c.tenant = ",
    )
    .push_bind("", tenant.as_str())
    .push_bind(" AND c.id = ", id)
    .push_bind(" AND f.path = ", path)
}
