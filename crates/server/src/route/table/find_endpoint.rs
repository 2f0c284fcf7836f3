//! The endpoint of a call to a model, found by a scan of the table.
//!
//! This runs for every request, so it compares strings in a short list and allocates nothing
//! before it has found a model in a path.

use axum::http::Method;

use super::handler_rows;
use super::model_calls::MODEL_CALLS;
use super::row::{RouteAction, RouteMethod, RouteRow};
use crate::google::parse_model_path;
use crate::route::gateway::Endpoint;

/// The endpoint of a path, if it is a call to a model.
pub(crate) fn find_endpoint(method: &Method, path: &str) -> Option<Endpoint> {
    for row in MODEL_CALLS {
        if let RouteAction::CallModel { client, task } = row.action
            && path
                .strip_suffix(row.path)
                .is_some_and(|prefix| row.is_below(prefix))
        {
            let endpoint = Endpoint::new(client, task);
            return match other_method(method, row.path) {
                None => Some(endpoint),
                // GET does not call a model.
                Some(_) if *method == Method::GET => None,
                Some(get) if get.is_websocket() => Some(endpoint),
                Some(_) => Some(endpoint.with_allowed_methods("GET,HEAD,POST")),
            };
        }
    }
    let path = parse_model_path(path)?;
    let method = path.method;
    let is_row =
        |row: &&RouteRow| matches!(row.action, RouteAction::CallModelInPath(own) if own == method);
    MODEL_CALLS.iter().find(is_row)?;
    Some(Endpoint::for_model_path(path))
}

/// The row of GET at the path of a call to a model, for requests that are no POST: a list of
/// stored objects, or a WebSocket.
fn other_method(method: &Method, path: &str) -> Option<&'static RouteRow> {
    if *method == Method::POST {
        return None;
    }
    handler_rows().find(|row| row.method == RouteMethod::Get && row.path == path)
}
