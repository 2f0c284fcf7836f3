//! Files: uploaded by clients, or created by runs.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use prowess_skill::Digest;
use serde_json::json;

use crate::Store;
use crate::audit::{AuditAction, AuditChange};
use crate::blob::{
    ActivationOutcome, ContentStream, StagedBlob, UploadBounds, activate, parse_digest, touch_blobs,
};
use crate::db::{DbRow, Sql, SqlValue, Tx};
use crate::error::{Error, ResourceKind, Result};
use crate::id::{self, IdPrefix};
use crate::page::{MAX_PAGE_ITEMS, PageCursor, PageRequest, RecordPage};
use crate::quota::{self, StorageUsage};
use crate::skills::{ID_COLUMN, paginate};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Rows per statement, far below the limit of either database.
const BATCH_ROWS: usize = 200;

/// A file to be stored.
#[derive(Debug, Clone)]
pub struct NewFile<'a> {
    /// Its display name. Never used as a path.
    pub name: &'a str,
    /// Its media type.
    pub mime: &'a str,
    /// Its purpose, as in OpenAI's API.
    pub purpose: &'a str,
    /// The container it belongs to, if any.
    pub scope: Option<&'a str>,
    /// Whether its content may be downloaded.
    pub downloadable: bool,
    /// How long it is stored. Default: for ever.
    pub expires_in: Option<Duration>,
    /// Maximum size in bytes.
    pub limit: u64,
}

/// A stored file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    /// `file_…`.
    pub id: String,
    /// Its display name.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// Size of its content in bytes.
    pub size: i64,
    /// Digest of its content.
    pub digest: Digest,
    /// Its purpose.
    pub purpose: String,
    /// The container it belongs to, if any.
    pub scope: Option<String>,
    /// Whether its content may be downloaded.
    pub downloadable: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires, if ever.
    pub expires_at: Option<Timestamp>,
}

/// A filter for files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFilter {
    /// Only those of this container.
    pub scope: Option<String>,
    /// Only those with this purpose.
    pub purpose: Option<String>,
}

const SELECT_FILES: &str = "SELECT id, name, mime, size, digest, purpose, scope, downloadable,
    created_at, expires_at FROM files WHERE tenant = ";

impl FileRecord {
    fn from_row(row: &DbRow) -> Result<Self> {
        Ok(FileRecord {
            id: row.text("id")?,
            name: row.text("name")?,
            mime: row.text("mime")?,
            size: row.int("size")?,
            digest: parse_digest(&row.text("digest")?)?,
            purpose: row.text("purpose")?,
            scope: row.optional_text("scope")?,
            downloadable: row.flag("downloadable")?,
            created_at: row.time("created_at")?,
            expires_at: row.optional_time("expires_at")?,
        })
    }

    fn to_row(&self, tenant: &TenantId) -> Vec<SqlValue> {
        vec![
            self.id.clone().into(),
            tenant.as_str().into(),
            self.name.clone().into(),
            self.mime.clone().into(),
            self.size.into(),
            self.digest.to_string().into(),
            self.purpose.clone().into(),
            self.scope.clone().into(),
            self.downloadable.into(),
            self.created_at.into(),
            self.expires_at.into(),
        ]
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

impl Store {
    /// Stores a file. Its content is streamed in parts; memory use is bounded.
    pub async fn create_file(
        &self,
        tenant: &TenantId,
        new: &NewFile<'_>,
        content: impl Stream<Item = io::Result<Bytes>>,
    ) -> Result<FileRecord> {
        let (file, staged) = self.stage_new_file(tenant, new, content).await?;
        self.insert_file(tenant, &file, staged).await?;
        Ok(file)
    }

    /// Stores the content of a file that does not exist yet.
    pub(crate) async fn stage_new_file(
        &self,
        tenant: &TenantId,
        new: &NewFile<'_>,
        content: impl Stream<Item = io::Result<Bytes>>,
    ) -> Result<(FileRecord, StagedBlob)> {
        let one = StorageUsage {
            files: 1,
            ..StorageUsage::default()
        };
        let bounds = UploadBounds {
            limit: new.limit,
            allowance: self.check_quota(tenant, &one).await?,
        };
        let staged = self.blobs().stage_stream(content, bounds).await?;
        let now = Timestamp::now();
        let file = FileRecord {
            id: id::new_id(IdPrefix::File, now)?,
            name: new.name.to_owned(),
            mime: new.mime.to_owned(),
            size: staged.size,
            digest: staged.digest,
            purpose: new.purpose.to_owned(),
            scope: new.scope.map(str::to_owned),
            downloadable: new.downloadable,
            created_at: now,
            expires_at: new.expires_in.map(|time| now.after(time)),
        };
        Ok((file, staged))
    }

    async fn insert_file(
        &self,
        tenant: &TenantId,
        file: &FileRecord,
        staged: StagedBlob,
    ) -> Result<()> {
        let staged = [staged];
        let mut tx = match self.db().begin().await {
            Ok(tx) => tx,
            Err(error) => {
                self.blobs().discard(&staged).await;
                return Err(error);
            }
        };
        let written = match self.write_file(&mut tx, tenant, file, &staged).await {
            Ok(()) => match tx.commit().await {
                // Whether it was committed is unknown, so staged content is kept.
                Err(error) if !error.is_rolled_back() => return Err(error),
                done => done,
            },
            Err(error) => {
                tx.rollback().await;
                Err(error)
            }
        };
        if written.is_err() {
            self.blobs().discard(&staged).await;
        }
        written
    }

    async fn write_file(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        file: &FileRecord,
        staged: &[StagedBlob],
    ) -> Result<()> {
        // Locks the totals before any row but the tenant's, which its foreign key shares: a trigger
        // counts the file there.
        self.insert_file_rows(tx, tenant, std::slice::from_ref(file))
            .await?;
        // The stream cannot be read twice. This happens only if a collector removes what
        // was just recorded as pending; the client can repeat the upload.
        match activate(tx, staged, file.created_at).await? {
            ActivationOutcome::Activated => Ok(()),
            ActivationOutcome::Collected => Err(Error::Busy),
        }
    }

    /// Inserts files within the tenant's quota. The totals must be locked, unless this is the
    /// first statement of the transaction, and the caller activates the contents.
    pub(crate) async fn insert_file_rows(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        files: &[FileRecord],
    ) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        for batch in files.chunks(BATCH_ROWS) {
            let sql = Sql::new(
                "INSERT INTO files (id, tenant, name, mime, size, digest, purpose, scope,
                                    downloadable, created_at, expires_at) VALUES ",
            );
            let rows = batch.iter().map(|file| file.to_row(tenant));
            tenant.map_unknown_tenant(tx.execute(sql.push_rows(rows)).await)?;
        }
        let bytes: i64 = files.iter().map(|file| file.size).sum();
        let added = StorageUsage {
            bytes: u64::try_from(bytes).unwrap_or_default(),
            files: files.len() as u64,
            ..StorageUsage::default()
        };
        self.check_quota_in_tx(tx, tenant, &added).await
    }

    /// Gets a file.
    pub async fn file(&self, tenant: &TenantId, id: &str) -> Result<FileRecord> {
        let sql = Sql::new(SELECT_FILES).push_bind("", tenant.as_str());
        let sql = sql.push_bind(" AND id = ", id);
        let row = self.db().fetch_optional(sql).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::File, id))?;
        let file = FileRecord::from_row(&row)?;
        if file.is_expired(Timestamp::now()) {
            return Err(Error::FileExpired { id: id.to_owned() });
        }
        Ok(file)
    }

    /// Those of these files that exist, in the order of the ids.
    pub async fn files_by_id(&self, tenant: &TenantId, ids: &[&str]) -> Result<Vec<FileRecord>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        if ids.len() > MAX_PAGE_ITEMS as usize {
            return Err(Error::Invalid {
                field: "ids",
                reason: format!(
                    "{} were requested; at most {MAX_PAGE_ITEMS} are allowed",
                    ids.len()
                ),
            });
        }
        let sql = select_unexpired(tenant)
            .push(" AND id IN ")
            .push_list(ids.iter().copied());
        let rows = self.db().fetch_all(sql).await?;
        let mut files = rows
            .iter()
            .map(FileRecord::from_row)
            .collect::<Result<Vec<_>>>()?;
        files.sort_by_key(|file| ids.iter().position(|id| *id == file.id));
        Ok(files)
    }

    /// A page of the tenant's files, by age, without expired ones.
    pub async fn list_files(
        &self,
        tenant: &TenantId,
        filter: &FileFilter,
        page: &PageRequest,
    ) -> Result<RecordPage<FileRecord>> {
        let mut sql = select_unexpired(tenant);
        if let Some(scope) = &filter.scope {
            sql = sql.push_bind(" AND scope = ", scope);
        }
        if let Some(purpose) = &filter.purpose {
            sql = sql.push_bind(" AND purpose = ", purpose);
        }
        let rows = self.db().fetch_all(paginate(sql, &ID_COLUMN, page)).await?;
        let files = rows
            .iter()
            .map(FileRecord::from_row)
            .collect::<Result<_>>()?;
        Ok(RecordPage::from_fetched(files, page, |file| {
            PageCursor::from_id(&file.id)
        }))
    }

    /// A file and its content. The caller checks whether it may be downloaded.
    pub async fn read_file(
        &self,
        tenant: &TenantId,
        id: &str,
    ) -> Result<(FileRecord, ContentStream)> {
        let file = self.file(tenant, id).await?;
        let content = self.blobs().open(file.digest).await?;
        Ok((file, content))
    }

    /// Deletes a file. Its content is collected later, if nothing else references it.
    pub async fn delete_file(&self, tenant: &TenantId, id: &str) -> Result<()> {
        let mut tx = self.db().begin().await?;
        quota::lock_totals(&mut tx, tenant).await?;
        let sql = Sql::new(
            "DELETE FROM files WHERE tenant = $1 AND id = $2 RETURNING name, size, digest",
        );
        let row = tx
            .fetch_optional(sql.bind(tenant.as_str()).bind(id))
            .await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::File, id))?;
        touch_blobs(&mut tx, &[row.text("digest")?], Timestamp::now()).await?;
        let change = AuditChange {
            tenant,
            action: AuditAction::FileDelete,
            object: id,
            before: Some(json!({ "name": row.text("name")?, "bytes": row.int("size")? })),
            after: None,
        };
        self.audit(&mut tx, change).await?;
        tx.commit().await
    }
}

fn select_unexpired(tenant: &TenantId) -> Sql {
    let sql = Sql::new(SELECT_FILES).push_bind("", tenant.as_str());
    sql.push_bind(
        " AND (expires_at IS NULL OR expires_at > ",
        Timestamp::now(),
    )
    .push(")")
}
