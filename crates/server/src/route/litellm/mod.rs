//! Endpoints of LiteLLM's proxy besides the vendors' APIs: health, and model information. In
//! its formats, at its paths.

mod health;
mod model_info;

use crate::openapi::operation::{Operation, OperationResponse};
use crate::route::table::row::{PathNames, RouteRow, on};

const NAMES: PathNames = PathNames::Nothing("models are configured for all tenants");

pub(super) static ROUTES: &[RouteRow] = &[
    RouteRow::plain(
        "/health",
        |method, _| on(method, health::models),
        Operation::new("List callable models", OperationResponse::Json),
        NAMES,
    ),
    RouteRow::plain(
        "/health/liveliness",
        |method, _| on(method, health::alive),
        ALIVE,
        NAMES,
    ),
    RouteRow::plain(
        "/health/liveness",
        |method, _| on(method, health::alive),
        ALIVE,
        NAMES,
    ),
    RouteRow::plain(
        "/health/readiness",
        |method, _| on(method, health::ready),
        Operation::new(
            "Whether the server can serve requests, in LiteLLM's format",
            OperationResponse::Json,
        ),
        NAMES,
    ),
    RouteRow::plain(
        "/model/info",
        |method, _| on(method, model_info::list),
        MODEL_INFO,
        NAMES,
    ),
    RouteRow::plain(
        "/v1/model/info",
        |method, _| on(method, model_info::list),
        MODEL_INFO,
        NAMES,
    ),
];

const ALIVE: Operation = Operation::new(
    "Whether the process runs, in LiteLLM's format",
    OperationResponse::Text,
);
const MODEL_INFO: Operation = Operation::new("List models with prices", OperationResponse::Json);
