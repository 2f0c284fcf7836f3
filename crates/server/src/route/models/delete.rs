//! `DELETE /v1/models/{model}`

use axum::extract::State;

use super::{is_callable, not_found_error};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;

/// Models are configured: none can be deleted over HTTP.
pub(crate) async fn delete(
    State(app): State<App>,
    principal: Principal,
    PathParams(name): PathParams<String>,
) -> Result<(), HttpError> {
    principal.require(Permission::Browse)?;
    if !is_callable(&app, &principal, &name) {
        return Err(not_found_error(&name));
    }
    let message = format!(
        "model `{}` cannot be deleted: it is part of the server's configuration",
        prowess_wire::excerpt(&name)
    );
    Err(HttpError::bad_request("model-not-deletable", message))
}
