//! A database that was lost while the content it knew of is still there.
//!
//! Taken for a new store, everything in it would silently be gone, and a restored
//! backup would find a database in its place. So it is refused, unless the operator
//! says that it is meant.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::blob::storage::ObjectStorage;
use crate::config::StoreConfig;
use crate::error::{Error, Result};
use crate::store::{BLOB_FOLDER, DATABASE_FILE};

/// Another process may be making the database right now; it takes far less than this.
const CREATION_TIMEOUT: Duration = Duration::from_secs(2);
const CREATION_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How deep objects lie in the folder of content: a shard, and the object.
const BLOB_DEPTH: usize = 2;

/// Where content of an earlier database may lie.
pub(crate) struct EarlierContent<'a> {
    config: &'a StoreConfig,
    /// Nothing: the folder in the data folder.
    storage: Option<&'a ObjectStorage>,
}

impl<'a> EarlierContent<'a> {
    pub(crate) fn new(config: &'a StoreConfig, storage: Option<&'a ObjectStorage>) -> Self {
        EarlierContent { config, storage }
    }

    /// Whether there is content although the database knows of none. Asked only when
    /// the database is empty: an object store need not answer for a server to start.
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

    /// Refuses a database without a schema. Whoever asks holds the lock under which
    /// schemas are made, so no other process is about to make one.
    pub(crate) async fn refuse_if_present(&self) -> Result<()> {
        if self.is_present().await? {
            return Err(Error::DatabaseLost {
                found: "the database has no tables".to_owned(),
            });
        }
        Ok(())
    }

    /// Refuses an SQLite file that is missing or has 0 bytes, before a database would
    /// be made in its place.
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
        // The folder of content is made after the database, at the first start.
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

/// Whether there is any file in a folder or in the folders in it.
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
