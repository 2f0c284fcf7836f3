//! Changes a container without a command: uploads, removed files, the setup.

use prowess_skill::Digest;
use serde_json::Value;

use crate::Store;
use crate::db::{DbRow, Sql, Tx};
use crate::error::Result;
use crate::journal::{ContainerChange, ContainerEntry, StagedContent};
use crate::quota::lock_totals;
use crate::tenant::TenantId;

use super::apply::StagedContents;
use super::create::setup_text;
use super::hold::ContainerUser;
use super::rows::{self, holding_run, live_command};

/// A change of a container without a command.
#[derive(Debug)]
pub struct ContainerUpdate<'a> {
    /// On whose behalf.
    pub user: ContainerUser<'a>,
    /// The generation that the change is based on; `None` if it can be applied to any.
    pub generation: Option<i64>,
    /// Files that are new or different.
    pub changed: Vec<ContainerEntry>,
    /// Paths of files that are gone.
    pub removed: Vec<String>,
    /// The digest of all files afterwards. Only for a change based on a generation.
    pub files_digest: Option<Digest>,
    /// The contents of changed files that the container did not have.
    pub contents: Vec<StagedContent>,
    /// A new setup of the container.
    pub setup: Option<&'a Value>,
}

/// What became of [`Store::change_container_files`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum UpdateContainerOutcome {
    /// The change is stored.
    Changed {
        /// The generation afterwards.
        generation: i64,
    },
    /// Nothing was stored: the container has another generation.
    Stale {
        /// Its generation.
        generation: i64,
    },
    /// Nothing was stored: a command or a kept run uses the container.
    Busy {
        /// The holder of that command, or the run.
        by: String,
    },
    /// The tenant has no such container.
    NotFound,
}

impl Store {
    /// Changes files of a container that no command uses, and its setup, in one transaction.
    /// Without changed and removed files, its generation stays.
    ///
    /// # Errors
    /// When the tenant stores too much, a changed file has a content that was not staged, or the
    /// store cannot be written.
    pub async fn change_container_files(
        &self,
        tenant: &TenantId,
        id: &str,
        update: ContainerUpdate<'_>,
    ) -> Result<UpdateContainerOutcome> {
        let ContainerUpdate {
            user,
            generation,
            changed,
            removed,
            files_digest,
            contents,
            setup,
        } = update;
        let setup = setup.map(setup_text).transpose()?;
        let staged = StagedContents::new(contents);
        let change = FileUpdate {
            user,
            generation,
            setup,
            change: ContainerChange {
                container: id.to_owned(),
                generation: generation.unwrap_or_default(),
                changed,
                removed,
                files_digest: generation.and(files_digest),
            },
        };
        let written = self.write_update(tenant, change, &staged).await;
        let stored = written
            .as_ref()
            .map(|written| matches!(written, UpdateContainerOutcome::Changed { .. }));
        self.finish_staged(staged, stored).await;
        written
    }

    /// Sets what a container of the tenant is set up with, whoever holds it. Returns false if
    /// there is no such container.
    ///
    /// # Errors
    /// When it is too large, or the store cannot be written.
    pub async fn set_cluster_setup(
        &self,
        tenant: &TenantId,
        id: &str,
        setup: &Value,
    ) -> Result<bool> {
        let sql = Sql::new("UPDATE cluster_containers SET setup = ")
            .push_bind("", setup_text(setup)?)
            .push_bind(" WHERE tenant = ", tenant.as_str())
            .push_bind(" AND id = ", id);
        Ok(self.db().execute(sql).await? == 1)
    }

    async fn write_update(
        &self,
        tenant: &TenantId,
        mut update: FileUpdate<'_>,
        staged: &StagedContents,
    ) -> Result<UpdateContainerOutcome> {
        let mut tx = self.db().begin().await?;
        // Always before other rows: see `quota`.
        lock_totals(&mut tx, tenant).await?;
        let id = update.change.container.clone();
        let Some(row) = rows::lock(&mut tx, tenant, &id).await? else {
            tx.rollback().await;
            return Ok(UpdateContainerOutcome::NotFound);
        };
        if let Some(by) = other_user(&mut tx, &row, update.user).await? {
            tx.rollback().await;
            return Ok(UpdateContainerOutcome::Busy { by });
        }
        let mut generation = row.int("generation")?;
        if update
            .generation
            .is_some_and(|based_on| based_on != generation)
        {
            tx.rollback().await;
            return Ok(UpdateContainerOutcome::Stale { generation });
        }
        if !update.change.changed.is_empty() || !update.change.removed.is_empty() {
            // Locked, so it cannot change before the commit.
            update.change.generation = generation;
            let change = &update.change;
            if !self.apply_change(&mut tx, tenant, change, staged).await? {
                tx.rollback().await;
                return Ok(UpdateContainerOutcome::Stale { generation });
            }
            generation += 1;
        }
        update.write_setup(&mut tx, &id).await?;
        tx.commit().await?;
        Ok(UpdateContainerOutcome::Changed { generation })
    }
}

/// The command or run that uses a container, if it is not the user's.
async fn other_user(tx: &mut Tx, row: &DbRow, user: ContainerUser<'_>) -> Result<Option<String>> {
    if let Some(command) = live_command(row)? {
        return Ok(Some(command));
    }
    let holding = holding_run(tx, row).await?;
    Ok(holding.filter(|holding| match user {
        ContainerUser::Anyone => true,
        ContainerUser::Run(run) => run != holding,
        ContainerUser::HoldingRun => false,
    }))
}

struct FileUpdate<'a> {
    user: ContainerUser<'a>,
    generation: Option<i64>,
    setup: Option<String>,
    change: ContainerChange,
}

impl FileUpdate<'_> {
    async fn write_setup(&self, tx: &mut Tx, id: &str) -> Result<()> {
        let sql = Sql::new("UPDATE cluster_containers SET used_at = ")
            .push(tx.database().clock())
            .push_bind(", setup = COALESCE(", self.setup.as_deref())
            .push_bind(", setup) WHERE id = ", id);
        tx.execute(sql).await.map(drop)
    }
}
