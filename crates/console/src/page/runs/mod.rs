//! `/console/runs`: the runs of the tenant, newest first, with filters in the address.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use serde::Deserialize;

use super::run::{StatusBadge, StepSkill};
use crate::api::PageError;
use crate::format::{self, Moment};
use crate::layout::{Layout, Nav};
use crate::query::{Fields, QueryFields, segment, with_query};
use crate::render::html;
use crate::state::ConsoleState;
use crate::visitor::Visitor;

/// Runs on a page.
const PAGE_SIZE: &str = "50";
/// The filters, which are those of the API.
const FILTERS: [&str; 5] = ["state", "model", "skill", "key", "since"];
/// States that can be chosen: those of kept runs and of others.
const STATES: [&str; 9] = [
    "queued",
    "running",
    "completed",
    "incomplete",
    "failed",
    "cancelled",
    "paused",
    "refused",
    "interrupted",
];

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new().route("/console/runs", get(list))
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    layout: Layout,
    filter: RunsFilter,
    states: &'static [&'static str],
    runs: Vec<ListedRun>,
    /// The address of the next page.
    next: Option<String>,
    /// The address of the first page, if this is another.
    first: Option<String>,
}

/// The values of the filters, as the visitor wrote them.
struct RunsFilter {
    state: String,
    model: String,
    skill: String,
    key: String,
    since: String,
}

impl RunsFilter {
    fn is_empty(&self) -> bool {
        let values = [
            &self.state,
            &self.model,
            &self.skill,
            &self.key,
            &self.since,
        ];
        values.iter().all(|value| value.is_empty())
    }
}

/// A row of the list.
struct ListedRun {
    id: String,
    url: String,
    badge: StatusBadge,
    model: String,
    skills: Vec<StepSkill>,
    turns: String,
    tokens: String,
    cost: String,
    time: String,
    began: Option<Moment>,
    key: String,
}

#[derive(Deserialize)]
struct RunList {
    data: Vec<RunJson>,
    next_page: Option<String>,
}

/// A run, as the API lists it.
#[derive(Deserialize)]
struct RunJson {
    id: String,
    status: String,
    model: String,
    #[serde(default)]
    skills: Vec<StepSkill>,
    turns: Option<u64>,
    calls: Option<u64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost: Option<f64>,
    duration_ms: Option<u64>,
    created_at: Option<String>,
    key: Option<String>,
}

async fn list(visitor: Visitor, query: QueryFields) -> Result<Response, PageError> {
    let QueryFields(query) = query;
    let page = query.get("page");
    let path = address("/v1/runs", &query, page, Some(PAGE_SIZE));
    let found: RunList = visitor.api.get(&path).await?;
    let next = found.next_page.as_deref();
    let next = next.map(|next| address("/console/runs", &query, Some(next), None));
    let first = page.map(|_| address("/console/runs", &query, None, None));
    let value = |name: &str| query.get(name).unwrap_or_default().to_owned();
    Ok(html(&RunsPage {
        layout: Layout::new(&visitor, "Runs", Nav::Runs).with_curl(&path),
        filter: RunsFilter {
            state: value("state"),
            model: value("model"),
            skill: value("skill"),
            key: value("key"),
            since: value("since"),
        },
        states: &STATES,
        runs: found.data.into_iter().map(ListedRun::from).collect(),
        next,
        first,
    }))
}

/// A path with the filters of the query.
fn address(path: &str, query: &Fields, page: Option<&str>, limit: Option<&str>) -> String {
    let mut pairs: Vec<(&str, Option<&str>)> = FILTERS
        .iter()
        .map(|name| (*name, query.get(name)))
        .collect();
    pairs.push(("limit", limit));
    pairs.push(("page", page));
    with_query(path, &pairs)
}

impl From<RunJson> for ListedRun {
    fn from(run: RunJson) -> Self {
        // A kept run in progress has no figures yet.
        let is_counted = run.turns.is_some();
        let count = |number: Option<u64>| format::count(number.unwrap_or_default());
        let turns = format!("{} / {}", count(run.turns), count(run.calls));
        let tokens = format!("{} / {}", count(run.input_tokens), count(run.output_tokens));
        ListedRun {
            url: format!("/console/runs/{}", segment(&run.id)),
            badge: StatusBadge::new(&run.status),
            model: run.model,
            skills: run.skills,
            turns: if is_counted { turns } else { String::new() },
            tokens: if is_counted { tokens } else { String::new() },
            cost: run.cost.map(format::money).unwrap_or_default(),
            time: run.duration_ms.map(format::duration).unwrap_or_default(),
            began: run.created_at.as_deref().and_then(Moment::parse),
            key: run.key.unwrap_or_default(),
            id: run.id,
        }
    }
}
