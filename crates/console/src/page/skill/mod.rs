//! `/console/skills/{id}`: a skill in one of its versions: instructions, files, versions, usage,
//! and how to use it from elsewhere.
//!
//! | module | owns |
//! |---|---|
//! | `show` | the page |
//! | `view` | skill and version, from answers of the API |
//! | `tab` | what tabs have in common |
//! | `instructions`, `files`, `versions`, `usage`, `install` | the tabs |
//! | `change` | what the forms of the page do |
//! | `download` | a version as a zip |

mod change;
mod download;
mod files;
mod install;
mod instructions;
mod show;
mod tab;
mod usage;
mod versions;
pub(super) mod view;

use axum::Router;
use axum::routing::{get, post};

use crate::state::ConsoleState;

pub(crate) fn routes() -> Router<ConsoleState> {
    let version = "/console/skills/{skill}/versions/{version}";
    let below = |name: &str| format!("{version}/{name}");
    Router::new()
        .route("/console/skills/{skill}", get(show::show_default))
        .route(version, get(show::show_version))
        .route(&below("download"), get(download::download))
        .route(&below("notes"), post(change::set_notes))
        .route(&below("revoke"), post(change::revoke))
        .route(&below("restore"), post(change::restore))
        .route(&below("delete"), post(change::delete_version))
        .route("/console/skills/{skill}/default", post(change::set_default))
        .route("/console/skills/{skill}/labels", post(change::set_label))
        .route(
            "/console/skills/{skill}/labels/delete",
            post(change::delete_label),
        )
        .route("/console/skills/{skill}/delete", post(change::delete_skill))
}
