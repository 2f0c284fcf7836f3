//! The audit log of the server's routes: which of them are in it, and who sent a request.
//!
//! A change in the store is written to the log in its own transaction: its handler uses the
//! [`AuditedStore`]. The middleware writes what no transaction can: attempts that were refused
//! or failed, and changes outside of the store. This module knows no handler.
//!
//! | module | owns |
//! |---|---|
//! | `rules` | the action of each route that changes something, or why it has none |
//! | `origin` | who sent a request, and from where |
//! | `middleware` | entries that no transaction writes |
//! | `refusal_budget` | how many refused attempts of a tenant are written |

pub(crate) mod middleware;
pub(crate) mod origin;
pub(crate) mod refusal_budget;
pub(crate) mod rules;

pub(crate) use middleware::{ChangedElsewhere, ChangedNothing, LimitedChange};
pub(crate) use origin::AuditedStore;
