//! Signing in with a key, and out. The key becomes a console session, which the server stores;
//! the browser gets a cookie with its id, and never the key back.
//!
//! | module | owns |
//! |---|---|
//! | `attempts` | how often an address may try |
//! | `show`, `submit`, `sign_out` | the requests of those names |

pub(crate) mod attempts;
mod show;
mod sign_out;
mod submit;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;

use crate::layout::Layout;
use crate::render::html_with_status;
use crate::state::ConsoleState;
use crate::visitor::MAX_NEXT_BYTES;

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/sign-in", get(show::show).post(submit::submit))
        .route("/console/sign-out", post(sign_out::sign_out))
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    layout: Layout,
    /// Where to go afterwards.
    next: String,
    error: Option<String>,
    /// Whether the server has no master key, so that nobody on its machine needs to sign in.
    is_open: bool,
}

fn page(status: StatusCode, next: &str, error: Option<String>, is_open: bool) -> Response {
    let page = SignInPage {
        layout: Layout::signed_out("Sign in"),
        next: next.to_owned(),
        error,
        is_open,
    };
    html_with_status(status, &page)
}

/// A page of the console, or the first one: an address from a link must lead nowhere else.
fn safe_next(next: Option<&str>) -> &str {
    const FIRST: &str = "/console/skills";
    let is_inside = |next: &&str| {
        let is_below = next.strip_prefix("/console");
        let is_below = is_below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
        let is_plain = next
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let is_short = next.len() <= MAX_NEXT_BYTES;
        is_below && is_plain && is_short && !next.starts_with("/console/sign-")
    };
    next.filter(is_inside).unwrap_or(FIRST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_leads_to_pages_of_the_console_only() {
        for next in [
            "/console",
            "/console/runs?state=failed",
            "/console/skills/x",
        ] {
            assert_eq!(safe_next(Some(next)), next);
        }
        for next in [
            "https://evil.example",
            "//evil.example/console",
            "/consolex",
            "/console/sign-in?next=/console",
            "/console/a\r\nset-cookie: x",
            "/console\\@evil.example",
            "",
        ] {
            assert_eq!(safe_next(Some(next)), "/console/skills", "{next:?}");
        }
    }
}
