//! `/console/playground`: a request with skills, on one model or on two beside each other.
//!
//! | module | owns |
//! |---|---|
//! | `form` | what the visitor filled in, from an address or a form |
//! | `request` | the request that this makes, in each dialect |
//! | `snippets` | the same request as a program |
//! | `show` | the page |
//! | `start` | starting the run |
//! | `upload` | files that are sent along |

mod form;
mod request;
mod show;
mod snippets;
mod start;
mod upload;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::get;

use crate::state::ConsoleState;

/// Bytes of the form with its files, which are held in memory.
const MAX_FORM_BYTES: usize = 32 << 20;

pub(crate) fn routes() -> Router<ConsoleState> {
    let page = get(show::show).post(start::start);
    let page = page.layer(DefaultBodyLimit::max(MAX_FORM_BYTES));
    Router::new().route("/console/playground", page)
}
