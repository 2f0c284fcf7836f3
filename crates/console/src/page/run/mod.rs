//! `/console/runs/{run}`: one run, while it goes on and after its end.
//!
//! | module | owns |
//! |---|---|
//! | `answer`, `step` | a run and its events, as the API has them |
//! | `show` | the page of a run that has ended |
//! | `live` | the page of runs in progress, one or two beside each other |
//! | `watch`, `event_lines` | events of a run in progress, each rendered once |
//! | `fragment` | one event as HTML |
//! | `timeline` | what took the time of a run |
//! | `status` | states, as people read them |
//! | `cancel` | the button that stops a run |

mod answer;
mod cancel;
mod event_lines;
mod fragment;
mod live;
mod show;
mod status;
mod step;
mod timeline;
mod watch;

use axum::Router;
use axum::routing::{get, post};

use crate::state::ConsoleState;

pub(crate) use status::StatusBadge;
pub(crate) use step::StepSkill;

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/runs/{run}", get(show::show))
        .route("/console/runs/{run}/events", get(watch::watch))
        .route("/console/runs/{run}/cancel", post(cancel::cancel))
        .route("/console/runs/{run}/export", get(show::export))
}
