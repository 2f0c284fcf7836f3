//! Reads the log, with filters. Ids sort by time, so a time is a bound of ids.

use super::AuditEvent;
use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::id::{self, IdPrefix};
use crate::page::{PageCursor, PageRequest, RecordPage};
use crate::skills::{ID_COLUMN, paginate};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Which entries are listed.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter<'a> {
    /// Those of one tenant; `None` for all, which only the operator may see.
    pub tenant: Option<&'a TenantId>,
    /// Those from this time on.
    pub since: Option<Timestamp>,
    /// Those before this time.
    pub until: Option<Timestamp>,
    /// Those of an actor: the id or the name of a key, or a kind of actor.
    pub actor: Option<&'a str>,
    /// Those with this action, or all of a kind of object: `key.update`, `key`.
    pub action: Option<&'a str>,
    /// Those about this object, by its id.
    pub object: Option<&'a str>,
}

impl Store {
    /// A page of the log.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn audit_events(
        &self,
        filter: &AuditFilter<'_>,
        page: &PageRequest,
    ) -> Result<RecordPage<AuditEvent>> {
        let sql = filter.apply(Sql::new(AuditEvent::SELECT));
        let rows = self.db().fetch_all(paginate(sql, &ID_COLUMN, page)).await?;
        let events = rows.iter().map(AuditEvent::from_row);
        let events = events.collect::<Result<Vec<_>>>()?;
        Ok(RecordPage::from_fetched(
            events,
            page,
            |event: &AuditEvent| PageCursor::from_id(&event.id),
        ))
    }
}

impl AuditFilter<'_> {
    fn apply(&self, sql: Sql) -> Sql {
        let bound = |time| id::time_bound(IdPrefix::AuditEvent, time);
        // The first condition has no AND before it.
        let mut sql = match self.tenant {
            Some(tenant) => sql.push_bind("tenant = ", tenant.as_str()),
            None => sql.push("1 = 1"),
        };
        if let Some(since) = self.since {
            sql = sql.push_bind(" AND id >= ", bound(since));
        }
        if let Some(until) = self.until {
            sql = sql.push_bind(" AND id < ", bound(until));
        }
        if let Some(actor) = self.actor {
            sql = sql.push_bind(" AND (actor_id = ", actor);
            sql = sql.push_bind(" OR actor_name = ", actor);
            sql = sql.push_bind(" OR actor_kind = ", actor).push(")");
        }
        match self.action {
            Some(action) if action.contains('.') => {
                sql = sql.push_bind(" AND action = ", action);
            }
            // A dot sorts before a slash, so this is all that begins with the kind and a dot.
            Some(kind) => {
                sql = sql.push_bind(" AND action >= ", format!("{kind}."));
                sql = sql.push_bind(" AND action < ", format!("{kind}/"));
            }
            None => {}
        }
        match self.object {
            Some(object) => sql.push_bind(" AND object = ", object),
            None => sql,
        }
    }
}
