//! Deletes containers that were not used for long, or are too old.

use std::time::Duration;

use crate::Store;
use crate::db::{Database, Sql};
use crate::error::Result;
use crate::journal::{and_no_run_holds, micros};
use crate::quota::lock_totals;
use crate::tenant::TenantId;

use super::delete::remove;

impl Store {
    /// Deletes up to `limit` containers, of all tenants, that were not used for the time `idle`,
    /// or were created before the time `life`. One that a command or a kept run holds stays. Any
    /// number of servers may do so at the same time. Returns the containers that were deleted.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn expire_cluster_containers(
        &self,
        idle: Duration,
        life: Duration,
        limit: u32,
    ) -> Result<Vec<(TenantId, String)>> {
        let mut expired = Vec::new();
        for column in [AgeColumn::UsedAt, AgeColumn::CreatedAt] {
            let age = match column {
                AgeColumn::UsedAt => idle,
                AgeColumn::CreatedAt => life,
            };
            let left = i64::from(limit).saturating_sub_unsigned(expired.len() as u64);
            let sql = select_old(self.database(), column, age).push_bind(" LIMIT ", left);
            for row in self.db().fetch_all(sql).await? {
                let tenant = TenantId::new(row.text("tenant")?)?;
                let id = row.text("id")?;
                if self.expire_container(&tenant, &id, column, age).await? {
                    expired.push((tenant, id));
                }
            }
        }
        Ok(expired)
    }

    /// Deletes a container if it is still too old and nobody holds it.
    async fn expire_container(
        &self,
        tenant: &TenantId,
        id: &str,
        column: AgeColumn,
        age: Duration,
    ) -> Result<bool> {
        let mut tx = self.db().begin().await?;
        // Always before other rows: see `quota`.
        lock_totals(&mut tx, tenant).await?;
        // What another server has locked is in use, or is being deleted.
        let sql = select_old_one(tx.database(), column, age, id).for_update_skip_locked();
        if tx.fetch_optional(sql).await?.is_none() {
            tx.rollback().await;
            return Ok(false);
        }
        remove(&mut tx, id).await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// What an age is measured from.
#[derive(Debug, Clone, Copy)]
pub(super) enum AgeColumn {
    UsedAt,
    CreatedAt,
}

impl AgeColumn {
    const fn name(self) -> &'static str {
        match self {
            AgeColumn::UsedAt => "c.used_at",
            AgeColumn::CreatedAt => "c.created_at",
        }
    }
}

/// Containers of an age that nobody holds, the oldest first.
pub(super) fn select_old(database: Database, column: AgeColumn, age: Duration) -> Sql {
    let sql = select(database, column, age);
    and_no_run_holds(sql, database)
        .push(" ORDER BY ")
        .push(column.name())
}

/// The same for one container.
fn select_old_one(database: Database, column: AgeColumn, age: Duration, id: &str) -> Sql {
    let sql = select(database, column, age).push_bind(" AND s.id = ", id);
    and_no_run_holds(sql, database)
}

fn select(database: Database, column: AgeColumn, age: Duration) -> Sql {
    let clock = database.clock();
    Sql::new(
        "SELECT c.id, c.tenant FROM sessions s JOIN cluster_containers c ON c.id = s.id
         WHERE c.held_until <= ",
    )
    .push(clock)
    .push(" AND ")
    .push(column.name())
    .push(" <= ")
    .push(clock)
    .push_bind(" - ", micros(age))
}
