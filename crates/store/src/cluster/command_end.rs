//! The row of a container once its command has ended.

use crate::db::{Database, Sql};
use crate::journal::ContainerChange;

/// How a command ends.
pub(super) struct CommandEnd<'a> {
    pub(super) holder: &'a str,
    pub(super) worker: Option<&'a str>,
    pub(super) setup: Option<String>,
}

impl CommandEnd<'_> {
    /// Appends the statement that ends the command as one whose change is committed.
    pub(super) fn push_update(
        &self,
        database: Database,
        sql: Sql,
        change: &ContainerChange,
    ) -> Sql {
        sql.push(
            "UPDATE cluster_containers
             SET held_by = NULL, held_run = NULL, held_until = 0, used_at = ",
        )
        .push(database.clock())
        .push_bind(", committed_by = ", self.holder)
        .push_bind(", committed_generation = ", change.generation + 1)
        .push_bind(", worker = COALESCE(", self.worker)
        .push_bind(", worker), setup = COALESCE(", self.setup.as_deref())
        .push_bind(", setup) WHERE id = ", &change.container)
    }
}
