//! `/console/skills`: all skills, newest first, or those that fit some words, best first.

mod row;
mod usage;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::HeaderMap;
use serde_json::Value;

use self::row::SkillRow;
use crate::api::PageError;
use crate::layout::{Layout, Nav};
use crate::query::{QueryFields, with_query};
use crate::render::html;
use crate::state::ConsoleState;
use crate::visitor::{HX_REQUEST, Visitor};

/// Skills on one page.
const PAGE_SKILLS: &str = "50";

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new().route("/console/skills", get(list))
}

#[derive(Template)]
#[template(path = "skills.html")]
struct SkillsPage {
    layout: Layout,
    rows: SkillRows,
    can_write: bool,
}

/// What changes while somebody types.
#[derive(Template)]
#[template(path = "skills_rows.html")]
struct SkillRows {
    /// What is searched for; empty for all.
    words: String,
    skills: Vec<SkillRow>,
    /// The address of the next page.
    next: Option<String>,
    /// Whether this is not the first page.
    is_later: bool,
    /// Which columns of usage there are.
    has_runs: bool,
    has_costs: bool,
    days: &'static str,
}

async fn list(
    visitor: Visitor,
    headers: HeaderMap,
    QueryFields(query): QueryFields,
) -> Result<Response, PageError> {
    let words = query.get("q").unwrap_or_default();
    let after = query.get("after");
    let path = if words.is_empty() {
        with_query(
            "/v1/skills",
            &[("limit", Some(PAGE_SKILLS)), ("after", after)],
        )
    } else {
        let pairs = [("query", Some(words)), ("limit", Some(PAGE_SKILLS))];
        with_query("/v1/skills/search", &pairs)
    };
    let found: Value = visitor.api.get(&path).await?;
    let skills = found.get("data").and_then(Value::as_array);
    let mut skills: Vec<SkillRow> = skills.into_iter().flatten().map(SkillRow::read).collect();
    let (has_runs, has_costs) = usage::add_usage(&visitor, &mut skills).await?;
    let has_more = found.get("has_more").and_then(Value::as_bool);
    let last = skills.last().filter(|_| has_more == Some(true));
    let rows = SkillRows {
        words: words.to_owned(),
        next: last.map(|last| with_query("/console/skills", &[("after", Some(&last.id))])),
        skills,
        is_later: after.is_some(),
        has_runs,
        has_costs,
        days: usage::DAYS,
    };
    if headers.contains_key(HX_REQUEST) {
        return Ok(html(&rows));
    }
    Ok(html(&SkillsPage {
        layout: Layout::new(&visitor, "Skills", Nav::Skills).with_curl(&path),
        rows,
        can_write: visitor.can_write,
    }))
}
