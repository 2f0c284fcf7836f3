//! Writes entries: in the transaction of a change, or alone when there was none.

use std::sync::Arc;

use serde_json::Value;

use super::event::truncate;
use super::{AuditAction, AuditActor, AuditOrigin, AuditOutcome};
use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::Result;
use crate::id::{self, IdPrefix};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// A change that a transaction has made.
pub(crate) struct AuditChange<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) action: AuditAction,
    pub(crate) object: &'a str,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

/// An attempt that changed nothing in the store, or that was not made by a transaction of the
/// store.
#[derive(Debug, Clone)]
pub struct NewAuditEvent<'a> {
    /// Whose objects it is about.
    pub tenant: &'a TenantId,
    /// What was attempted.
    pub action: AuditAction,
    /// The id of what it was attempted on, as the client sent it; it is cut if it is long.
    pub object: Option<&'a str>,
    /// How it ended.
    pub outcome: AuditOutcome,
}

impl Store {
    /// The same store; what is changed through it is written to the audit log, as done by this
    /// origin. Changes through a store without an origin are not in the log.
    #[must_use]
    pub fn audited(&self, origin: AuditOrigin) -> Store {
        self.with_origin(Some(Arc::new(origin)))
    }

    /// Writes an entry of its own. One of a change counts for its tenant: who makes it asks
    /// [`Store::check_changes`] before.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn record_audit_event(
        &self,
        origin: &AuditOrigin,
        event: &NewAuditEvent<'_>,
    ) -> Result<()> {
        let object = event.object.map(truncate);
        let entry = Entry {
            origin,
            tenant: event.tenant,
            action: event.action,
            object: object.as_deref(),
            outcome: &event.outcome,
            before: None,
            after: None,
        };
        self.db().execute(entry.insert()?).await?;
        if event.outcome == AuditOutcome::Done && counts(origin, event.action) {
            self.change_budget().count(event.tenant);
        }
        Ok(())
    }

    /// Writes an entry in the transaction of its change, if anybody is named as its origin.
    ///
    /// # Errors
    /// When the store cannot be written; when the change can wait, and its tenant has made too many,
    /// or it adds something while less than the reserve is free.
    pub(crate) async fn audit(&self, tx: &mut Tx, change: AuditChange<'_>) -> Result<()> {
        let Some(origin) = self.origin() else {
            return Ok(());
        };
        // The log only grows.
        if change.action.needs_space() {
            self.disk_space().check(0)?;
        }
        if counts(origin, change.action) {
            self.change_budget().take(change.tenant)?;
        }
        let entry = Entry {
            origin,
            tenant: change.tenant,
            action: change.action,
            object: Some(change.object),
            outcome: &AuditOutcome::Done,
            before: change.before,
            after: change.after,
        };
        tx.execute(entry.insert()?).await.map(drop)
    }
}

/// Whether a change counts for its tenant: only those of keys do.
fn counts(origin: &AuditOrigin, action: AuditAction) -> bool {
    action.is_counted() && matches!(origin.actor(), AuditActor::Key { .. })
}

/// A row of the log.
struct Entry<'a> {
    origin: &'a AuditOrigin,
    tenant: &'a TenantId,
    action: AuditAction,
    object: Option<&'a str>,
    outcome: &'a AuditOutcome,
    before: Option<Value>,
    after: Option<Value>,
}

impl Entry<'_> {
    fn insert(&self) -> Result<Sql> {
        let now = Timestamp::now();
        let text = |state: &Option<Value>| state.as_ref().map(Value::to_string);
        let sql = Sql::new(
            "INSERT INTO audit_log (id, tenant, at, actor_kind, actor_id, actor_name, action,
                 object, outcome, error_code, before_json, after_json, peer, request_id,
                 user_agent)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        );
        let actor = self.origin.actor();
        Ok(sql
            .bind(id::new_id(IdPrefix::AuditEvent, now)?)
            .bind(self.tenant.as_str())
            .bind(now)
            .bind(actor.kind())
            .bind(actor.id())
            .bind(actor.name())
            .bind(self.action.as_str())
            .bind(self.object)
            .bind(self.outcome.as_str())
            .bind(self.outcome.code())
            .bind(text(&self.before))
            .bind(text(&self.after))
            .bind(self.origin.peer())
            .bind(self.origin.request())
            .bind(self.origin.user_agent()))
    }
}
