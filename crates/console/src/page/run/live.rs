//! The page of a run in progress, alone or beside another one.

use askama::Template;
use axum::response::Response;

use super::answer::{RunAnswer, run_path};
use super::status::{StatusBadge, is_in_progress};
use crate::api::PageError;
use crate::format::Moment;
use crate::layout::{Layout, Nav};
use crate::query::segment;
use crate::render::html;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "run_live.html")]
struct LivePage {
    layout: Layout,
    panels: Vec<LivePanel>,
}

/// One run on the page.
struct LivePanel {
    id: String,
    /// The path of its page.
    url: String,
    model: String,
    dialect: String,
    badge: StatusBadge,
    began: Option<Moment>,
    is_in_progress: bool,
    /// The run beside it, which the page shows again after this one was stopped.
    beside: Option<String>,
}

/// Shows a run while it goes on, and another one if the address names it.
pub(crate) async fn live_page(
    visitor: &Visitor,
    run: RunAnswer,
    beside: Option<&str>,
) -> Result<Response, PageError> {
    let curl = format!("{}/events?format=steps", run_path(&run.id));
    let other = match beside {
        Some(id) => Some(RunAnswer::load(&visitor.api, id).await?),
        None => None,
    };
    let (first, second) = (run.id.clone(), other.as_ref().map(|other| other.id.clone()));
    let mut panels = vec![LivePanel::new(run, second)];
    panels.extend(other.map(|other| LivePanel::new(other, Some(first))));
    Ok(html(&LivePage {
        layout: Layout::new(visitor, "Run", Nav::Runs).with_curl(&curl),
        panels,
    }))
}

impl LivePanel {
    fn new(run: RunAnswer, beside: Option<String>) -> LivePanel {
        LivePanel {
            url: format!("/console/runs/{}", segment(&run.id)),
            model: run.model,
            dialect: run.dialect,
            badge: StatusBadge::new(&run.status),
            began: run.created_at.as_deref().and_then(Moment::parse),
            is_in_progress: is_in_progress(&run.status),
            beside,
            id: run.id,
        }
    }
}
