//! `GET /v1/skills/usage`: which skills were offered, loaded and used in runs, and which never.
//! No vendor has such a route, so all dialects get the same.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use prowess_store::{PageCursor, SkillRuns, SkillRunsFilter, SortOrder, Timestamp};
use prowess_wire::excerpt;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;
use crate::{page, render};

/// Days that are looked back; usage is stored for as many.
const MAX_DAYS: u64 = 400;
const DEFAULT_DAYS: u64 = 30;
const DAY: u64 = 24 * 3600;

pub(crate) async fn usage(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadRuns)?;
    let days = parse_days(&query)?;
    // Today counts as a day.
    let since = Timestamp::now().before(Duration::from_secs((days - 1) * DAY));
    let since = since.day_start();
    let filter = parse_filter(&query)?;
    let request = page::parse_anthropic(&query, SortOrder::Descending)?;
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
