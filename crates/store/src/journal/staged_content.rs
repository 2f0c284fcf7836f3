//! Contents of a container's files: stored before the step that references them is
//! committed, and read when the files are restored.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use futures_util::Stream;
use prowess_skill::Digest;

use crate::Store;
use crate::blob::{ContentStream, StagedBlob, UploadBounds, parse_digest};
use crate::db::Sql;
use crate::error::{Error, ResourceKind, Result};
use crate::tenant::TenantId;

/// Content that is stored, and is referenced once its step is committed.
#[derive(Debug)]
pub struct StagedContent(pub(crate) StagedBlob);

/// Where small content is until its step is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StagingPlace {
    /// In memory, to be written with the step.
    Memory,
    /// In the blob storage.
    Storage,
}

impl StagedContent {
    /// Its digest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// Bytes it takes in memory until its step is committed.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.0.inline_len()
    }
}

impl Store {
    /// Stores contents of a container's files that a step will reference.
    ///
    /// # Errors
    /// When they cannot be written.
    pub async fn stage_contents(
        &self,
        contents: BTreeMap<Digest, Bytes>,
    ) -> Result<Vec<StagedContent>> {
        let staged = self.blobs().stage(contents).await?;
        Ok(staged.into_iter().map(StagedContent).collect())
    }

    /// The same for contents that are probably new: small ones cost no statement.
    ///
    /// # Errors
    /// When they cannot be written.
    pub async fn stage_new_contents(
        &self,
        contents: BTreeMap<Digest, Bytes>,
    ) -> Result<Vec<StagedContent>> {
        let staged = self.blobs().stage_new(contents).await?;
        Ok(staged.into_iter().map(StagedContent).collect())
    }

    /// Those of these contents, given with their sizes, that are stored already and need not
    /// be read. The caller must have them: this is no proof that it may read them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn stage_stored_contents(
        &self,
        contents: &BTreeMap<Digest, u64>,
    ) -> Result<Vec<StagedContent>> {
        let staged = self.blobs().stage_stored(contents).await?;
        Ok(staged.into_iter().map(StagedContent).collect())
    }

    /// Stores one content of a container's files that a step will reference. It is streamed
    /// in parts; memory use is bounded.
    ///
    /// # Errors
    /// When it cannot be read or written, or has not the expected size and digest.
    pub async fn stage_content(
        &self,
        expected: Digest,
        size: u64,
        content: impl Stream<Item = io::Result<Bytes>>,
        place: StagingPlace,
    ) -> Result<StagedContent> {
        let bounds = UploadBounds {
            limit: size,
            allowance: None,
        };
        let blobs = self.blobs();
        let staged = match place {
            StagingPlace::Memory => blobs.stage_stream(content, bounds).await?,
            StagingPlace::Storage => blobs.stage_stream_in_storage(content, bounds).await?,
        };
        if staged.digest != expected {
            let reason = format!("the content to be stored has the digest {}", staged.digest);
            blobs.discard(&[staged]).await;
            return Err(Error::DamagedContent {
                digest: expected.to_string(),
                reason,
            });
        }
        Ok(StagedContent(staged))
    }

    /// The content of a file that the tenant's container has in its current generation.
    ///
    /// # Errors
    /// When the container has no file with this digest, or the content cannot be read.
    pub async fn container_content(
        &self,
        tenant: &TenantId,
        container: &str,
        digest: Digest,
    ) -> Result<ContentStream> {
        let sql = Sql::new(
            "SELECT s.generation FROM sessions s
             JOIN container_files f ON f.container = s.id
             WHERE s.tenant = $1 AND s.id = $2 AND f.digest = $3 LIMIT 1",
        );
        let sql = sql.bind(tenant.as_str()).bind(container);
        let found = self.db().fetch_optional(sql.bind(digest.to_string()));
        if found.await?.is_none() {
            return Err(Error::not_found(ResourceKind::File, digest.to_string()));
        }
        self.blobs().open(digest).await
    }

    /// Small contents of the tenant's container in its current generation, read at once: up
    /// to `count` files from `path` on, in order of their paths. Files that are larger than
    /// `max_bytes`, or not stored in the database, are left out.
    ///
    /// # Errors
    /// When they cannot be read, or one is damaged.
    pub async fn small_container_contents(
        &self,
        tenant: &TenantId,
        container: &str,
        path: &str,
        max_bytes: u64,
        count: u32,
    ) -> Result<BTreeMap<Digest, Bytes>> {
        let sql = Sql::new(
            "SELECT b.digest, b.data FROM container_files f
             JOIN sessions s ON s.id = f.container
             JOIN blobs b ON b.digest = f.digest AND b.state = 'ready'
             WHERE s.tenant = $1 AND f.container = $2 AND f.path >= $3 AND f.size <= $4
               AND b.data IS NOT NULL
             ORDER BY f.path LIMIT $5",
        );
        let max_bytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
        let sql = sql.bind(tenant.as_str()).bind(container).bind(path);
        let sql = sql.bind(max_bytes).bind(i64::from(count));
        let mut contents = BTreeMap::new();
        for row in self.db().fetch_all(sql).await? {
            let digest = parse_digest(&row.text("digest")?)?;
            let data = Bytes::from(row.optional_bytes("data")?.unwrap_or_default());
            let found = Digest::from_content(&data);
            if found != digest {
                return Err(Error::DamagedContent {
                    digest: digest.to_string(),
                    reason: format!("its digest is {found}"),
                });
            }
            contents.insert(digest, data);
        }
        Ok(contents)
    }
}
