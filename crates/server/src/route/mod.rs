//! All routes. One file per verb; each reads its request, calls the store, and writes the
//! response in the request's dialect.

mod containers;
pub(crate) mod discovery;
mod files;
pub(crate) mod gateway;
mod health;
mod litellm;
mod mcp;
mod models;
mod runs;
mod skills;
mod usage;

use axum::Router;
use axum::extract::OriginalUri;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::from_fn;
use axum::routing::get;
use prowess_wire::excerpt;

pub(crate) use files::PURPOSES;
pub(crate) use gateway::{OpenSockets, SocketMemories};
pub(crate) use mcp::Mcp;
pub(crate) use models::UpstreamModelLists;

use crate::app::App;
use crate::context;
use crate::error::HttpError;
use crate::openapi;

/// Mounts of the same API: as the vendors have it, and with the dialect in the path. Some
/// clients send their base URL's `/v1` twice.
const MOUNTS: [&str; 6] = [
    "/v1",
    "/v1/v1",
    "/anthropic/v1",
    "/anthropic/v1/v1",
    "/openai/v1",
    "/openai/v1/v1",
];

/// Mounts of Google's API, besides the paths of calls to models.
const GOOGLE_MOUNTS: [&str; 7] = [
    "/v1beta",
    "/v1beta/v1beta",
    "/v1alpha",
    "/gemini/v1",
    "/gemini/v1beta",
    "/gemini/v1beta/v1beta",
    "/gemini/v1alpha",
];
/// LiteLLM's clients omit `/v1`. What LiteLLM serves there is served there too.
const ROOT: &str = "";

/// All routes except calls to models.
pub(crate) fn router(app: App) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi::document))
        .merge(discovery::routes())
        .merge(mcp::routes());
    for mount in MOUNTS {
        let mut routes = api_routes(&app);
        if !mount.starts_with("/anthropic") {
            routes = routes.merge(models::delete_routes());
        }
        router = router.nest(mount, routes).merge(gateway::routes(mount));
    }
    for mount in GOOGLE_MOUNTS {
        let google = models::routes().merge(files::google_routes());
        router = router.nest(mount, google);
    }
    let router = router
        .merge(gateway::routes(ROOT))
        .merge(models::routes())
        .merge(models::delete_routes())
        .merge(files::routes(&app))
        .merge(containers::routes(&app))
        .merge(litellm::routes());
    router
        .fallback(not_found)
        .method_not_allowed_fallback(async |method, OriginalUri(uri)| {
            method_not_allowed(method, uri)
        })
        .layer(from_fn(context::middleware))
        .with_state(app)
}

fn api_routes(app: &App) -> Router<App> {
    skills::routes(app)
        .merge(files::routes(app))
        .merge(containers::routes(app))
        .merge(models::routes())
        .merge(runs::routes())
        .merge(usage::routes())
}

async fn not_found(method: Method, uri: Uri) -> HttpError {
    HttpError::new(
        StatusCode::NOT_FOUND,
        "route-not-found",
        format!("no route {method} {}", excerpt(uri.path())),
    )
}

pub(crate) fn method_not_allowed(method: Method, uri: Uri) -> HttpError {
    HttpError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        format!("method {method} not allowed for {}", excerpt(uri.path())),
    )
}
