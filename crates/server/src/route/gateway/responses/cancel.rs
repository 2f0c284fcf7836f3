//! `POST /v1/responses/{id}/cancel`

use axum::extract::State;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;

/// Every answer that is kept has ended, and was waited for: there is nothing to cancel.
pub(super) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<(), ApiError> {
    caller.may(Need::UseModels)?;
    app.store().load_response(&caller.tenant, &id).await?;
    Err(ApiError::bad_request(
        "response-not-cancellable",
        "Cannot cancel a synchronous response.",
    ))
}
