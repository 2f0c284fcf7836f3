//! `GET /model/info`: the configured models, their prices, and what is known of them.

use axum::Json;
use axum::extract::State;
use prowess_provider::Providers;
use prowess_provider::config::Price;
use prowess_provider::known_models::{KnownModel, KnownModelTask, Modality, ModelFeature};
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
    /// What is known of the model without configuration.
    known: Option<&'static KnownModel>,
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
                    known: target.known_model(),
                })
            })
            .collect()
    }

    fn to_json(&self) -> Value {
        let per_token = |price: f64| price / TOKENS_PER_PRICE;
        let price = self.price.as_ref();
        let known = self.known;
        let output = known.and_then(|known| known.output);
        let supports = |feature| known.map(|known| known.supports.contains(&feature));
        json!({
            "model_name": self.name,
            "litellm_params": { "model": self.model },
            "model_info": {
                "id": self.name,
                "key": self.model,
                "db_model": false,
                "mode": known.map_or("chat", |known| litellm_mode(known.task)),
                "litellm_provider": self.provider,
                "input_cost_per_token": price.map(|price| per_token(price.input)),
                "output_cost_per_token": price.map(|price| per_token(price.output)),
                "cache_read_input_token_cost":
                    price.and_then(|price| price.cache_read).map(per_token),
                "cache_creation_input_token_cost":
                    price.and_then(|price| price.cache_write).map(per_token),
                "max_tokens": output,
                "max_input_tokens": known.and_then(|known| known.context),
                "max_output_tokens": output,
                "supports_function_calling": supports(ModelFeature::Tools),
                "supports_prompt_caching": supports(ModelFeature::Caching),
                "supports_reasoning": supports(ModelFeature::Reasoning),
                "supports_response_schema": supports(ModelFeature::Schema),
                "supports_vision": known.map(|known| known.takes.contains(&Modality::Image)),
            },
        })
    }
}

/// What LiteLLM calls the task of a model.
fn litellm_mode(task: KnownModelTask) -> &'static str {
    match task {
        KnownModelTask::Chat => "chat",
        KnownModelTask::Completion => "completion",
        KnownModelTask::Embedding => "embedding",
        KnownModelTask::Image => "image_generation",
        KnownModelTask::Moderation => "moderation",
        KnownModelTask::Rerank => "rerank",
        KnownModelTask::Speech => "audio_speech",
        KnownModelTask::Transcription => "audio_transcription",
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
