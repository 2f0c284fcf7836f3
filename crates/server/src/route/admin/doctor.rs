//! `GET /v1/admin/doctor`: whether the installation is as it should be, and what to do. The
//! same checks as those of `prowess doctor`, made by the server that runs.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use prowess_store::{Database, Timestamp};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::app::App;
use crate::auth::Principal;
use crate::doctor::{PartReport, PartState};
use crate::error::HttpError;
use crate::render::rfc3339;

/// How long the checks may take together; that of the store has a shorter time of its own.
const MAX_TIME: Duration = Duration::from_secs(10);

pub(super) async fn get(
    State(app): State<App>,
    principal: Principal,
) -> Result<Json<Value>, HttpError> {
    principal.require_operator()?;
    let mut parts = vec![check_store(&app).await];
    match app.installation_checks() {
        None => parts.push(sandbox_level(app.settings().sandbox.level())),
        Some(checks) => match timeout(MAX_TIME, checks.check()).await {
            Ok(others) => parts.extend(others),
            Err(_) => parts.push(PartReport::missing(
                "checks",
                format!("they took longer than {} seconds", MAX_TIME.as_secs()),
                "run `prowess doctor` on the server's machine",
            )),
        },
    }
    Ok(Json(json!({
        "type": "doctor_report",
        "checked_at": rfc3339(Timestamp::now()),
        "ok": parts.iter().all(|part| part.state != PartState::Missing),
        "data": parts,
    })))
}

async fn check_store(app: &App) -> PartReport {
    let database = match app.store().database() {
        Database::Sqlite => "SQLite",
        Database::Postgres => "PostgreSQL",
    };
    match app.store().check_ready().await {
        Ok(()) => PartReport::ok("store", format!("{database} and blobs, writable")),
        Err(failure) => {
            let advice = match failure.full {
                true => "free space, or lower disk_reserve under [store] in prowess.toml",
                false => "run `prowess doctor` on the server's machine, as the server's user",
            };
            let detail = format!("{}: {}", failure.part, failure.cause);
            PartReport::missing("store", detail, advice)
        }
    }
}

/// All that is known of the sandbox where nobody checks more.
fn sandbox_level(level: &str) -> PartReport {
    match level {
        "strict" => PartReport::ok("sandbox", "strict"),
        level => PartReport::note(
            "sandbox",
            level,
            "run `prowess doctor` on the server's machine to see what is missing",
        ),
    }
}
