//! The pages, one folder each. A page reads answers of the API and fills a template; what it
//! changes, it changes by the API.

mod audit;
mod compare;
mod containers;
mod keys;
mod playground;
mod providers;
mod run;
mod runs;
mod settings;
mod skill;
mod skills;
mod upload;
mod usage;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;

use crate::api::PageError;
use crate::state::ConsoleState;
use crate::visitor::Visitor;

pub(crate) fn routes() -> Router<ConsoleState> {
    let first = || async { Redirect::to("/console/skills") };
    Router::new()
        .route("/console", get(first))
        .route("/console/", get(first))
        .route("/console/{*rest}", get(not_found))
        .merge(skills::routes())
        .merge(skill::routes())
        .merge(upload::routes())
        .merge(compare::routes())
        .merge(playground::routes())
        .merge(runs::routes())
        .merge(run::routes())
        .merge(containers::routes())
        .merge(usage::routes())
        .merge(keys::routes())
        .merge(providers::routes())
        .merge(audit::routes())
        .merge(settings::routes())
}

/// Only for those who are signed in: others learn nothing of which pages there are.
async fn not_found(_: Visitor) -> PageError {
    PageError::not_found("there is no such page in the console")
}
