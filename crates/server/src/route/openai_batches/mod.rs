//! `/v1/batches`, as in OpenAI's API: one file per verb.

mod cancel;
mod create;
mod get;
mod list;

use crate::openapi::operation::OperationResponse::{self, Object};
use crate::openapi::operation::{Operation, OperationBody};
use crate::openapi::parameters as query;
use crate::route::table::row::{ObjectKind, PathNames, RouteMethod, RouteRow, on};

pub(super) static ROUTES: &[RouteRow] = &[
    RouteRow::openai(
        RouteMethod::Get,
        BATCHES,
        |method, _| on(method, list::list),
        Operation::new("List batches", Object("BatchList")).query(query::OPENAI_PAGE),
        PathNames::OwnList,
    ),
    RouteRow::openai(
        RouteMethod::Post,
        BATCHES,
        |method, _| on(method, create::create),
        Operation::new("Create a batch", BATCH_OBJECT).body(OperationBody::Batch),
        PathNames::Nothing("creates an object of the tenant"),
    ),
    RouteRow::openai(
        RouteMethod::Get,
        "/batches/{batch}",
        |method, _| on(method, get::get),
        Operation::new("Get a batch", BATCH_OBJECT),
        NAMES_BATCH,
    ),
    RouteRow::openai(
        RouteMethod::Post,
        "/batches/{batch}/cancel",
        |method, _| on(method, cancel::cancel),
        Operation::new("Cancel a batch", BATCH_OBJECT),
        NAMES_BATCH,
    ),
];

const BATCHES: &str = "/batches";
const BATCH_OBJECT: OperationResponse = Object("Batch");
const NAMES_BATCH: PathNames = PathNames::Objects(&[ObjectKind::Batch]);
