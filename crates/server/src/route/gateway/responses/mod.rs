//! `/v1/responses`: stored responses.
//!
//! Only responses stored here are found. An upstream that stores its own responses serves them
//! itself.

mod cancel;
mod delete;
mod get;
mod input_items;
mod kept;
pub(super) mod replay;

use crate::openapi::operation::{Operation, OperationResponse};
use crate::openapi::parameters as query;
use crate::route::table::row::{ObjectKind, PathNames, RouteMethod, RouteRow, on};

pub(in crate::route) static ROUTES: &[RouteRow] = &[
    RouteRow::openai(
        RouteMethod::Get,
        RESPONSE,
        |method, _| on(method, get::get),
        Operation::new("Get a stored response", OperationResponse::Stream).query(query::REPLAY),
        NAMES,
    ),
    RouteRow::openai(
        RouteMethod::Delete,
        RESPONSE,
        |method, _| on(method, delete::delete),
        Operation::new("Delete a stored response", OperationResponse::Json),
        NAMES,
    ),
    RouteRow::openai(
        RouteMethod::Post,
        "/responses/{id}/cancel",
        |method, _| on(method, cancel::cancel),
        Operation::new("Cancel a response", OperationResponse::Json),
        NAMES,
    ),
    RouteRow::openai(
        RouteMethod::Get,
        "/responses/{id}/input_items",
        |method, _| on(method, input_items::list),
        Operation::new(
            "List the input items of a response",
            OperationResponse::Json,
        )
        .query(query::ITEMS),
        NAMES,
    ),
];

const RESPONSE: &str = "/responses/{id}";
const NAMES: PathNames = PathNames::Objects(&[ObjectKind::Response]);
