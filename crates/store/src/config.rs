//! The configuration of a store.

use std::path::PathBuf;
use std::time::Duration;

use crate::quota::StorageLimits;

/// The SQLite database in the data directory.
pub(crate) const DATABASE_FILE: &str = "prowess.db";
/// The folder of large content in the data directory.
pub(crate) const BLOB_FOLDER: &str = "blobs";

/// Where everything is stored. [`StoreConfig::local`] needs only a folder.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// The data directory (database, blobs).
    pub data_dir: PathBuf,
    /// `sqlite` (a file in the data directory) or `postgres://…`.
    pub database: String,
    /// `local` (a folder in the data directory) or the URL of an object store, for
    /// example `s3://bucket/prefix`. Processes that share a database must also share the
    /// blobs.
    pub blobs: String,
    /// Options of the object store, named like its environment variables in lower case:
    /// `aws_access_key_id`, `aws_endpoint`, …
    pub blob_options: Vec<(String, String)>,
    /// Blobs up to this many bytes are stored in the database.
    pub inline_bytes: usize,
    /// How long [`resolve`](crate::Store::resolve) and
    /// [`authenticate`](crate::Store::authenticate) may use cached results before they
    /// check for changes made by other processes. Changes made through the same store
    /// take effect immediately.
    pub freshness: Duration,
    /// Bytes of loaded skills to cache in memory.
    pub cache_bytes: u64,
    /// Storage limits per tenant.
    pub limits: StorageLimits,
    /// New content is refused while less than this many bytes are free on the file
    /// system, so that deletions can always be written. 0: no reserve.
    pub reserve_bytes: u64,
    /// How long entries of the audit log are stored; for ever without it.
    pub audit_retention: Option<Duration>,
    /// Changes per hour that the keys of a tenant may make, of those that the audit log keeps and
    /// that count ([`AuditAction::is_counted`](crate::AuditAction::is_counted)).
    pub changes_per_hour: u32,
    /// Accept an empty database as a new store although content of an earlier one exists.
    pub accept_empty: bool,
}

impl StoreConfig {
    /// SQLite and local blobs in one folder, without limits.
    pub fn local(data_dir: impl Into<PathBuf>) -> Self {
        StoreConfig {
            data_dir: data_dir.into(),
            database: "sqlite".to_owned(),
            blobs: "local".to_owned(),
            blob_options: Vec::new(),
            inline_bytes: 64 << 10,
            freshness: Duration::from_secs(1),
            cache_bytes: 64 << 20,
            limits: StorageLimits::default(),
            reserve_bytes: 0,
            audit_retention: None,
            changes_per_hour: 100_000,
            accept_empty: false,
        }
    }
}
