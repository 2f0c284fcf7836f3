//! The router: all routes of the table except calls to models, which skip it.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::OriginalUri;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::any;
use serde_json::Value;

use super::table::row::{RouteAction, RouteSetup};
use super::table::{self, mounts};
use super::unmatched::{method_not_allowed, not_found};
use crate::app::App;
use crate::audit::middleware::audit_attempts;
use crate::audit::rules;
use crate::{context, openapi};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi::build(table::rows()));

/// Builds the router. Pages have paths of their own, below `/console`; a browser that opens `/`
/// is sent there.
pub(crate) fn build(app: App, pages: Option<Router>) -> Router {
    let mut router = Router::new();
    for prefix in mounts::ALL.iter().copied().flatten() {
        let routes = routes_below(prefix, &app);
        router = match *prefix {
            "" => router.merge(routes),
            prefix => router.nest(prefix, routes),
        };
    }
    let routes = router
        .fallback(not_found)
        .method_not_allowed_fallback(async |method, OriginalUri(uri)| {
            method_not_allowed(method, uri)
        })
        .with_state(app);
    let routes = match pages {
        Some(pages) => routes.route("/", any(open_pages)).merge(pages),
        None => routes,
    };
    routes.layer(from_fn(context::middleware))
}

/// `/` is no route of the API: whoever does not want a page is told so.
async fn open_pages(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let takes_pages = accepted.is_some_and(|kinds| kinds.contains("text/html"));
    if takes_pages && matches!(method, Method::GET | Method::HEAD) {
        return Redirect::to("/console").into_response();
    }
    not_found(method, uri).await.into_response()
}

/// The routes of one mount.
fn routes_below(prefix: &str, app: &App) -> Router<App> {
    let setup = RouteSetup {
        app,
        document: &DOCUMENT,
    };
    let mut routes = Router::new();
    for row in table::handler_rows().filter(|row| row.is_below(prefix)) {
        if let RouteAction::Handler(build) = row.action {
            let handler = build(row.method, &setup);
            let handler = audit_attempts(handler, app, rules::find(row));
            routes = routes.route(row.path, handler);
        }
    }
    routes
}
