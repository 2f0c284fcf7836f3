//! `/v1/messages/batches`, as in Anthropic's API: one file per verb. `receive` reads the
//! requests of a new batch from its `batch_body`.

mod batch_body;
mod cancel;
mod create;
mod delete;
mod get;
mod list;
mod receive;
mod results;

use crate::openapi::operation::OperationResponse::{self, Object};
use crate::openapi::operation::{Operation, OperationBody};
use crate::openapi::parameters as query;
use crate::route::table::row::{ObjectKind, PathNames, RouteMethod, RouteRow, on};

pub(super) static ROUTES: &[RouteRow] = &[
    RouteRow::anthropic(
        RouteMethod::Get,
        BATCHES,
        |method, _| on(method, list::list),
        Operation::new("List batches", Object("MessageBatchList")).query(query::ANTHROPIC_BATCHES),
        PathNames::OwnList,
    ),
    RouteRow::anthropic(
        RouteMethod::Post,
        BATCHES,
        |method, _| on(method, create::create),
        Operation::new("Create a batch", BATCH_OBJECT).body(OperationBody::MessageBatch),
        PathNames::Nothing("creates an object of the tenant"),
    ),
    RouteRow::anthropic(
        RouteMethod::Get,
        BATCH,
        |method, _| on(method, get::get),
        Operation::new("Get a batch", BATCH_OBJECT),
        NAMES_BATCH,
    ),
    RouteRow::anthropic(
        RouteMethod::Delete,
        BATCH,
        |method, _| on(method, delete::delete),
        Operation::new("Delete a batch", Object("Deleted")),
        NAMES_BATCH,
    ),
    RouteRow::anthropic(
        RouteMethod::Post,
        "/messages/batches/{message_batch}/cancel",
        |method, _| on(method, cancel::cancel),
        Operation::new("Cancel a batch", BATCH_OBJECT),
        NAMES_BATCH,
    ),
    RouteRow::anthropic(
        RouteMethod::Get,
        "/messages/batches/{message_batch}/results",
        |method, _| on(method, results::results),
        Operation::new(
            "Download the results of a batch",
            OperationResponse::Bytes("application/x-jsonl"),
        ),
        NAMES_BATCH,
    ),
];

const BATCHES: &str = "/messages/batches";
const BATCH: &str = "/messages/batches/{message_batch}";
const BATCH_OBJECT: OperationResponse = Object("MessageBatch");
const NAMES_BATCH: PathNames = PathNames::Objects(&[ObjectKind::MessageBatch]);
