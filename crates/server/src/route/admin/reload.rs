//! `POST /v1/admin/reload`: the configuration is read again.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::reload::config_reader::ReloadError;
use crate::render::rfc3339;

/// Settings or problems that a response names.
const MAX_NAMED: usize = 200;

pub(super) async fn reload(
    State(app): State<App>,
    principal: Principal,
) -> Result<Json<Value>, HttpError> {
    principal.require_operator()?;
    let report = app.reload().await.map_err(|error| refusal(&error))?;
    let named = report.changed.get(..MAX_NAMED).unwrap_or(&report.changed);
    Ok(Json(json!({
        "type": "configuration_reload",
        "generation": report.generation,
        "read_at": rfc3339(report.read_at),
        "source": report.source,
        "changed": named,
        "changed_count": report.changed.len(),
    })))
}

fn refusal(error: &ReloadError) -> HttpError {
    let (status, code) = match error {
        ReloadError::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "configuration-invalid"),
        ReloadError::NeedsRestart(_) => (StatusCode::CONFLICT, "restart-needed"),
        ReloadError::Unavailable => (StatusCode::CONFLICT, "reload-unavailable"),
    };
    let refused = HttpError::new(status, code, error.to_string()).without_retry();
    match error.problems() {
        [] => refused,
        problems => {
            let named = problems.get(..MAX_NAMED).unwrap_or(problems);
            refused.with_detail("problems", named.to_vec())
        }
    }
}
