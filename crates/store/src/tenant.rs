//! Tenants. Everything in the store belongs to one tenant, and every operation names its
//! tenant.

use std::fmt;

use crate::Store;
use crate::db::{DbRow, Sql};
use crate::error::{Error, ResourceKind, Result};
use crate::time::Timestamp;

/// The id of a tenant: 1 to 64 lower-case letters, digits, `-`, `_`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantId(String);

impl TenantId {
    /// Validates an id.
    pub fn new(id: impl Into<String>) -> Result<Self> {
        let id = id.into();
        let letter = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        if id.is_empty() || id.len() > 64 || !id.bytes().all(letter) {
            return Err(Error::Invalid {
                field: "tenant",
                reason: format!(
                    "`{}` is not 1 to 64 lower-case letters, digits, `-` or `_`",
                    id.escape_debug()
                ),
            });
        }
        Ok(TenantId(id))
    }

    /// The tenant of installations that need only one. It always exists.
    pub fn default_tenant() -> Self {
        TenantId("default".to_owned())
    }

    /// Maps a foreign key violation to "tenant not found".
    pub(crate) fn map_unknown_tenant<T>(&self, written: Result<T>) -> Result<T> {
        written.map_err(|error| match error {
            Error::Database(sqlx::Error::Database(cause)) if cause.is_foreign_key_violation() => {
                Error::not_found(ResourceKind::Tenant, self.as_str())
            }
            other => other,
        })
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A stored tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantRecord {
    /// Its id.
    pub id: TenantId,
    /// Its display name.
    pub name: String,
    /// When it was created.
    pub created_at: Timestamp,
}

impl TenantRecord {
    pub(crate) fn from_row(row: &DbRow) -> Result<Self> {
        Ok(TenantRecord {
            id: TenantId(row.text("id")?),
            name: row.text("name")?,
            created_at: row.time("created_at")?,
        })
    }
}

impl Store {
    /// Creates a tenant if it does not exist. An existing one keeps its name.
    pub async fn ensure_tenant(&self, id: &TenantId, name: &str) -> Result<()> {
        let sql = Sql::new(
            "INSERT INTO tenants (id, name, created_at) VALUES ($1, $2, $3)
             ON CONFLICT (id) DO NOTHING",
        );
        let sql = sql.bind(id.as_str()).bind(name).bind(Timestamp::now());
        self.db().execute(sql).await.map(drop)
    }

    /// All tenants, by id.
    pub async fn tenants(&self) -> Result<Vec<TenantRecord>> {
        let sql = Sql::new("SELECT id, name, created_at FROM tenants ORDER BY id");
        let rows = self.db().fetch_all(sql).await?;
        rows.iter().map(TenantRecord::from_row).collect()
    }
}
