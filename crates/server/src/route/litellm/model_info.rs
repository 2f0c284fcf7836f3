//! `GET /model/info`: the configured models and their prices.

use axum::Json;
use axum::extract::State;
use prowess_provider::Providers;
use prowess_provider::config::Price;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;

/// Prices are per million tokens.
const TOKENS_PER_PRICE: f64 = 1e6;

/// A configured model.
pub(super) struct ConfiguredModel {
    /// The name that clients use.
    pub(super) name: String,
    /// The provider's name and its model name.
    pub(super) model: String,
    provider: String,
    price: Option<Price>,
}

impl ConfiguredModel {
    /// All that a principal may use, in configuration order.
    pub(super) fn all(app: &App, principal: &Principal) -> Vec<ConfiguredModel> {
        let Some(providers) = app.settings().providers.as_ref() else {
            return Vec::new();
        };
        let entries = Providers::models(providers).into_iter();
        entries
            // A pattern is not a model.
            .filter(|entry| !entry.name.ends_with('*') && principal.can_use_model(&entry.name))
            .filter_map(|entry| {
                let route = providers.route(&entry.name).ok()?;
                let target = route.targets().first()?;
                Some(ConfiguredModel {
                    name: entry.name,
                    model: format!("{}/{}", target.provider(), target.model()),
                    provider: target.provider().to_owned(),
                    price: target.price().cloned(),
                })
            })
            .collect()
    }

    fn to_json(&self) -> Value {
        let per_token = |price: f64| price / TOKENS_PER_PRICE;
        let price = self.price.as_ref();
        json!({
            "model_name": self.name,
            "litellm_params": { "model": self.model },
            "model_info": {
                "id": self.name,
                "key": self.model,
                "db_model": false,
                "mode": "chat",
                "litellm_provider": self.provider,
                "input_cost_per_token": price.map(|price| per_token(price.input)),
                "output_cost_per_token": price.map(|price| per_token(price.output)),
                "max_tokens": null,
                "max_input_tokens": null,
                "max_output_tokens": null,
            },
        })
    }
}

/// All of them, or the one in `litellm_model_id`.
pub(super) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::Browse)?;
    let mut models = ConfiguredModel::all(&app, &principal);
    if let Some(id) = query.get("litellm_model_id") {
        models.retain(|model| model.name == id);
    }
    let data: Vec<Value> = models.iter().map(ConfiguredModel::to_json).collect();
    Ok(Json(json!({ "data": data })))
}
