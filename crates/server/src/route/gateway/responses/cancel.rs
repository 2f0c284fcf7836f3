//! `POST /v1/responses/{id}/cancel`

use axum::extract::State;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;

/// Every stored response is complete and was synchronous: there is nothing to cancel.
pub(super) async fn cancel(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<(), HttpError> {
    principal.require(Permission::UseModels)?;
    app.store().load_response(&principal.tenant, &id).await?;
    Err(HttpError::bad_request(
        "response-not-cancellable",
        "Cannot cancel a synchronous response.",
    ))
}
