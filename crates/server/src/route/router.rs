//! The router: all routes of the table except calls to models, which skip it.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::OriginalUri;
use axum::middleware::from_fn;
use serde_json::Value;

use super::table::row::{RouteAction, RouteSetup};
use super::table::{self, mounts};
use super::unmatched::{method_not_allowed, not_found};
use crate::app::App;
use crate::audit::middleware::audit_attempts;
use crate::audit::rules;
use crate::{context, openapi};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi::build(table::rows()));

/// Builds the router.
pub(crate) fn build(app: App) -> Router {
    let mut router = Router::new();
    for prefix in mounts::ALL.iter().copied().flatten() {
        let routes = routes_below(prefix, &app);
        router = match *prefix {
            "" => router.merge(routes),
            prefix => router.nest(prefix, routes),
        };
    }
    router
        .fallback(not_found)
        .method_not_allowed_fallback(async |method, OriginalUri(uri)| {
            method_not_allowed(method, uri)
        })
        .layer(from_fn(context::middleware))
        .with_state(app)
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
