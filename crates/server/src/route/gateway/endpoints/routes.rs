//! The rows of endpoints in the route table.

use super::forward::forward;
use super::provider_path::forward_path;
use crate::openapi::operation::{
    ApiMount, Operation, OperationBody, OperationResponse, Operations,
};
use crate::route::table::mounts::ROOT_ONLY;
use crate::route::table::row::{BuildHandler, PathNames, RouteAction, RouteMethod, RouteRow, on};

const NO_OBJECTS: PathNames = PathNames::Nothing("nothing is stored, here or at the provider");
const SHARED_ACCOUNT: PathNames = PathNames::Nothing(
    "objects of a provider's account, which all holders of the scope `providers` share",
);

const PROVIDER_PATH: &str = "/providers/{provider}/{*path}";

pub(in crate::route) static ROUTES: &[RouteRow] = &[
    post(
        "/images/generations",
        Operation::new("Generate images", OperationResponse::Stream)
            .body(OperationBody::Endpoint(&["model", "prompt"])),
    ),
    post(
        "/images/edits",
        Operation::new("Edit images", OperationResponse::Stream)
            .body(OperationBody::EndpointForm("image")),
    ),
    post(
        "/images/variations",
        Operation::new("Create variations of an image", OperationResponse::Json)
            .body(OperationBody::EndpointForm("image")),
    ),
    post(
        "/audio/speech",
        Operation::new("Generate speech", OperationResponse::Bytes("audio/mpeg"))
            .body(OperationBody::Endpoint(&["model", "input"])),
    ),
    post(
        "/audio/transcriptions",
        Operation::new("Transcribe speech", OperationResponse::Stream)
            .body(OperationBody::EndpointForm("file")),
    ),
    post(
        "/audio/translations",
        Operation::new("Translate speech to English text", OperationResponse::Json)
            .body(OperationBody::EndpointForm("file")),
    ),
    post(
        "/moderations",
        Operation::new("Classify content", OperationResponse::Json)
            .body(OperationBody::Endpoint(&["input"])),
    ),
    post(
        "/decisions",
        Operation::new("Answer questions about content", OperationResponse::Json)
            .body(OperationBody::Endpoint(&["model", "input", "questions"])),
    ),
    post(
        "/rerank",
        Operation::new("Rank documents for a query", OperationResponse::Json)
            .body(OperationBody::Endpoint(&["model", "query", "documents"])),
    ),
    RouteRow {
        method: RouteMethod::Post,
        path: "/v2/rerank",
        mounts: ROOT_ONLY,
        action: RouteAction::Handler(FORWARD),
        operations: Operations::only(
            ApiMount::Plain,
            Operation::new(
                "Rank documents for a query, by the second version of the API",
                OperationResponse::Json,
            )
            .body(OperationBody::Endpoint(&["model", "query", "documents"])),
        ),
        names: NO_OBJECTS,
    },
    post(
        "/completions",
        Operation::new("Complete a text", OperationResponse::Stream)
            .body(OperationBody::Endpoint(&["model", "prompt"])),
    ),
    provider_path(RouteMethod::Get),
    provider_path(RouteMethod::Post),
    provider_path(RouteMethod::Put),
    provider_path(RouteMethod::Patch),
    provider_path(RouteMethod::Delete),
];

const FORWARD: BuildHandler = |method, _| on(method, forward);
const FORWARD_PATH: BuildHandler = |method, _| on(method, forward_path);

const fn post(path: &'static str, operation: Operation) -> RouteRow {
    RouteRow::openai(RouteMethod::Post, path, FORWARD, operation, NO_OBJECTS)
}

const fn provider_path(method: RouteMethod) -> RouteRow {
    RouteRow {
        method,
        path: PROVIDER_PATH,
        mounts: ROOT_ONLY,
        action: RouteAction::Handler(FORWARD_PATH),
        operations: Operations::only(
            ApiMount::Plain,
            Operation::new("Call a path of a provider's API", OperationResponse::Json),
        ),
        names: SHARED_ACCOUNT,
    }
}

#[cfg(test)]
mod tests {
    use super::super::endpoint_table::{ENDPOINTS, GatewayEndpoint};
    use super::*;

    #[test]
    fn every_endpoint_has_a_row_and_every_row_an_endpoint() {
        let rows: Vec<_> = ROUTES.iter().map(|row| row.path).collect();
        for endpoint in &ENDPOINTS {
            assert!(rows.contains(&endpoint.path), "{}", endpoint.path);
        }
        for path in rows.into_iter().filter(|path| *path != PROVIDER_PATH) {
            assert!(GatewayEndpoint::find(path).is_some(), "{path}");
        }
    }
}
