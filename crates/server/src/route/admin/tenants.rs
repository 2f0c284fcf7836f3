//! `GET /v1/admin/tenants`: what tenants have, and did in a period.

use axum::Json;
use axum::extract::State;
use prowess_store::{SortOrder, TenantSummary, Timestamp, UsageQuery};
use serde_json::{Value, json};

use super::list_json;
use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::extract::Query;
use crate::page;
use crate::render::rfc3339;

/// The default period.
const DEFAULT_SINCE: &str = "30d";
/// Nano-units per unit of money.
const NANOS_PER_UNIT: f64 = 1e9;

pub(super) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require_operator()?;
    let since = match query.time("since")? {
        Some(since) => since,
        None => UsageQuery::parse_since(DEFAULT_SINCE, Timestamp::now())?,
    };
    let request = page::parse_anthropic(&query, SortOrder::Ascending)?;
    let page = app.store().tenant_summaries(since, &request).await?;
    let mut listed = list_json(&page, tenant_json);
    if let Some(listed) = listed.as_object_mut() {
        listed.insert("since".to_owned(), rfc3339(since).into());
    }
    Ok(Json(listed))
}

fn tenant_json(summary: &TenantSummary) -> Value {
    json!({
        "id": summary.tenant.id.as_str(),
        "type": "tenant",
        "name": summary.tenant.name,
        "created_at": rfc3339(summary.tenant.created_at),
        "skills": summary.skills,
        "versions": summary.versions,
        "files": summary.files,
        "stored_bytes": summary.bytes,
        "keys": summary.keys,
        "runs": summary.runs,
        "requests": summary.requests,
        "cost": summary.cost_nanos as f64 / NANOS_PER_UNIT,
    })
}
