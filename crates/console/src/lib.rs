//! The web console: pages about skills, runs, usage and keys in a browser.
//!
//! Every page is made from answers of the server's own HTTP API, which is called in this
//! process as the principal that signed in ([`prowess_server::InProcessApi`]). So tenants,
//! scopes, limits and the audit log are those of the API, and this crate has no store, no SQL
//! and no engine. Whatever a skill, a model or a sandbox wrote is hostile here: templates
//! escape it, and nothing inline may run.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `state` | what all handlers share |
//! | `api` | calls of the server's API, as one principal |
//! | `visitor` | who looks at a page; the redirect of those who have not signed in |
//! | `cookie`, `sign_in` | the cookie of a console session; signing in and out |
//! | `guard` | refuses what other sites' pages send; headers of every response |
//! | `query` | queries and forms as browsers send them |
//! | `layout`, `render`, `error_page` | what all pages have; templates as responses; errors as pages |
//! | `format` | times, sizes and amounts as people read them |
//! | `markdown` | Markdown as HTML without any foreign HTML |
//! | `assets`, `compress` | style sheet and scripts, compiled in; pages with gzip |
//! | `chart`, `preview` | drawings; files as pages show them |
//! | `skill_archive` | the files of a version of a skill: list, one, all |
//! | `pending_uploads` | skills that were checked and wait to be published |
//! | `page` | the pages, one folder each |

mod api;
mod assets;
mod chart;
mod compress;
mod cookie;
mod error_page;
mod format;
mod guard;
mod layout;
mod markdown;
mod page;
mod pending_uploads;
mod preview;
mod query;
mod render;
mod sign_in;
mod skill_archive;
mod state;
mod visitor;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use prowess_server::App;

use crate::query::MAX_FORM_BYTES;
use crate::state::ConsoleState;

/// The console's routes: `/console` and everything below, for
/// [`ServeOptions::pages`](prowess_server::ServeOptions::pages).
pub fn router(app: &App) -> Router {
    let state = ConsoleState::new(app);
    Router::new()
        .merge(assets::routes())
        .merge(sign_in::routes())
        .merge(preview::routes())
        .merge(page::routes())
        .method_not_allowed_fallback(error_page::method_not_allowed)
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .layer(from_fn(error_page::render_errors))
        .layer(from_fn(compress::compress))
        .layer(from_fn(guard::check))
        .with_state(state)
}
