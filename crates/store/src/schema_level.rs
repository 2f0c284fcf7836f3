//! How far a database is migrated, for operators: opening a store would migrate it.

use crate::Store;
use crate::config::{DATABASE_FILE, StoreConfig};
use crate::db;
use crate::error::Result;

/// How far the schema of a database is migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaLevel {
    /// Migrations that were applied; `None` if there is no database yet.
    pub applied: Option<i64>,
    /// Migrations that this version of Prowess has.
    pub known: i64,
}

impl Store {
    /// Reads the migration level of a configured database, and changes nothing.
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub async fn schema_level(config: &StoreConfig) -> Result<SchemaLevel> {
        let applied = match config.database.as_str() {
            "sqlite" => db::sqlite_level(&config.data_dir.join(DATABASE_FILE)).await?,
            url => db::postgres_level(url).await?,
        };
        let known = db::known_migrations();
        Ok(SchemaLevel { applied, known })
    }
}
