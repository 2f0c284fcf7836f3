//! `GET /v1/admin/configuration`: the configuration as it was read, with secrets hidden.

use axum::Json;
use axum::extract::State;
use prowess_store::Database;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::render::rfc3339;

pub(super) async fn get(
    State(app): State<App>,
    principal: Principal,
) -> Result<Json<Value>, HttpError> {
    principal.require_operator()?;
    let database = match app.store().database() {
        Database::Sqlite => "sqlite",
        Database::Postgres => "postgres",
    };
    Ok(Json(json!({
        "type": "configuration",
        "version": env!("CARGO_PKG_VERSION"),
        "database": database,
        "generation": app.generation(),
        "read_at": rfc3339(app.read_at()),
        "settings": app.settings().configuration,
    })))
}
