//! `/console/upload`: skills as folders, archives or single files; what the checks say of them,
//! what is different, and then publishing them.
//!
//! The checks are the functions that the API uses for uploads, so that what passes here is
//! accepted there; publishing is a request to the API.
//!
//! | module | owns |
//! |---|---|
//! | `show` | the page |
//! | `form` | the files of a form, within limits |
//! | `group` | which files are one skill |
//! | `check`, `checked` | checks of uploaded skills; what they said |
//! | `snippet` | the lines that a remark is about |
//! | `publish`, `import` | publishing what was checked; skills from a URL |

mod check;
mod checked;
mod form;
mod group;
mod import;
mod publish;
mod show;
mod snippet;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use crate::state::ConsoleState;

/// Bytes of a form with files.
const MAX_UPLOAD_BYTES: usize = 64 << 20;

pub(crate) fn routes() -> Router<ConsoleState> {
    let check = post(check::check).layer(DefaultBodyLimit::max(MAX_UPLOAD_BYTES));
    Router::new()
        .route("/console/upload", get(show::show))
        .route("/console/upload/check", check)
        .route("/console/upload/publish", post(publish::publish))
        .route("/console/upload/import", post(import::import))
}
