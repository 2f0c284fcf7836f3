//! `GET /v1/models`

use std::collections::HashSet;

use axum::Json;
use axum::extract::State;
use prowess_provider::Providers;
use prowess_store::RecordPage;
use serde_json::{Value, json};

use super::{google_model_json, known_model, model_json};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::{ApiDialect, IsGoogle};
use crate::error::HttpError;
use crate::render;

/// There are few, so they fit in one page.
pub(crate) async fn list(
    State(app): State<App>,
    dialect: ApiDialect,
    IsGoogle(is_google): IsGoogle,
    principal: Principal,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::Browse)?;
    let providers = app.settings().providers.as_ref();
    let mut models = providers.map(Providers::models).unwrap_or_default();
    // A pattern is not a model.
    models.retain(|model| !model.name.ends_with('*'));
    if let (Some(providers), true) = (providers, app.settings().upstream_models) {
        let listed = app.model_lists().get(providers).await;
        let known: HashSet<String> = models.iter().map(|model| model.name.clone()).collect();
        let new = listed.iter().filter(|model| !known.contains(&model.name));
        models.extend(new.cloned());
    }
    models.retain(|model| principal.can_use_model(&model.name));
    if is_google {
        let items: Vec<_> = models
            .iter()
            .map(|model| google_model_json(&model.name, known_model(providers, &model.name)))
            .collect();
        return Ok(Json(json!({ "models": items })));
    }
    let items: Vec<_> = models
        .iter()
        .map(|model| {
            let known = known_model(providers, &model.name);
            model_json(dialect, &model.name, &model.provider, known)
        })
        .collect();
    Ok(Json(match dialect {
        ApiDialect::Anthropic(_) => render::anthropic::page_by_id(RecordPage { items, next: None }),
        ApiDialect::OpenAi => render::openai::list(items, false),
    }))
}
