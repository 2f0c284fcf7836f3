//! Models that are known without configuration: their limits, prices, modalities and features.
//!
//! The facts are in `table.json`, one model per line, sorted, with the date as of which they
//! hold; `cargo xtask known-models` rewrites it from a price list. A price in the configuration
//! comes before one from here. How a request to a model must be written is not decided here but
//! in `prowess_wire`'s table of capabilities.
//!
//! | module | owns |
//! |---|---|
//! | `base_model` | the known model that a deployment of another name is |
//! | `of_target` | the facts of a target's model |
//! | `spelling` | the spellings of one name: dates, regions, prefixes |
//! | `vendor_prices` | what a vendor charges besides tokens, for all its models |

mod base_model;
mod of_target;
mod spelling;
mod vendor_prices;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use self::base_model::BaseModel;
use self::spelling::{plain_name, same_model_elsewhere};
pub(crate) use self::vendor_prices::complete;
use crate::config::Price;

const TABLE: &str = include_str!("table.json");
/// What precedes the date in the table; checked by the compiler in [`DATE`].
const DATE_START: &str = "{\"date\":\"";
const DATE_LENGTH: usize = "2026-01-31".len();

/// The date as of which the facts hold, as `YYYY-MM-DD`.
pub const DATE: &str = TABLE.split_at(DATE_START.len()).1.split_at(DATE_LENGTH).0;

/// What is known of a model at a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownModel {
    /// The provider's kind, or the name of a well-known provider.
    pub provider: String,
    /// The model, as the provider calls it.
    pub model: String,
    /// What it is for.
    pub task: KnownModelTask,
    /// Maximum tokens of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// Maximum tokens of a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The price of its tokens in US dollars; none if it is not sold by tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What it takes.
    pub takes: Vec<Modality>,
    /// What it gives.
    pub gives: Vec<Modality>,
    /// What it can do.
    pub supports: Vec<ModelFeature>,
}

/// What a known model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownModelTask {
    /// Conversations.
    Chat,
    /// Continuing a text, without messages.
    Completion,
    /// Embeddings.
    Embedding,
    /// Images.
    Image,
    /// Moderation of content.
    Moderation,
    /// Ordering documents for a query.
    Rerank,
    /// Speech from text.
    Speech,
    /// Text from speech.
    Transcription,
}

/// A kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Modality {
    /// Sound.
    Audio,
    /// Pictures.
    Image,
    /// PDF documents.
    Pdf,
    /// Text.
    Text,
    /// Vectors.
    Vector,
    /// Films.
    Video,
}

/// Something that some models can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelFeature {
    /// Reading earlier input from a cache.
    Caching,
    /// Operating a computer.
    ComputerUse,
    /// Several tool calls at once.
    ParallelTools,
    /// Thinking before it responds.
    Reasoning,
    /// Responses of a JSON schema.
    Schema,
    /// Calling tools.
    Tools,
    /// Searching the web.
    WebSearch,
}

#[derive(Deserialize)]
struct KnownModelsFile {
    models: Vec<KnownModel>,
}

/// The models of one provider.
#[derive(Default)]
struct ProviderModels {
    exact: HashMap<&'static str, &'static KnownModel>,
    /// By the name without date, region and prefix.
    plain: HashMap<String, &'static KnownModel>,
}

static MODELS: LazyLock<Vec<KnownModel>> =
    // The table is part of this program, and a test reads it.
    LazyLock::new(|| {
        serde_json::from_str::<KnownModelsFile>(TABLE)
            .map(|file| file.models)
            .unwrap_or_default()
    });

static INDEX: LazyLock<HashMap<&'static str, ProviderModels>> = LazyLock::new(|| {
    let mut index: HashMap<&'static str, ProviderModels> = HashMap::new();
    for known in MODELS.iter() {
        let models = index.entry(known.provider.as_str()).or_default();
        models.exact.insert(known.model.as_str(), known);
        // Of a model's regions the one without a prefix is first in the table.
        let plain = plain_name(&known.model);
        models.plain.entry(plain).or_insert(known);
    }
    index
});

/// All known models, sorted by provider and name.
pub fn all() -> &'static [KnownModel] {
    &MODELS
}

/// What is known of a model of a provider: the provider's kind, if it is at the kind's own
/// address, or the name of a well-known provider. The model may be spelled with a date, a
/// region or a path (`us.anthropic.…`, `…@20250929`, `models/…`).
pub fn find(provider: &str, model: &str) -> Option<&'static KnownModel> {
    let provider = match provider {
        "vertex_ai" => "vertex",
        provider => provider,
    };
    if let Some(known) = INDEX
        .get(provider)
        .and_then(|models| models.exact.get(model))
    {
        return Some(known);
    }
    let plain = plain_name(model);
    let at = |provider: &str, plain: &str| INDEX.get(provider)?.plain.get(plain).copied();
    at(provider, &plain).or_else(|| {
        let mut elsewhere = same_model_elsewhere(provider, &plain).into_iter();
        elsewhere.find_map(|(provider, name)| at(provider, &name))
    })
}

/// The price of a model in US dollars, if it is known. The provider is named as for [`find`].
pub fn price(provider: &str, model: &str) -> Option<Price> {
    let price = find(provider, model)?.price.clone()?;
    Some(complete(price, provider, model))
}

#[cfg(test)]
mod tests;
