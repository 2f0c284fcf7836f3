//! A run, as the API has it, and the events of a kept one.

use axum::body::Body;
use http::Request;
use serde::Deserialize;

use super::event_lines::{EventLines, ReadEvent};
use super::status::is_in_progress;
use super::step::{MadeFile, StepSkill, WatchedStep};
use crate::api::{Api, PageError};
use crate::query::segment;

/// Bytes of events that are read for one page.
const MAX_EVENT_BYTES: usize = 8 << 20;

/// A run. A kept one in progress has no figures yet.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RunAnswer {
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) model: String,
    pub(crate) provider: Option<String>,
    pub(crate) dialect: String,
    pub(crate) turns: Option<u64>,
    pub(crate) calls: Option<u64>,
    pub(crate) input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) cost: Option<f64>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) created_at: Option<String>,
    pub(crate) container: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) skills: Vec<StepSkill>,
    pub(crate) files: Vec<MadeFile>,
    pub(crate) events: Vec<WatchedStep>,
    /// Only kept runs without a record have it.
    pub(crate) steps: Option<u64>,
}

impl RunAnswer {
    pub(crate) async fn load(api: &Api, run: &str) -> Result<RunAnswer, PageError> {
        api.get(&run_path(run)).await
    }

    /// The page of its container.
    pub(crate) fn container_url(&self) -> String {
        let container = self.container.as_deref().unwrap_or_default();
        format!("/console/containers/{}", segment(container))
    }

    /// Whether it can be watched: a kept run that goes on.
    pub(crate) fn is_live(&self) -> bool {
        self.steps.is_some() && is_in_progress(&self.status)
    }
}

/// The path of a run in the API.
pub(crate) fn run_path(run: &str) -> String {
    format!("/v1/runs/{}", segment(run))
}

/// The events of a run that has ended, from its log, which has texts that records may not have.
/// None if there is no log of it, or it is too long for a page.
pub(crate) async fn load_log(api: &Api, run: &str) -> Option<Vec<WatchedStep>> {
    let path = format!("{}/events?format=steps", run_path(run));
    let request = Request::get(path).body(Body::empty()).ok()?;
    let response = api.send(request).await.ok()?;
    let body = axum::body::to_bytes(response.into_body(), MAX_EVENT_BYTES);
    let events = EventLines::default().push(&body.await.ok()?)?;
    let steps = events.into_iter().filter_map(|event| match event {
        ReadEvent::Step(_, step) => Some(*step),
        ReadEvent::Ping => None,
    });
    let steps: Vec<WatchedStep> = steps.collect();
    // Logs of earlier versions have texts only.
    let has_steps = steps.iter().any(|step| step.kind == "turn");
    has_steps.then_some(steps)
}
