//! `/mcp`: a tenant's skills for agents, over MCP.
//!
//! MCP is implemented in `prowess-mcp`. This module authenticates clients, checks origins and
//! selects the tenant's skills.

mod handler;
mod origin;
pub(crate) mod sessions;
mod skill_provider;

use axum::routing;

use crate::openapi::operation::{
    ApiMount, Operation, OperationBody, OperationResponse, Operations,
};
use crate::openapi::parameters as query;
use crate::route::table::mounts::ROOT_ONLY;
use crate::route::table::row::{PathNames, RouteAction, RouteMethod, RouteRow};

/// MCP answers every method itself, in JSON-RPC.
pub(super) static ROUTES: &[RouteRow] = &[
    row(
        RouteMethod::Post,
        RouteAction::Handler(|_, _| routing::any(handler::handle)),
        Operation::new("Send an MCP message", OperationResponse::Message)
            .query(query::MCP)
            .body(OperationBody::Message),
    ),
    row(
        RouteMethod::Get,
        RouteAction::ServedBy(PATH),
        Operation::new("Open the event stream", OperationResponse::Messages)
            .query(query::MCP_STREAM),
    ),
    row(
        RouteMethod::Delete,
        RouteAction::ServedBy(PATH),
        Operation::new("End a session", OperationResponse::Nothing).query(query::MCP),
    ),
];

const PATH: &str = "/mcp";

const fn row(method: RouteMethod, action: RouteAction, operation: Operation) -> RouteRow {
    RouteRow {
        method,
        path: PATH,
        mounts: ROOT_ONLY,
        action,
        operations: Operations::only(ApiMount::Mcp, operation),
        names: PathNames::Nothing("a header names the session; prowess-mcp checks its owner"),
    }
}
