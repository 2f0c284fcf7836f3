//! `POST /v1/responses/input_tokens`

use axum::extract::{Request, State};
use axum::response::Response;
use prowess_provider::Task;
use prowess_wire::Client;

use super::super::forward::{Wanted, forward};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;

pub(super) async fn count(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<Response, ApiError> {
    let wanted = Wanted {
        client: Client::Responses,
        task: Task::CountTokens,
    };
    forward(&app, &caller, wanted, request).await
}
