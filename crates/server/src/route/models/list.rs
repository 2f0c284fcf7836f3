//! `GET /v1/models`

use std::collections::HashSet;

use axum::Json;
use axum::extract::State;
use prowess_provider::Providers;
use prowess_store::Page;
use serde_json::{Value, json};

use super::{google, object};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::{Dialect, IsGoogle};
use crate::error::ApiError;
use crate::render;

/// There are few of them, so they come in one page.
pub(crate) async fn list(
    State(app): State<App>,
    dialect: Dialect,
    IsGoogle(is_google): IsGoogle,
    caller: Caller,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::Look)?;
    let providers = app.settings().providers.as_ref();
    let mut models = providers.map(Providers::models).unwrap_or_default();
    // A pattern is no model.
    models.retain(|model| !model.name.ends_with('*'));
    if let (Some(providers), true) = (providers, app.settings().upstream_models) {
        let listed = app.model_lists().get(providers).await;
        let known: HashSet<String> = models.iter().map(|model| model.name.clone()).collect();
        let new = listed.iter().filter(|model| !known.contains(&model.name));
        models.extend(new.cloned());
    }
    models.retain(|model| caller.may_use(&model.name));
    if is_google {
        let items: Vec<_> = models.iter().map(|model| google(&model.name)).collect();
        return Ok(Json(json!({ "models": items })));
    }
    let items: Vec<_> = models
        .iter()
        .map(|model| object(dialect, &model.name, &model.provider))
        .collect();
    Ok(Json(match dialect {
        Dialect::Anthropic(_) => render::anthropic::page_by_id(Page { items, next: None }),
        Dialect::OpenAi => render::openai::list(items, false),
    }))
}
