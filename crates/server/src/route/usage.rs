//! `GET /v1/usage`: what requests to models used, for those who keep the books.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use prowess_store::{TenantId, Timestamp, UsageBy, UsageQuery, UsageSum};
use prowess_wire::excerpt;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Query;

/// What is added up when nothing is said.
const USUAL_SINCE: &str = "30d";

pub(super) fn routes() -> Router<App> {
    Router::new().route("/usage", get(list))
}

/// An admin's key sees its tenant; the server's owner sees all, or the one asked for.
async fn list(
    State(app): State<App>,
    caller: Caller,
    query: Query,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::Administer)?;
    let tenant = match (caller.key(), query.get("tenant")) {
        (Some(_), _) => Some(caller.tenant.clone()),
        (None, None) => None,
        (None, Some(tenant)) => Some(TenantId::new(tenant)?),
    };
    let since = UsageQuery::since(query.get("since").unwrap_or(USUAL_SINCE), Timestamp::now())?;
    let by = by(&query)?;
    let usage = UsageQuery {
        tenant: tenant.as_ref(),
        since,
        by,
    };
    let sums = app.store().usage(&usage).await?;
    let data: Vec<Value> = sums.iter().map(|sum| object(by, sum)).collect();
    Ok(Json(json!({
        "object": "list",
        "since": since.as_seconds(),
        "by": by.as_str(),
        "data": data,
    })))
}

fn by(query: &Query) -> Result<UsageBy, ApiError> {
    let Some(text) = query.get("by") else {
        return Ok(UsageBy::Model);
    };
    UsageBy::parse(text).ok_or_else(|| {
        let words = UsageBy::ALL.map(UsageBy::as_str).join(", ");
        let message = format!("by: `{}` is not one of {words}", excerpt(text));
        ApiError::bad_request("query-invalid", message).with("param", "by")
    })
}

fn object(by: UsageBy, sum: &UsageSum) -> Value {
    json!({
        "object": "usage",
        by.as_str(): sum.group,
        "requests": sum.requests,
        "errors": sum.errors,
        "input_tokens": sum.input_tokens,
        "output_tokens": sum.output_tokens,
        "cache_read_tokens": sum.cache_read_tokens,
        "cache_write_tokens": sum.cache_write_tokens,
        "cost": sum.cost_nanos as f64 / 1e9,
        "requests_without_price": sum.unpriced,
        "requests_estimated": sum.estimated,
        "average_ms": sum.millis.checked_div(sum.requests).unwrap_or_default(),
    })
}
