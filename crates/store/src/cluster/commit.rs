//! Commits the changes of a command as the container's next generation.

use serde_json::Value;

use crate::Store;
use crate::db::{DbRow, Sql, Tx};
use crate::error::{Error, Result};
use crate::journal::{ContainerChange, StagedContent};
use crate::quota::lock_totals;
use crate::tenant::TenantId;

use super::apply::StagedContents;
use super::command_end::CommandEnd;
use super::create::setup_text;
use super::rows::{self, holding_run, live_command};
use super::small_commit::SmallCommit;

/// The changes of a command that has ended.
#[derive(Debug)]
pub struct CommandCommit<'a> {
    /// The command, as given to [`Store::begin_command`].
    pub holder: &'a str,
    /// The worker that ran it.
    pub worker: Option<&'a str>,
    /// What it changed, from the generation that it started with.
    pub change: ContainerChange,
    /// The contents of changed files that the container did not have.
    pub contents: Vec<StagedContent>,
    /// A new setup of the container.
    pub setup: Option<&'a Value>,
}

/// What became of [`Store::commit_command`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum CommitCommandOutcome {
    /// The changes are the container's files, and the container is not held any more.
    Committed {
        /// The new generation.
        generation: i64,
    },
    /// Nothing was stored: somebody else has changed the container, or uses it.
    Lost,
    /// Nothing was stored: the container was deleted.
    NotFound,
}

impl Store {
    /// Commits the changes of a command and ends it, in one transaction.
    ///
    /// # Errors
    /// When the tenant stores too much, a changed file has a content that was not staged, or the
    /// store cannot be written. After an error of the database it may be unknown whether the
    /// changes were stored: [`Store::committed_generation`] tells.
    pub async fn commit_command(
        &self,
        tenant: &TenantId,
        commit: CommandCommit<'_>,
    ) -> Result<CommitCommandOutcome> {
        let CommandCommit {
            holder,
            worker,
            change,
            contents,
            setup,
        } = commit;
        let end = CommandEnd {
            holder,
            worker,
            setup: setup.map(setup_text).transpose()?,
        };
        let staged = StagedContents::new(contents);
        let mut committed = self.write_commit(tenant, &end, &change, &staged).await;
        if matches!(committed, Err(Error::Database(_))) {
            // Only its answer may have been lost.
            let container = &change.container;
            let generation = self.committed_generation(tenant, container, holder).await;
            if let Ok(Some(generation)) = generation {
                committed = Ok(CommitCommandOutcome::Committed { generation });
            }
        }
        let stored = committed
            .as_ref()
            .map(|committed| matches!(committed, CommitCommandOutcome::Committed { .. }));
        self.finish_staged(staged, stored).await;
        committed
    }

    /// The generation that a command has made, if its changes were committed. Known until the
    /// changes of another command are.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn committed_generation(
        &self,
        tenant: &TenantId,
        id: &str,
        holder: &str,
    ) -> Result<Option<i64>> {
        let sql = rows::select(self.database(), tenant, id);
        let row = self.db().fetch_optional(sql).await?;
        match row {
            Some(row) if row.optional_text("committed_by")?.as_deref() == Some(holder) => {
                row.optional_int("committed_generation")
            }
            _ => Ok(None),
        }
    }

    async fn write_commit(
        &self,
        tenant: &TenantId,
        end: &CommandEnd<'_>,
        change: &ContainerChange,
        staged: &StagedContents,
    ) -> Result<CommitCommandOutcome> {
        let mut tx = self.db().begin().await?;
        let small = SmallCommit::new(tx.database(), tenant, end, change, staged);
        // Always before other rows: see `quota`.
        let row = match &small {
            Some(small) => small.lock(&mut tx).await?,
            None => {
                lock_totals(&mut tx, tenant).await?;
                rows::lock(&mut tx, tenant, &change.container).await?
            }
        };
        let Some(row) = row else {
            tx.rollback().await;
            return Ok(CommitCommandOutcome::NotFound);
        };
        let mut is_written = may_commit(&mut tx, &row, end.holder).await?;
        if is_written {
            is_written = match &small {
                Some(small) => self.write_small(&mut tx, &row, small).await?,
                None => self.write_any(&mut tx, tenant, end, change, staged).await?,
            };
        }
        if !is_written {
            tx.rollback().await;
            return Ok(CommitCommandOutcome::Lost);
        }
        tx.commit().await?;
        Ok(CommitCommandOutcome::Committed {
            generation: change.generation + 1,
        })
    }

    /// Returns false if the container is of another generation.
    async fn write_any(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        end: &CommandEnd<'_>,
        change: &ContainerChange,
        staged: &StagedContents,
    ) -> Result<bool> {
        if !self.apply_change(tx, tenant, change, staged).await? {
            return Ok(false);
        }
        let sql = end.push_update(tx.database(), Sql::new(""), change);
        tx.execute(sql).await?;
        Ok(true)
    }
}

/// Whether neither another command nor a run that this one is not part of holds the container.
/// A hold that has run out, or was lost, is no reason to refuse: the generation decides.
async fn may_commit(tx: &mut Tx, row: &DbRow, holder: &str) -> Result<bool> {
    let is_holder = row.optional_text("command")?.as_deref() == Some(holder);
    if !is_holder && live_command(row)?.is_some() {
        return Ok(false);
    }
    Ok(match holding_run(tx, row).await? {
        Some(run) => is_holder && row.optional_text("command_run")? == Some(run),
        None => true,
    })
}
