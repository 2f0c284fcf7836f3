//! What a store needs to know before it can be opened.

use std::path::PathBuf;
use std::time::Duration;

use crate::quota::StorageLimits;

/// Where everything is kept. [`StoreConfig::local`] needs only a folder.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// The folder for everything that stays on this machine.
    pub data_dir: PathBuf,
    /// `sqlite` (a file in the data folder) or `postgres://…`.
    pub database: String,
    /// `local` (a folder in the data folder) or the URL of an object store, for
    /// instance `s3://bucket/prefix`. Processes that share a database must share
    /// the blobs too.
    pub blobs: String,
    /// Settings of the object store by name, as its environment variables are
    /// called in lower case: `aws_access_key_id`, `aws_endpoint`, …
    pub blob_options: Vec<(String, String)>,
    /// Blobs up to this many bytes are kept in the database.
    pub inline_bytes: usize,
    /// How long [`resolve`](crate::Store::resolve) and
    /// [`authenticate`](crate::Store::authenticate) may answer from memory before
    /// they look for changes made by other processes. Changes made through the
    /// same store are seen at once.
    pub freshness: Duration,
    /// Bytes of loaded skills to keep in memory.
    pub cache_bytes: u64,
    /// The most that one tenant may keep.
    pub limits: StorageLimits,
    /// Content is refused while less than this many bytes are free on the file system,
    /// so that deletions can always be written. 0: no reserve.
    pub reserve_bytes: u64,
    /// Take an empty database for a new store although there is content of an earlier one.
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
            accept_empty: false,
        }
    }
}
