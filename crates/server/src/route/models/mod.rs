//! `/v1/models`: the configured models and, if enabled, those that the providers list.

mod delete;
mod get;
mod list;
mod upstream_lists;

pub(crate) use upstream_lists::UpstreamModelLists;

use axum::Router;
use axum::http::StatusCode;
use axum::routing;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::Principal;
use crate::dialect::ApiDialect;
use crate::error::HttpError;

pub(super) fn routes() -> Router<App> {
    let model = routing::get(get::get);
    // Model names contain slashes.
    Router::new()
        .route("/models", routing::get(list::list))
        .route("/models/{*model}", model)
}

/// Deleting a model, which only OpenAI's API has.
pub(super) fn delete_routes() -> Router<App> {
    Router::new().route("/models/{*model}", routing::delete(delete::delete))
}

/// Whether a principal may call a model of this name.
fn is_callable(app: &App, principal: &Principal, name: &str) -> bool {
    let providers = app.settings().providers.as_ref();
    let route = providers.and_then(|providers| providers.route(name).ok());
    route.is_some() && principal.can_use_model(name)
}

/// A configured model has no creation date.
const NO_DATE: &str = "1970-01-01T00:00:00Z";

fn model_json(dialect: ApiDialect, name: &str, provider: &str) -> Value {
    match dialect {
        ApiDialect::Anthropic(_) => json!({
            "id": name,
            "type": "model",
            "display_name": name,
            "created_at": NO_DATE,
            "lifecycle": "active",
            "max_input_tokens": null,
            "max_tokens": null,
        }),
        ApiDialect::OpenAi => json!({
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": provider,
        }),
    }
}

/// A model in Google's format.
fn google_model_json(name: &str) -> Value {
    json!({
        "name": format!("models/{name}"),
        "version": "1",
        "displayName": name,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    })
}

fn not_found_error(name: &str) -> HttpError {
    let message = format!("model `{}` not found", prowess_wire::excerpt(name));
    HttpError::new(StatusCode::NOT_FOUND, "model-not-found", message)
}
