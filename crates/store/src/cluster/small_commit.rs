//! The commit of a command that has changed a few small files, in two statements instead of eight; a
//! limit on the tenant's bytes, or a content that the container has already, takes one more each.
//!
//! All writers of a tenant wait for each other, from the first statement of a commit until the
//! database has written it to its disk. So each statement less lets a tenant's commands end sooner.

use crate::Store;
use crate::db::{Database, DbRow, Sql, Tx};
use crate::error::Result;
use crate::journal::{ContainerChange, entry_row};
use crate::quota::StorageUsage;
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::apply::{StagedContents, check_changed};
use super::command_end::CommandEnd;
use super::rows;

/// Files. Each number of files and of new contents is a statement of its own, and a connection keeps a
/// hundred prepared ones.
const MAX_FILES: usize = 4;

/// A commit that needs few statements.
pub(super) struct SmallCommit<'a> {
    tenant: &'a TenantId,
    end: &'a CommandEnd<'a>,
    change: &'a ContainerChange,
    staged: &'a StagedContents,
}

impl<'a> SmallCommit<'a> {
    /// `None` for a commit that removes or changes many files, has contents in the storage, or is
    /// one to SQLite, which has no such statement and answers without delay.
    pub(super) fn new(
        database: Database,
        tenant: &'a TenantId,
        end: &'a CommandEnd<'a>,
        change: &'a ContainerChange,
        staged: &'a StagedContents,
    ) -> Option<Self> {
        let is_small = database == Database::Postgres
            && change.removed.is_empty()
            && (1..=MAX_FILES).contains(&change.changed.len())
            && staged.are_small();
        is_small.then_some(SmallCommit {
            tenant,
            end,
            change,
            staged,
        })
    }

    /// The row of the container, locked after the totals of the tenant.
    pub(super) async fn lock(&self, tx: &mut Tx) -> Result<Option<DbRow>> {
        let changed = self.change.changed.iter();
        let paths: Vec<&str> = changed.map(|entry| entry.path.as_str()).collect();
        let id = &self.change.container;
        let sql = rows::select_with_totals(tx.database(), self.tenant, id, &paths);
        tx.fetch_optional(sql.for_update()).await
    }

    /// Everything that the commit changes, each table once.
    fn write(&self, database: Database, growth: i64) -> Result<Sql> {
        let change = self.change;
        let entries = change.changed.iter();
        let sql = Sql::new(
            "WITH changed AS (
             INSERT INTO container_files (container, path, digest, target, size, mode) VALUES ",
        )
        .push_rows(entries.map(|entry| entry_row(&change.container, entry)))
        .push(
            " ON CONFLICT (container, path) DO UPDATE SET digest = excluded.digest,
                  target = excluded.target, size = excluded.size, mode = excluded.mode
             ), ended AS (",
        );
        let sql = self.end.push_update(database, sql, change).push(")");
        let sql = self
            .staged
            .push_activation(sql)?
            .push(" UPDATE sessions SET generation = generation + 1, used_at = ")
            .push_bind("", Timestamp::now())
            .push_bind(
                ", files_digest = ",
                change.files_digest.map(|digest| digest.to_string()),
            );
        // A trigger counts the bytes of the tenant again whenever this is set.
        let sql = match growth {
            0 => sql,
            _ => sql.push_bind(", stored_bytes = stored_bytes + ", growth),
        };
        Ok(sql
            .push_bind(" WHERE tenant = ", self.tenant.as_str())
            .push_bind(" AND id = ", &change.container)
            .push_bind(" AND generation = ", change.generation))
    }
}

impl Store {
    /// Writes a commit whose container was locked by [`SmallCommit::lock`], which has returned
    /// `row`. Returns false if the container is of another generation.
    pub(super) async fn write_small(
        &self,
        tx: &mut Tx,
        row: &DbRow,
        commit: &SmallCommit<'_>,
    ) -> Result<bool> {
        let change = commit.change;
        if row.int("generation")? != change.generation {
            return Ok(false);
        }
        check_changed(tx, change, commit.staged).await?;
        let new_sizes = change.changed.iter().map(|entry| entry.size);
        let new_bytes = new_sizes.fold(0_i64, i64::saturating_add);
        let growth = new_bytes.saturating_sub(row.int("replaced_bytes")?);
        let sql = commit.write(tx.database(), growth)?;
        if tx.execute(sql).await? == 0 {
            return Ok(false);
        }
        let added = StorageUsage {
            bytes: u64::try_from(growth).unwrap_or_default(),
            ..StorageUsage::default()
        };
        if added.bytes > 0 {
            self.check_quota_in_tx(tx, commit.tenant, &added).await?;
        }
        Ok(true)
    }
}
