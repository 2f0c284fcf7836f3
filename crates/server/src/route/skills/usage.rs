//! `GET /v1/skills/usage`: which skills were offered, loaded and used in runs, and which never.
//! No vendor has such a route, so all dialects get the same.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use prowess_store::{NamedSkillCost, PageCursor, SkillRuns, SkillRunsFilter, SortOrder, Timestamp};
use prowess_wire::excerpt;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;
use crate::{ids, page, render};

/// Days that are looked back; usage is stored for as many.
const MAX_DAYS: u64 = 400;
const DEFAULT_DAYS: u64 = 30;
const DAY_SECONDS: u64 = 24 * 3600;
/// Skills that can be named at once.
const MAX_NAMED: usize = 100;
/// Nano-units per unit of money.
const NANOS_PER_UNIT: f64 = 1e9;

pub(crate) async fn usage(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadRuns)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let days = parse_days(&query)?;
    // Today counts as a day.
    let since = Timestamp::now().before(Duration::from_secs((days - 1) * DAY_SECONDS));
    let since = since.day_start();
    let filter = parse_filter(&query)?;
    let request = page::parse_anthropic(&query, SortOrder::Descending)?;
    let named: Vec<&str> = query.all("skill_id").filter(|id| !id.is_empty()).collect();
    if !named.is_empty() {
        return usage_of(&app, &principal, since, &named).await.map(Json);
    }
    let page = app
        .store()
        .list_skill_runs(&principal.tenant, since, filter, &request)
        .await?;
    let next = page.next.as_ref().map(PageCursor::encode);
    let data: Vec<Value> = page.items.iter().map(skill_json).collect();
    Ok(Json(json!({
        "since": render::rfc3339(since),
        "data": data,
        "has_more": next.is_some(),
        "next_page": next,
    })))
}

/// The same of the skills that are named, in one page, with what they took if the principal may
/// see money.
async fn usage_of(
    app: &App,
    principal: &Principal,
    since: Timestamp,
    named: &[&str],
) -> Result<Value, HttpError> {
    if named.len() > MAX_NAMED {
        let message = format!("skill_id: at most {MAX_NAMED} can be named at once");
        let error = HttpError::bad_request("query-invalid", message);
        return Err(error.with_detail("param", "skill_id"));
    }
    // No skill has such an id, and not every database can be asked for it.
    let named = named.iter().filter(|id| !id.contains('\0'));
    let named: Vec<&str> = named.map(|id| ids::canonical_skill_id(id)).collect();
    let store = app.store();
    let costs = store
        .skill_costs_of(&principal.tenant, since, &named)
        .await?;
    let sees_money = principal.require(Permission::Administer).is_ok();
    let data: Vec<Value> = costs
        .iter()
        .map(|cost| cost_json(cost, sees_money))
        .collect();
    Ok(json!({
        "since": render::rfc3339(since),
        "data": data,
        "has_more": false,
        "next_page": null,
    }))
}

fn cost_json(named: &NamedSkillCost, with_money: bool) -> Value {
    let cost = &named.cost;
    let mut shown = json!({
        "type": "skill_usage",
        "skill_id": cost.skill_id,
        "name": cost.skill,
        "runs_offered": cost.runs.offered,
        "runs_loaded": cost.runs.loaded,
        "runs_used": cost.runs.used,
        "runs_loaded_in_vain": cost.runs.in_vain.max(0),
        "last_used_at": named.last_used_at.map(render::rfc3339),
    });
    let total = cost.total();
    if let (true, Some(shown)) = (with_money, shown.as_object_mut()) {
        shown.insert("sandbox_ms".to_owned(), cost.sandbox_millis.into());
        let cost = total.cost_nanos as f64 / NANOS_PER_UNIT;
        shown.insert("input_tokens".to_owned(), total.input_tokens.into());
        shown.insert("output_tokens".to_owned(), total.output_tokens.into());
        shown.insert("cost".to_owned(), json!(cost));
    }
    shown
}

fn parse_days(query: &Query) -> Result<u64, HttpError> {
    let what = "a number of days from 1 to 400";
    let days = query.parse_value("days", what)?.unwrap_or(DEFAULT_DAYS);
    if (1..=MAX_DAYS).contains(&days) {
        return Ok(days);
    }
    let message = format!("days: `{days}` is not {what}");
    Err(HttpError::bad_request("query-invalid", message).with_detail("param", "days"))
}

fn parse_filter(query: &Query) -> Result<Option<SkillRunsFilter>, HttpError> {
    let Some(text) = query.get("filter") else {
        return Ok(None);
    };
    let filter = SkillRunsFilter::parse(text).ok_or_else(|| {
        let words = SkillRunsFilter::ALL.map(SkillRunsFilter::as_str).join(", ");
        let message = format!("filter: `{}` is not one of {words}", excerpt(text));
        HttpError::bad_request("query-invalid", message).with_detail("param", "filter")
    });
    filter.map(Some)
}

fn skill_json(skill: &SkillRuns) -> Value {
    json!({
        "type": "skill_usage",
        "skill_id": skill.id,
        "name": skill.name,
        "deleted": skill.is_deleted,
        "runs_offered": skill.runs.offered,
        "runs_loaded": skill.runs.loaded,
        "runs_used": skill.runs.used,
        "runs_loaded_in_vain": skill.runs.in_vain.max(0),
        "last_offered_at": skill.last_offered_at.map(render::rfc3339),
        "last_loaded_at": skill.last_loaded_at.map(render::rfc3339),
        "last_used_at": skill.last_used_at.map(render::rfc3339),
    })
}
