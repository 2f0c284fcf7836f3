//! The audit log: who changed what, when and from where.
//!
//! A row is written in the transaction of the change it is about, so that neither exists
//! without the other. Rows are only ever added: triggers of the schema refuse everything else,
//! except that rows older than the retention are deleted. This module knows neither HTTP nor
//! routes: who acts is an [`AuditOrigin`], which a store carries ([`Store::audited`]).
//!
//! | module | owns |
//! |---|---|
//! | `action` | what can be done |
//! | `change_budget` | how many changes the keys of a tenant make |
//! | `event` | who, what and with which outcome |
//! | `write` | writing rows |
//! | `list` | reading them, with filters |
//! | `retention` | deleting old ones |
//!
//! [`Store::audited`]: crate::Store::audited

mod action;
mod change_budget;
mod event;
mod list;
mod retention;
mod write;

pub use action::AuditAction;
pub(crate) use change_budget::ChangeBudget;
pub use event::{AuditActor, AuditEvent, AuditOrigin, AuditOutcome};
pub use list::AuditFilter;
pub(crate) use write::AuditChange;
pub use write::NewAuditEvent;
