//! Reads and locks the rows of a container.

use crate::db::{Database, DbRow, Sql, Tx};
use crate::error::Result;
use crate::journal::is_held;
use crate::tenant::TenantId;

/// A container of the tenant. `held_by` and `held_epoch` are those of the run that holds it;
/// `command` and `command_run` those of the command, and `command_live` whether its hold has not
/// run out.
pub(super) fn select(database: Database, tenant: &TenantId, id: &str) -> Sql {
    Sql::new(
        "SELECT s.id, s.generation, s.files_digest, s.stored_bytes, s.held_by, s.held_epoch,
                c.created_at, c.used_at, c.setup, c.requirements, c.worker, c.committed_by,
                c.committed_generation, c.held_by AS command, c.held_run AS command_run,
                CAST(CASE WHEN c.held_by IS NOT NULL AND c.held_until > ",
    )
    .push(database.clock())
    .push(
        " THEN 1 ELSE 0 END AS BIGINT) AS command_live
         FROM sessions s JOIN cluster_containers c ON c.id = s.id WHERE ",
    )
    .push_bind("s.tenant = ", tenant.as_str())
    .push_bind(" AND s.id = ", id)
}

/// The same row, locked until the transaction ends.
pub(super) async fn lock(tx: &mut Tx, tenant: &TenantId, id: &str) -> Result<Option<DbRow>> {
    let sql = select(tx.database(), tenant, id).for_update();
    tx.fetch_optional(sql).await
}

/// The command that holds the container of a row now, if one does.
pub(super) fn live_command(row: &DbRow) -> Result<Option<String>> {
    if row.flag("command_live")? {
        row.optional_text("command")
    } else {
        Ok(None)
    }
}

/// The run that holds the container of a row now, if one does.
pub(super) async fn holding_run(tx: &mut Tx, row: &DbRow) -> Result<Option<String>> {
    if is_held(tx, row).await? {
        row.optional_text("held_by")
    } else {
        Ok(None)
    }
}
