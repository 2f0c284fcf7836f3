//! `/v1/runs`: records of requests with skills, and kept runs. One file per verb.

mod cancel;
mod events;
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
    RouteRow {
        method: RouteMethod::Get,
        path: "/runs/{run}/events",
        mounts: VENDORS,
        action: RouteAction::Handler(|method, _| on(method, events::events)),
        operations: Operations::both(
            Operation::new("Follow the events of a kept run", OperationResponse::Stream)
                .query(query::FOLLOW),
        ),
        names: PathNames::Objects(&[ObjectKind::Run]),
    },
    RouteRow {
        method: RouteMethod::Post,
        path: "/runs/{run}/cancel",
        mounts: VENDORS,
        action: RouteAction::Handler(|method, _| on(method, cancel::cancel)),
        operations: Operations::both(Operation::new("Cancel a kept run", OperationResponse::Json)),
        names: PathNames::Objects(&[ObjectKind::Run]),
    },
];
