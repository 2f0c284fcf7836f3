//! Builds and validates the routing table.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::{RouteEntry, RoutingTable};
use crate::breaker::CircuitBreaker;
use crate::config::{ModelConfig, ProviderConfigError, ProvidersConfig};
use crate::limiter::ConcurrencyLimiter;
use crate::model_slot::ModelSlot;
use crate::provider::Provider;
use crate::well_known;

impl RoutingTable {
    pub(crate) fn build(config: ProvidersConfig) -> Result<Self, ProviderConfigError> {
        let mut table = RoutingTable {
            models: Vec::new(),
            providers: build_providers(&config)?,
            exact: HashMap::new(),
            patterns: Vec::new(),
            well_known: Mutex::default(),
            default_policies: config.default_policies,
            env: config.env,
        };
        let mut entries = Vec::with_capacity(config.models.len());
        for model in &config.models {
            let entry = Arc::new(table.build_entry(model)?);
            table.add_names(model, &entry)?;
            entries.push(entry);
        }
        table
            .patterns
            .sort_by_key(|(prefix, _)| Reverse(prefix.len()));
        for (model, entry) in config.models.iter().zip(&entries) {
            table.add_fallbacks(model, entry)?;
        }
        table.models = config.models;
        Ok(table)
    }

    fn build_entry(&self, model: &ModelConfig) -> Result<RouteEntry, ProviderConfigError> {
        let provider = match self.configured_provider(&model.provider) {
            Some(provider) => provider,
            None => self.well_known_for_entry(model)?,
        };
        let limiter = model.limit.clone();
        if limiter.as_ref().is_some_and(|limit| limit.concurrent == 0) {
            return Err(ProviderConfigError::BadLimit {
                entry: format!("models.{}.limit", model.name),
            });
        }
        check_price(model)?;
        let breaker = model.breaker.as_ref().unwrap_or(&provider.breaker);
        Ok(RouteEntry {
            slot: Arc::new(ModelSlot {
                breaker: CircuitBreaker::new(&provider.name, breaker),
                limiter: limiter.map(|limit| ConcurrencyLimiter::new(&model.name, limit)),
                write_overrides: model.write_overrides.clone(),
                price: model.price.clone(),
            }),
            provider,
            name: model.name.clone(),
            model: model.model.clone(),
            fallbacks: OnceLock::new(),
        })
    }

    /// An entry may name a well-known provider, which needs no configuration.
    fn well_known_for_entry(
        &self,
        model: &ModelConfig,
    ) -> Result<Arc<Provider>, ProviderConfigError> {
        let entry = format!("models.{}.provider", model.name);
        match well_known::by_name(&model.provider) {
            Some(well_known) => self.well_known_provider(well_known),
            None => Err(ProviderConfigError::UnknownProvider {
                entry,
                name: model.provider.clone(),
                hint: self.provider_hint(),
            }),
        }
    }

    fn add_names(
        &mut self,
        model: &ModelConfig,
        entry: &Arc<RouteEntry>,
    ) -> Result<(), ProviderConfigError> {
        for name in std::iter::once(&model.name).chain(&model.aliases) {
            check_name(name, &model.name)?;
            let taken = match name.strip_suffix('*') {
                Some(prefix) => {
                    let taken = self.patterns.iter().any(|(known, _)| known == prefix);
                    self.patterns.push((prefix.to_owned(), Arc::clone(entry)));
                    taken
                }
                None => self.exact.insert(name.clone(), Arc::clone(entry)).is_some(),
            };
            if taken {
                return Err(ProviderConfigError::Duplicate {
                    entry: format!("models.{name}"),
                });
            }
        }
        Ok(())
    }

    /// Resolves the names of fallbacks, once all names are known.
    fn add_fallbacks(
        &self,
        model: &ModelConfig,
        entry: &RouteEntry,
    ) -> Result<(), ProviderConfigError> {
        let mut fallbacks = Vec::new();
        for name in &model.fallbacks {
            let route = self
                .route(name)
                .map_err(|error| ProviderConfigError::Fallback {
                    entry: format!("models.{}.fallbacks", model.name),
                    error,
                })?;
            fallbacks.extend(route.targets.into_iter().next());
        }
        // Set once per entry, so it cannot fail.
        let _ = entry.fallbacks.set(fallbacks);
        Ok(())
    }
}

fn build_providers(config: &ProvidersConfig) -> Result<Vec<Arc<Provider>>, ProviderConfigError> {
    let mut providers: Vec<Arc<Provider>> = Vec::new();
    for entry in &config.providers {
        if entry.name.is_empty() || entry.name.contains(['/', '*']) {
            return Err(ProviderConfigError::BadName {
                entry: format!("providers.{}", entry.name),
                why: "a provider's name must not be empty or contain / or *",
            });
        }
        if providers.iter().any(|known| known.name == entry.name) {
            return Err(ProviderConfigError::Duplicate {
                entry: format!("providers.{}", entry.name),
            });
        }
        providers.push(Arc::new(Provider::build(entry, &config.env)?));
    }
    Ok(providers)
}

fn check_price(model: &ModelConfig) -> Result<(), ProviderConfigError> {
    let Some(price) = &model.price else {
        return Ok(());
    };
    let all = [
        Some(price.input),
        Some(price.output),
        price.cache_read,
        price.cache_write,
    ];
    let bad = all
        .into_iter()
        .flatten()
        .find(|price| !price.is_finite() || *price < 0.0);
    match bad {
        None => Ok(()),
        Some(price) => Err(ProviderConfigError::BadPrice {
            entry: format!("models.{}", model.name),
            price: price.to_string(),
        }),
    }
}

fn check_name(name: &str, model: &str) -> Result<(), ProviderConfigError> {
    let entry = format!("models.{model}");
    let body = name.strip_suffix('*').unwrap_or(name);
    if name.is_empty() {
        let why = "a model's name must not be empty";
        return Err(ProviderConfigError::BadName { entry, why });
    }
    if body.contains('*') {
        let why = "a * is only allowed at the end of a name";
        return Err(ProviderConfigError::BadName { entry, why });
    }
    Ok(())
}
