//! Calls to models: the rows that the gateway serves without the router.

use prowess_provider::ModelTask;
use prowess_wire::ClientDialect;

use super::mounts::{GOOGLE_ONLY, VENDORS_AND_ROOT};
use super::row::{PathNames, RouteAction, RouteMethod, RouteRow};
use crate::google::ModelMethod;
use crate::openapi::operation::{
    ApiMount, Operation, OperationBody, OperationResponse, Operations,
};
use crate::openapi::parameters as query;

const CHAT_BODY: OperationBody = OperationBody::Model(&["model", "messages"]);
const MESSAGES_BODY: OperationBody = OperationBody::Model(&["model", "max_tokens", "messages"]);
const EMBEDDINGS_BODY: OperationBody = OperationBody::Model(&["model", "input"]);
const RESPONSES_BODY: OperationBody = OperationBody::Model(&["model"]);

/// Stored objects are named in the body.
const NAMES: PathNames =
    PathNames::Nothing("the body names objects; tests/gateway/references.rs covers those");

const GENERATE: &str = "Generate a response";
const COUNT_TOKENS: &str = "Count input tokens";

/// Every call to a model. The direct path scans this list for each request.
pub(super) static MODEL_CALLS: &[RouteRow] = &[
    call(
        "/messages",
        ClientDialect::Messages,
        ModelTask::Generate,
        Operations::only(
            ApiMount::Anthropic,
            Operation::new(GENERATE, OperationResponse::Stream).body(MESSAGES_BODY),
        ),
    ),
    call(
        "/messages/count_tokens",
        ClientDialect::Messages,
        ModelTask::CountTokens,
        Operations::only(
            ApiMount::Anthropic,
            Operation::new(COUNT_TOKENS, OperationResponse::Json).body(CHAT_BODY),
        ),
    ),
    call(
        "/chat/completions",
        ClientDialect::Chat,
        ModelTask::Generate,
        Operations::only(
            ApiMount::OpenAi,
            Operation::new(GENERATE, OperationResponse::Stream).body(CHAT_BODY),
        ),
    ),
    call(
        "/embeddings",
        ClientDialect::Chat,
        ModelTask::Embed,
        Operations::only(
            ApiMount::OpenAi,
            Operation::new("Create embeddings", OperationResponse::Json).body(EMBEDDINGS_BODY),
        ),
    ),
    call(
        "/responses",
        ClientDialect::Responses,
        ModelTask::Generate,
        Operations::only(
            ApiMount::OpenAi,
            Operation::new(GENERATE, OperationResponse::Stream).body(RESPONSES_BODY),
        ),
    ),
    call(
        "/responses/input_tokens",
        ClientDialect::Responses,
        ModelTask::CountTokens,
        Operations::only(
            ApiMount::OpenAi,
            Operation::new(COUNT_TOKENS, OperationResponse::Json).body(RESPONSES_BODY),
        ),
    ),
    call(
        "/responses/compact",
        ClientDialect::Responses,
        ModelTask::Compact,
        Operations::only(
            ApiMount::OpenAi,
            Operation::new("Compact a conversation", OperationResponse::Json).body(RESPONSES_BODY),
        ),
    ),
    call_in_path(
        "/models/{model}:generateContent",
        ModelMethod::Generate,
        Operation::new(GENERATE, OperationResponse::Json).body(OperationBody::Contents),
    ),
    call_in_path(
        "/models/{model}:streamGenerateContent",
        ModelMethod::Stream,
        Operation::new("Generate content as a stream", OperationResponse::Chunks)
            .query(query::ALT)
            .body(OperationBody::Contents),
    ),
    call_in_path(
        "/models/{model}:countTokens",
        ModelMethod::CountTokens,
        Operation::new(COUNT_TOKENS, OperationResponse::Json).body(OperationBody::Contents),
    ),
];

const fn call(
    path: &'static str,
    client: ClientDialect,
    task: ModelTask,
    operations: Operations,
) -> RouteRow {
    RouteRow {
        method: RouteMethod::Post,
        path,
        mounts: VENDORS_AND_ROOT,
        action: RouteAction::CallModel { client, task },
        operations,
        names: NAMES,
    }
}

/// As in Google's API, where the path names model and method.
const fn call_in_path(path: &'static str, method: ModelMethod, operation: Operation) -> RouteRow {
    RouteRow {
        method: RouteMethod::Post,
        path,
        mounts: GOOGLE_ONLY,
        action: RouteAction::CallModelInPath(method),
        operations: Operations::only(ApiMount::Gemini, operation),
        names: NAMES,
    }
}
