//! Reads and locks the rows of a container.

use crate::db::{Database, DbRow, Sql, Tx};
use crate::error::Result;
use crate::journal::is_held;
use crate::tenant::TenantId;

/// A container of the tenant. `held_by` and `held_epoch` are those of the run that holds it;
/// `command` and `command_run` those of the command, and `command_live` whether its hold has not
/// run out.
pub(super) fn select(database: Database, tenant: &TenantId, id: &str) -> Sql {
    select_columns(database)
        .push(" FROM sessions s JOIN cluster_containers c ON c.id = s.id WHERE ")
        .push_bind("s.tenant = ", tenant.as_str())
        .push_bind(" AND s.id = ", id)
}

fn select_columns(database: Database) -> Sql {
    Sql::new(
        "SELECT s.id, s.generation, s.files_digest, s.stored_bytes, s.held_by, s.held_epoch,
                c.created_at, c.used_at, c.setup, c.requirements, c.worker, c.committed_by,
                c.committed_generation, c.held_by AS command, c.held_run AS command_run,
                CAST(CASE WHEN c.held_by IS NOT NULL AND c.held_until > ",
    )
    .push(database.clock())
    .push(" THEN 1 ELSE 0 END AS BIGINT) AS command_live")
}

/// The same row, locked until the transaction ends.
pub(super) async fn lock(tx: &mut Tx, tenant: &TenantId, id: &str) -> Result<Option<DbRow>> {
    let sql = select(tx.database(), tenant, id).for_update();
    tx.fetch_optional(sql).await
}

/// The same row together with the totals of the tenant, and the bytes of those of the container's
/// files that are at some paths, as `replaced_bytes`.
///
/// PostgreSQL locks the rows of a statement table by table in the order of its FROM clause: the
/// totals first, as `quota` requires. Files are not locked: they are of the generation that is
/// read, or of an earlier one.
pub(super) fn select_with_totals(
    database: Database,
    tenant: &TenantId,
    id: &str,
    paths: &[&str],
) -> Sql {
    select_columns(database)
        .push_bind(
            ", (SELECT CAST(COALESCE(SUM(f.size), 0) AS BIGINT) FROM container_files f
                WHERE f.container = ",
            id,
        )
        .push(" AND f.path IN ")
        .push_list(paths.iter().copied())
        .push(
            ") AS replaced_bytes
             FROM tenant_storage t JOIN sessions s ON s.tenant = t.tenant
             JOIN cluster_containers c ON c.id = s.id WHERE ",
        )
        .push_bind("s.tenant = ", tenant.as_str())
        .push_bind(" AND s.id = ", id)
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
