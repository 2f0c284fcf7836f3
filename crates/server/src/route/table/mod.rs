//! The route table: every route of the server, once.
//!
//! The router, the direct path of calls to models (`find_endpoint`), the OpenAPI document,
//! the methods of a 405 response and the test of tenant isolation all read this table, so a
//! route cannot be missing from one of them. Rows of handlers are in the `ROUTES` of their
//! module, next to the handlers; calls to models are in `model_calls`.
//!
//! | module | owns |
//! |---|---|
//! | `row` | the type of a row |
//! | `mounts` | the prefixes below which rows are served |
//! | `model_calls` | the rows of calls to models |
//! | `find_endpoint` | the row of a call to a model, found without the router |
//! | `summary` | the table as tests see it |

mod find_endpoint;
mod model_calls;
pub(crate) mod mounts;
pub(crate) mod row;
mod summary;

pub(crate) use find_endpoint::find_endpoint;
pub use summary::{RouteSummary, route_table};

use self::model_calls::MODEL_CALLS;
use self::row::RouteRow;
use super::{
    admin, containers, discovery, files, gateway, health, litellm, mcp, message_batches, models,
    openai_batches, runs, skills, usage,
};
use crate::openapi;

/// Rows of handlers, by module.
static HANDLERS: &[&[RouteRow]] = &[
    health::ROUTES,
    litellm::ROUTES,
    openapi::ROUTES,
    discovery::ROUTES,
    mcp::ROUTES,
    skills::ROUTES,
    files::ROUTES,
    models::ROUTES,
    runs::ROUTES,
    usage::ROUTES,
    admin::ROUTES,
    containers::ROUTES,
    message_batches::ROUTES,
    openai_batches::ROUTES,
    gateway::RESPONSE_ROUTES,
    gateway::SOCKET_ROUTES,
    gateway::CONVERSATION_ROUTES,
    gateway::CHAT_ROUTES,
    gateway::ENDPOINT_ROUTES,
];

/// The rows that the router serves.
pub(crate) fn handler_rows() -> impl Iterator<Item = &'static RouteRow> {
    HANDLERS.iter().copied().flatten()
}

/// All rows.
pub(crate) fn rows() -> impl Iterator<Item = &'static RouteRow> {
    handler_rows().chain(MODEL_CALLS)
}

#[cfg(test)]
mod tests;
