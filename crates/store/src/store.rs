//! The store itself: what its operations share.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::blob::Blobs;
use crate::blob::storage::Storage;
use crate::config::StoreConfig;
use crate::db::{Db, Engine, Sql};
use crate::emptied::Evidence;
use crate::error::{Error, Result};
use crate::growth::Growth;
use crate::keys::KeyMemory;
use crate::quota::StorageLimits;
use crate::readiness::Readiness;
use crate::resolve::Memory;
use crate::space::Space;

/// The SQLite database in the data folder.
pub(crate) const DATABASE_FILE: &str = "prowess.db";
/// The folder of large content in the data folder.
pub(crate) const BLOB_FOLDER: &str = "blobs";

/// Skills, versions, files, keys and tenants. Cheap to clone; clones share
/// everything.
#[derive(Clone)]
pub struct Store(Arc<Shared>);

struct Shared {
    db: Arc<Db>,
    blobs: Blobs,
    memory: Memory,
    keys: KeyMemory,
    limits: StorageLimits,
    space: Arc<Space>,
    readiness: Readiness,
    responses: Growth,
    conversations: Growth,
    chats: Growth,
    turns: Growth,
}

impl Store {
    /// Opens a store, and brings its schema up to date. Any number of processes
    /// may do so at once.
    pub async fn open(config: &StoreConfig) -> Result<Store> {
        let storage = match config.blobs.as_str() {
            // Made only when there is a database that knows of it.
            "local" => None,
            url => Some(Storage::url(url, &config.blob_options)?),
        };
        let evidence = Evidence::new(config, storage.as_ref());
        let db = Arc::new(open_database(config, &evidence).await?);
        let storage = match storage {
            Some(storage) => storage,
            None => Storage::folder(&config.data_dir.join(BLOB_FOLDER))?,
        };
        let space = Arc::new(Space::new(local_folders(config), config.reserve_bytes));
        Ok(Store(Arc::new(Shared {
            blobs: Blobs::new(db.clone(), storage, config.inline_bytes, Arc::clone(&space)),
            db,
            memory: Memory::new(config.freshness, config.cache_bytes),
            keys: KeyMemory::new(config.freshness),
            limits: config.limits,
            space,
            readiness: Readiness::default(),
            responses: Growth::default(),
            conversations: Growth::default(),
            chats: Growth::default(),
            turns: Growth::default(),
        })))
    }

    /// Which engine holds the rows.
    pub fn engine(&self) -> Engine {
        self.db().engine()
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        let sql = Sql::new("SELECT id FROM tenants LIMIT 1");
        self.db().one(sql).await.map(drop)
    }

    /// Ends all connections, after what is under way. Clones are closed too.
    pub async fn close(&self) {
        self.db().close().await;
    }

    pub(crate) fn db(&self) -> &Db {
        &self.0.db
    }

    pub(crate) fn blobs(&self) -> &Blobs {
        &self.0.blobs
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.0.memory
    }

    pub(crate) fn keys(&self) -> &KeyMemory {
        &self.0.keys
    }

    pub(crate) fn limits(&self) -> &StorageLimits {
        &self.0.limits
    }

    pub(crate) fn space(&self) -> &Space {
        &self.0.space
    }

    /// Of stored answers.
    pub(crate) fn response_growth(&self) -> &Growth {
        &self.0.responses
    }

    /// Of conversations.
    pub(crate) fn conversation_growth(&self) -> &Growth {
        &self.0.conversations
    }

    /// Of stored chat completions.
    pub(crate) fn chat_growth(&self) -> &Growth {
        &self.0.chats
    }

    /// Of turns kept for later.
    pub(crate) fn turn_growth(&self) -> &Growth {
        &self.0.turns
    }

    pub(crate) fn readiness(&self) -> &Readiness {
        &self.0.readiness
    }

    /// To be called after every commit that changes what a skill resolves to.
    pub(crate) fn changed(&self) {
        self.memory().new_era();
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("engine", &self.engine())
            .finish_non_exhaustive()
    }
}

/// The folders of this machine that rows and content go to.
fn local_folders(config: &StoreConfig) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if config.database == "sqlite" {
        folders.push(config.data_dir.clone());
    }
    if config.blobs == "local" {
        folders.push(config.data_dir.join(BLOB_FOLDER));
    }
    folders
}

async fn open_database(config: &StoreConfig, evidence: &Evidence<'_>) -> Result<Db> {
    match config.database.as_str() {
        "sqlite" => {
            let folder = &config.data_dir;
            std::fs::create_dir_all(folder).map_err(|error| Error::Config {
                setting: "data_dir",
                reason: format!("cannot make folder {}: {error}", folder.display()),
            })?;
            evidence.check_sqlite_file().await?;
            Db::open_sqlite(&folder.join(DATABASE_FILE), evidence).await
        }
        url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Db::open_postgres(url, evidence).await
        }
        // What was given may hold a password; it is not repeated.
        _ => Err(Error::Config {
            setting: "store.url",
            reason: "must be `sqlite` or begin with `postgres://`".to_owned(),
        }),
    }
}
