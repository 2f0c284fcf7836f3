//! `/v1/runs`: records of requests with skills. One file per verb.

mod get;
mod list;

use crate::openapi::operation::{Operation, OperationResponse, Operations};
use crate::openapi::parameters as query;
use crate::route::table::mounts::VENDORS;
use crate::route::table::row::{ObjectKind, PathNames, RouteAction, RouteMethod, RouteRow, on};

pub(super) static ROUTES: &[RouteRow] = &[
    RouteRow {
        method: RouteMethod::Get,
        path: "/runs",
        mounts: VENDORS,
        action: RouteAction::Handler(|method, _| on(method, list::list)),
        operations: Operations::both(
            Operation::new("List runs", OperationResponse::Json).query(query::ANTHROPIC_PAGE),
        ),
        names: PathNames::OwnList,
    },
    RouteRow {
        method: RouteMethod::Get,
        path: "/runs/{run}",
        mounts: VENDORS,
        action: RouteAction::Handler(|method, _| on(method, get::get)),
        operations: Operations::both(Operation::new("Get a run", OperationResponse::Json)),
        names: PathNames::Objects(&[ObjectKind::Run]),
    },
];
