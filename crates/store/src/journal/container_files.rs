//! The files of a container by generation.
//!
//! A command's changes become the container's files in the transaction that commits its step.
//! Every commit names the generation it started from, so that two runs can never mix their
//! files, whatever else fails.

use prowess_skill::Digest;

use crate::Store;
use crate::blob::parse_digest;
use crate::db::{DbRow, Sql, SqlValue, Tx};
use crate::error::{Error, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Rows per statement.
const BATCH_ROWS: usize = 200;
/// Files of a container.
const MAX_ENTRIES: usize = 100_000;

/// The files of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerFiles {
    /// How often they were changed.
    pub generation: i64,
    /// All of them, by path.
    pub entries: Vec<ContainerEntry>,
}

/// A file of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerEntry {
    /// Its path below the data folder.
    pub path: String,
    /// Its content.
    pub content: EntryContent,
    /// Its size in bytes.
    pub size: i64,
    /// Its permissions.
    pub mode: i64,
}

/// What a file of a container is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryContent {
    /// A regular file.
    File(Digest),
    /// A symbolic link with this target, which is never followed outside of the sandbox.
    Link(String),
    /// A directory. What it contains are entries of their own.
    Directory,
}

/// What a command changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerChange {
    /// The container.
    pub container: String,
    /// The generation that the command started from.
    pub generation: i64,
    /// Files that are new or different.
    pub changed: Vec<ContainerEntry>,
    /// Paths of files that are gone.
    pub removed: Vec<String>,
    /// The digest of all files afterwards, if it is known.
    pub files_digest: Option<Digest>,
}

impl Store {
    /// The files of a recorded container of the tenant.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn container_files(
        &self,
        tenant: &TenantId,
        container: &str,
    ) -> Result<Option<ContainerFiles>> {
        // One statement, so that generation and files are of the same moment.
        let sql = Sql::new(
            "SELECT s.generation, f.path, f.digest, f.target, f.size, f.mode
             FROM sessions s LEFT JOIN container_files f ON f.container = s.id
             WHERE s.tenant = $1 AND s.id = $2 ORDER BY f.path",
        );
        let sql = sql.bind(tenant.as_str()).bind(container);
        let rows = self.db().fetch_all(sql).await?;
        let Some(first) = rows.first() else {
            return Ok(None);
        };
        let entries = rows.iter().filter_map(|row| entry(row).transpose());
        Ok(Some(ContainerFiles {
            generation: first.int("generation")?,
            entries: entries.collect::<Result<_>>()?,
        }))
    }
}

/// Applies a change within the transaction of its step or command. Returns by how many bytes the
/// files have grown; `None` if the container is no longer of the generation that the change is
/// based on.
pub(crate) async fn commit_container(
    tx: &mut Tx,
    tenant: &TenantId,
    change: &ContainerChange,
) -> Result<Option<i64>> {
    if change.changed.len() + change.removed.len() > MAX_ENTRIES {
        return Err(Error::Invalid {
            field: "container",
            reason: format!("more than {MAX_ENTRIES} files were changed at once"),
        });
    }
    let sql = Sql::new("UPDATE sessions SET generation = generation + 1, used_at = ")
        .push_bind("", Timestamp::now())
        .push_bind(
            ", files_digest = ",
            change.files_digest.map(|digest| digest.to_string()),
        )
        .push_bind(" WHERE tenant = ", tenant.as_str())
        .push_bind(" AND id = ", &change.container)
        .push_bind(" AND generation = ", change.generation);
    if tx.execute(sql).await? == 0 {
        return Ok(None);
    }
    let new_sizes = change.changed.iter().map(|entry| entry.size);
    let mut growth = new_sizes.fold(0_i64, i64::saturating_add);
    let changed = change.changed.iter().map(|entry| &entry.path);
    let paths: Vec<&String> = change.removed.iter().chain(changed).collect();
    for batch in paths.chunks(BATCH_ROWS) {
        let sql = Sql::new("DELETE FROM container_files WHERE container = ")
            .push_bind("", &change.container)
            .push(" AND path IN ")
            .push_list(batch.iter().copied())
            .push(" RETURNING size");
        for row in tx.fetch_all(sql).await? {
            growth = growth.saturating_sub(row.int("size")?);
        }
    }
    for batch in change.changed.chunks(BATCH_ROWS) {
        let sql = Sql::new(
            "INSERT INTO container_files (container, path, digest, target, size, mode) VALUES ",
        );
        let rows = batch.iter();
        let rows = rows.map(|entry| entry_row(&change.container, entry));
        tx.execute(sql.push_rows(rows)).await?;
    }
    if growth != 0 {
        let sql = Sql::new("UPDATE sessions SET stored_bytes = stored_bytes + ")
            .push_bind("", growth)
            .push_bind(" WHERE id = ", &change.container);
        tx.execute(sql).await?;
    }
    Ok(Some(growth))
}

/// The values of a file's row: container, path, digest, target, size and mode.
pub(crate) fn entry_row(container: &str, entry: &ContainerEntry) -> Vec<SqlValue> {
    let (digest, target) = match &entry.content {
        EntryContent::File(digest) => (Some(digest.to_string()), None),
        EntryContent::Link(target) => (None, Some(target.clone())),
        EntryContent::Directory => (None, None),
    };
    vec![
        container.into(),
        entry.path.as_str().into(),
        digest.into(),
        target.into(),
        entry.size.into(),
        entry.mode.into(),
    ]
}

/// The file of a row; `None` if the container is empty.
fn entry(row: &DbRow) -> Result<Option<ContainerEntry>> {
    let Some(path) = row.optional_text("path")? else {
        return Ok(None);
    };
    let content = match (row.optional_text("digest")?, row.optional_text("target")?) {
        (Some(digest), _) => EntryContent::File(parse_digest(&digest)?),
        (None, Some(target)) => EntryContent::Link(target),
        (None, None) => EntryContent::Directory,
    };
    Ok(Some(ContainerEntry {
        path,
        content,
        size: row.int("size")?,
        mode: row.int("mode")?,
    }))
}
