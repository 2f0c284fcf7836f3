//! Detects a database that was lost while its content still exists.
//!
//! If it were accepted as a new store, all data would silently be gone, and a restored
//! backup would find another database in its place. So it is refused unless the operator
//! confirms it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::blob::storage::ObjectStorage;
use crate::config::{BLOB_FOLDER, DATABASE_FILE, StoreConfig};
use crate::error::{Error, Result};

/// Another process may be creating the database; that takes far less than this.
const CREATION_TIMEOUT: Duration = Duration::from_secs(2);
const CREATION_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Depth of objects in the content folder: a shard, and the object.
const BLOB_DEPTH: usize = 2;

/// Where content of an earlier database may be.
pub(crate) struct EarlierContent<'a> {
    config: &'a StoreConfig,
    /// `None`: the folder in the data directory.
    storage: Option<&'a ObjectStorage>,
}

impl<'a> EarlierContent<'a> {
    pub(crate) fn new(config: &'a StoreConfig, storage: Option<&'a ObjectStorage>) -> Self {
        EarlierContent { config, storage }
    }

    /// Whether there is content although the database has none. Called only if the
    /// database is empty: an object store need not be reachable for a server to start.
    async fn is_present(&self) -> Result<bool> {
        if self.config.accept_empty {
            return Ok(false);
        }
        match self.storage {
            Some(storage) => storage.has_objects().await,
            None => {
                let folder = self.config.data_dir.join(BLOB_FOLDER);
                Ok(has_files(&folder, BLOB_DEPTH))
            }
        }
    }

    /// Refuses a database without a schema. The caller holds the migration lock, so no
    /// other process is about to create one.
    pub(crate) async fn refuse_if_present(&self) -> Result<()> {
        if self.is_present().await? {
            return Err(Error::DatabaseLost {
                found: "the database has no tables".to_owned(),
            });
        }
        Ok(())
    }

    /// Refuses an SQLite file that is missing or has 0 bytes, before a new database is
    /// created in its place.
    pub(crate) async fn check_sqlite_file(&self) -> Result<()> {
        let folder = &self.config.data_dir;
        let file = folder.join(DATABASE_FILE);
        let found = match file_size(&file) {
            None => format!("the database {} is missing", file.display()),
            Some(0) => format!("the database {} has 0 bytes", file.display()),
            Some(_) => return Ok(()),
        };
        if self.config.accept_empty {
            return Ok(());
        }
        let log = folder.join(format!("{DATABASE_FILE}-wal"));
        let has_log = file_size(&log).is_some_and(|bytes| bytes > 0);
        // At the first start the content folder is created after the database.
        let has_folder = file.exists() && folder.join(BLOB_FOLDER).is_dir();
        if (has_log || has_folder || self.is_present().await?)
            && !is_filled_by_other_process(&file).await
        {
            return Err(Error::DatabaseLost { found });
        }
        Ok(())
    }
}

async fn is_filled_by_other_process(file: &Path) -> bool {
    let steps = CREATION_TIMEOUT.as_millis() / CREATION_POLL_INTERVAL.as_millis();
    for _ in 0..steps {
        tokio::time::sleep(CREATION_POLL_INTERVAL).await;
        if file_size(file).is_some_and(|bytes| bytes > 0) {
            return true;
        }
    }
    false
}

fn file_size(file: &Path) -> Option<u64> {
    fs::metadata(file).ok().map(|found| found.len())
}

/// Whether a folder or its subfolders contain any file.
fn has_files(folder: &Path, depth: usize) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => depth > 1 && has_files(&entry.path(), depth - 1),
        Ok(kind) => kind.is_file(),
        Err(_) => false,
    })
}
