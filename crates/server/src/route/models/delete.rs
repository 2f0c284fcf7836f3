//! `DELETE /v1/models/{model}`

use axum::extract::State;

use super::{is_there, unknown};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;

/// Models are configured: none can be deleted over HTTP.
pub(crate) async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<(), ApiError> {
    caller.may(Need::Look)?;
    if !is_there(&app, &caller, &name) {
        return Err(unknown(&name));
    }
    let message = format!(
        "model `{}` cannot be deleted: it comes with the server's configuration",
        prowess_wire::excerpt(&name)
    );
    Err(ApiError::bad_request("model-not-deletable", message))
}
