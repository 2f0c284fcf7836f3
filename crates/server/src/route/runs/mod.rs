//! `/v1/runs`: runs that have ended or not. One file per verb; `not_kept` is the error for runs
//! that can only be read.

mod cancel;
mod events;
mod get;
mod list;
mod not_kept;

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
            Operation::new("List runs, those in progress too", OperationResponse::Json)
                .query(query::RUNS),
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
