//! Several deployments of one model: which one a request goes to, when one is passed over, and
//! what is tried when all have failed.
//!
//! A route with one deployment and plain fallbacks has no [`plan::RoutePlan`], and nothing here
//! runs for it. Otherwise [`walk::Walk`] leads a request through the targets of its route; the
//! route makes the calls and reports their outcome. Nothing here sends anything.
//!
//! | module | owns |
//! |---|---|
//! | `choose` | the choice among deployments, without clocks and shared state |
//! | `group` | the deployments of one model: who can take a request now |
//! | `state`, `minute_limits` | what is known of one deployment; its limits per minute |
//! | `sticky`, `conversation_key` | which deployment a conversation prefers; what identifies one |
//! | `failure_class`, `rate_headers` | what an error or a response says of its deployment |
//! | `plan`, `walk` | the deployments and fallbacks of a route; one request's way through them |
//! | `shape` | what a request is to the choice: its size and its conversation |
//! | `decision` | why a deployment was chosen, for headers and traces |

pub(crate) mod choose;
pub(crate) mod conversation_key;
pub(crate) mod decision;
pub(crate) mod failure_class;
pub(crate) mod group;
pub(crate) mod minute_limits;
pub(crate) mod plan;
pub(crate) mod rate_headers;
pub(crate) mod shape;
#[cfg(test)]
mod simulation_tests;
pub(crate) mod state;
pub(crate) mod sticky;
pub(crate) mod walk;

pub use decision::{FailureCode, RouteDecision, RouteReason};
