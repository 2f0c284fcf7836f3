//! Prices of models that have none configured, from the table of known models.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::config::Price;
use crate::known_models;
use crate::provider::{Provider, ProviderBackend};

/// Names per provider that are remembered; others are looked up each time.
const MAX_NAMES: usize = 1_024;
/// The longest name that is remembered.
const MAX_NAME_BYTES: usize = 256;

/// The prices of a provider's models that were found, or not found.
type ModelPrices = HashMap<String, Option<Arc<Price>>>;

/// Prices that were looked up, by provider and model.
#[derive(Debug, Default)]
pub(super) struct KnownPrices {
    found: RwLock<HashMap<String, ModelPrices>>,
}

impl KnownPrices {
    /// The price of a model, if it is known.
    pub(super) fn find(&self, provider: &Provider, model: &str) -> Option<Arc<Price>> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        let models = found.get(&provider.name);
        if let Some(price) = models.and_then(|models| models.get(model)) {
            return price.clone();
        }
        drop(found);
        let price = known_price(provider, model).map(Arc::new);
        let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
        let models = found.entry(provider.name.clone()).or_default();
        if models.len() < MAX_NAMES && model.len() <= MAX_NAME_BYTES {
            models.insert(model.to_owned(), price.clone());
        }
        price
    }
}

/// The price of a known model of a provider. A server that only has the API of another is not
/// that provider, unless it is a well-known one by its own name.
pub(super) fn known_price(provider: &Provider, model: &str) -> Option<Price> {
    known_models::price(vendor(provider)?, model)
}

/// A configured price of a provider's model, with what the vendor charges besides.
pub(super) fn complete_price(price: Price, provider: &Provider, model: &str) -> Price {
    match vendor(provider) {
        Some(vendor) => known_models::complete(price, vendor, model),
        None => price,
    }
}

/// The name that a provider has in the table.
fn vendor(provider: &Provider) -> Option<&str> {
    let is_compatible = match &provider.backend {
        ProviderBackend::Http(http) => provider.kind == "openai" && !http.upstream.is_openai(),
        ProviderBackend::Scripted(_) => return None,
    };
    match is_compatible {
        true => Some(provider.name.as_str()),
        false => Some(provider.kind),
    }
}
