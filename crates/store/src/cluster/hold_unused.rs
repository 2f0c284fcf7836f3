//! Reserves a container that nobody uses, in one statement.
//!
//! A server then answers once, with the skills, instead of six times. The statement sees skills
//! and runs as they were when it began, even if it had to wait for a row, so it leaves every
//! container to [`Store::begin_command`] that a run other than the command's own may hold.

use crate::Store;
use crate::db::{Database, Sql};
use crate::error::Result;
use crate::journal::micros;
use crate::tenant::TenantId;

use super::container::ClusterContainer;
use super::hold::{ContainerUser, NewHold};
use super::skills::parse_skills;

/// What [`ClusterContainer::from_row`] and [`parse_skills`] read.
const RETURNING: &str = "RETURNING s.id, s.generation, s.files_digest, s.stored_bytes,
     c.created_at, c.used_at, c.setup, c.requirements, c.worker,
     (SELECT CAST(json_agg(json_build_array(
             f.folder, f.skill_digest, f.path, f.digest, f.size, f.executable)
             ORDER BY f.folder, f.path) AS TEXT)
      FROM container_skill_files f WHERE f.container = c.id) AS skill_files";

impl Store {
    /// Reserves a container for a command. None if somebody may use it, if there is none, or if
    /// the database is SQLite, which has no such statement and answers without delay.
    pub(super) async fn hold_unused(
        &self,
        tenant: &TenantId,
        id: &str,
        new: NewHold<'_>,
    ) -> Result<Option<ClusterContainer>> {
        if self.database() == Database::Sqlite {
            return Ok(None);
        }
        let sql = hold(self.database(), tenant, id, new);
        let rows = self.db().write_unsynced(sql, RETURNING).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let mut container = ClusterContainer::from_row(row)?;
        if let Some(files) = row.optional_text("skill_files")? {
            container.skills = parse_skills(&files)?;
        }
        Ok(Some(container))
    }
}

/// Locks the rows in the order of [`lock`](super::rows::lock).
fn hold(database: Database, tenant: &TenantId, id: &str, new: NewHold<'_>) -> Sql {
    let run = match new.user {
        ContainerUser::Run(run) => Some(run),
        ContainerUser::Anyone | ContainerUser::HoldingRun => None,
    };
    let clock = database.clock();
    Sql::new(
        "WITH s AS (SELECT id, generation, files_digest, stored_bytes, held_by FROM sessions
             WHERE tenant = ",
    )
    .push_bind("", tenant.as_str())
    .push_bind(" AND id = ", id)
    .push(" FOR UPDATE) UPDATE cluster_containers c SET held_by = ")
    .push_bind("", new.holder)
    .push_bind(", held_run = ", run)
    .push(", used_at = ")
    .push(clock)
    .push(", held_until = ")
    .push(clock)
    .push_bind(" + ", micros(new.hold_for))
    .push(" FROM s WHERE c.id = s.id AND (s.held_by IS NULL OR s.held_by = ")
    .push_bind("", run)
    .push(") AND (c.held_by IS NULL OR c.held_until <= ")
    .push(clock)
    .push_bind(" OR c.held_by = ", new.holder)
    .push_bind(" OR c.held_run = ", run)
    .push(")")
}
