//! `/v1/models`: what the configuration offers and, where that is wanted, what the
//! providers list themselves.

mod delete;
mod get;
mod list;
mod upstreams;

pub(crate) use upstreams::UpstreamLists;

use axum::Router;
use axum::http::StatusCode;
use axum::routing;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::Caller;
use crate::dialect::Dialect;
use crate::error::ApiError;

pub(super) fn routes() -> Router<App> {
    let model = routing::get(get::get);
    // Names of models hold slashes.
    Router::new()
        .route("/models", routing::get(list::list))
        .route("/models/{*model}", model)
}

/// Deleting a model, which OpenAI alone has.
pub(super) fn delete_routes() -> Router<App> {
    Router::new().route("/models/{*model}", routing::delete(delete::delete))
}

/// Whether a caller may call a model of this name.
fn is_there(app: &App, caller: &Caller, name: &str) -> bool {
    let providers = app.settings().providers.as_ref();
    let route = providers.and_then(|providers| providers.route(name).ok());
    route.is_some() && caller.may_use(name)
}

/// A model is configured, not made: it has no date of its own.
const NO_DATE: &str = "1970-01-01T00:00:00Z";

fn object(dialect: Dialect, name: &str, provider: &str) -> Value {
    match dialect {
        Dialect::Anthropic(_) => json!({
            "id": name,
            "type": "model",
            "display_name": name,
            "created_at": NO_DATE,
            "lifecycle": "active",
            "max_input_tokens": null,
            "max_tokens": null,
        }),
        Dialect::OpenAi => json!({
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": provider,
        }),
    }
}

/// A model as Google's API tells of one.
fn google(name: &str) -> Value {
    json!({
        "name": format!("models/{name}"),
        "version": "1",
        "displayName": name,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    })
}

fn unknown(name: &str) -> ApiError {
    let message = format!("model `{}` not found", prowess_wire::excerpt(name));
    ApiError::new(StatusCode::NOT_FOUND, "model-not-found", message)
}
