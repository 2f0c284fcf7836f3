//! `GET /v1/usage`: usage of model calls, for accounting.

use axum::Json;
use axum::extract::State;
use prowess_store::{SkillCostSums, TenantId, Timestamp, UsageGrouping, UsageQuery, UsageSum};
use prowess_wire::excerpt;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;
use crate::openapi::operation::{ApiMount, Operation, OperationResponse, Operations};
use crate::openapi::parameters as query;
use crate::page;
use crate::route::table::mounts::VENDORS;
use crate::route::table::row::{PathNames, RouteAction, RouteMethod, RouteRow, on};
use crate::route::usage_by_skill;

/// The default period.
const DEFAULT_SINCE: &str = "30d";

pub(super) static ROUTES: &[RouteRow] = &[RouteRow {
    method: RouteMethod::Get,
    path: "/usage",
    mounts: VENDORS,
    action: RouteAction::Handler(|method, _| on(method, list)),
    operations: Operations::only(
        ApiMount::OpenAi,
        Operation::new("Usage of model calls", OperationResponse::Json).query(query::USAGE),
    ),
    names: PathNames::Nothing("sums over the tenant's own calls; tests/gateway/usage.rs"),
}];

/// An admin key sees its tenant; the operator sees all, or the selected one.
async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::Administer)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let tenant = match (principal.key(), query.get("tenant")) {
        (Some(_), _) => Some(principal.tenant.clone()),
        (None, None) => None,
        (None, Some(tenant)) => Some(TenantId::new(tenant)?),
    };
    let since = UsageQuery::parse_since(
        query.get("since").unwrap_or(DEFAULT_SINCE),
        Timestamp::now(),
    )?;
    if query.get("by") == Some(SkillCostSums::GROUPING) {
        let limit = parse_skill_limit(&query)?;
        let sums = app.store().skill_costs(tenant.as_ref(), since, limit);
        return Ok(Json(usage_by_skill::render(&sums.await?)));
    }
    if query.all("limit").next().is_some() {
        let message = "limit: only usage by skill can be limited";
        let error = HttpError::bad_request("query-invalid", message);
        return Err(error.with_detail("param", "limit"));
    }
    let by = parse_by(&query)?;
    let usage = UsageQuery {
        tenant: tenant.as_ref(),
        since,
        by,
    };
    let sums = app.store().usage(&usage).await?;
    let data: Vec<Value> = sums.iter().map(|sum| usage_json(by, sum)).collect();
    Ok(Json(json!({
        "object": "list",
        "since": since.as_seconds(),
        "by": by.as_str(),
        "data": data,
    })))
}

/// Skills that are listed; all without a limit.
fn parse_skill_limit(query: &Query) -> Result<usize, HttpError> {
    if query.all("limit").next().is_none() {
        return Ok(SkillCostSums::MAX_SKILLS);
    }
    page::parse_filled_limit(query).map(|limit| limit as usize)
}

fn parse_by(query: &Query) -> Result<UsageGrouping, HttpError> {
    let Some(text) = query.get("by") else {
        return Ok(UsageGrouping::Model);
    };
    UsageGrouping::parse(text).ok_or_else(|| {
        let words = UsageGrouping::ALL.map(UsageGrouping::as_str).join(", ");
        let text = excerpt(text);
        let skill = SkillCostSums::GROUPING;
        let message = format!("by: `{text}` is not one of {words}, {skill}");
        HttpError::bad_request("query-invalid", message).with_detail("param", "by")
    })
}

fn usage_json(by: UsageGrouping, sum: &UsageSum) -> Value {
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
        "sandbox_ms": sum.sandbox_millis,
    })
}
