//! From a configuration to the table of names, checked.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::{Entry, Table};
use crate::breaker::Breaker;
use crate::config::{Config, ConfigError, ModelConfig};
use crate::lane::Lane;
use crate::limit::Limiter;
use crate::provider::Provider;
use crate::usual;

impl Table {
    pub(crate) fn build(config: Config) -> Result<Self, ConfigError> {
        let mut table = Table {
            models: Vec::new(),
            providers: build_providers(&config)?,
            exact: HashMap::new(),
            wild: Vec::new(),
            usual: Mutex::default(),
            policies: config.usual,
            env: config.env,
        };
        let mut entries = Vec::with_capacity(config.models.len());
        for model in &config.models {
            let entry = Arc::new(table.entry(model)?);
            table.add(model, &entry)?;
            entries.push(entry);
        }
        table.wild.sort_by_key(|(prefix, _)| Reverse(prefix.len()));
        for (model, entry) in config.models.iter().zip(&entries) {
            table.add_fallbacks(model, entry)?;
        }
        table.models = config.models;
        Ok(table)
    }

    fn entry(&self, model: &ModelConfig) -> Result<Entry, ConfigError> {
        let provider = match self.provider(&model.provider) {
            Some(provider) => provider,
            None => self.usual_for_entry(model)?,
        };
        let limiter = model.limit.clone();
        if limiter.as_ref().is_some_and(|limit| limit.concurrent == 0) {
            return Err(ConfigError::BadLimit {
                entry: format!("models.{}.limit", model.name),
            });
        }
        check_price(model)?;
        let breaker = model.breaker.as_ref().unwrap_or(&provider.breaker);
        Ok(Entry {
            lane: Arc::new(Lane {
                breaker: Breaker::new(&provider.name, breaker),
                limiter: limiter.map(|limit| Limiter::new(&model.name, limit)),
                write: model.write.clone(),
                price: model.price.clone(),
            }),
            provider,
            name: model.name.clone(),
            model: model.model.clone(),
            fallbacks: OnceLock::new(),
        })
    }

    /// An entry may name a provider that needs no configuration.
    fn usual_for_entry(&self, model: &ModelConfig) -> Result<Arc<Provider>, ConfigError> {
        let entry = format!("models.{}.provider", model.name);
        match usual::by_name(&model.provider) {
            Some(usual) => self.usual(usual),
            None => Err(ConfigError::UnknownProvider {
                entry,
                name: model.provider.clone(),
                hint: self.provider_hint(),
            }),
        }
    }

    fn add(&mut self, model: &ModelConfig, entry: &Arc<Entry>) -> Result<(), ConfigError> {
        for name in std::iter::once(&model.name).chain(&model.aliases) {
            check_name(name, &model.name)?;
            let taken = match name.strip_suffix('*') {
                Some(prefix) => {
                    let taken = self.wild.iter().any(|(known, _)| known == prefix);
                    self.wild.push((prefix.to_owned(), Arc::clone(entry)));
                    taken
                }
                None => self.exact.insert(name.clone(), Arc::clone(entry)).is_some(),
            };
            if taken {
                return Err(ConfigError::Duplicate {
                    entry: format!("models.{name}"),
                });
            }
        }
        Ok(())
    }

    /// Once all names are known, those of fallbacks are looked up.
    fn add_fallbacks(&self, model: &ModelConfig, entry: &Entry) -> Result<(), ConfigError> {
        let mut fallbacks = Vec::new();
        for name in &model.fallbacks {
            let route = self.route(name).map_err(|error| ConfigError::Fallback {
                entry: format!("models.{}.fallbacks", model.name),
                error,
            })?;
            fallbacks.extend(route.targets.into_iter().next());
        }
        // Set once per entry, so it cannot be taken yet.
        let _ = entry.fallbacks.set(fallbacks);
        Ok(())
    }
}

fn build_providers(config: &Config) -> Result<Vec<Arc<Provider>>, ConfigError> {
    let mut providers: Vec<Arc<Provider>> = Vec::new();
    for entry in &config.providers {
        if entry.name.is_empty() || entry.name.contains(['/', '*']) {
            return Err(ConfigError::BadName {
                entry: format!("providers.{}", entry.name),
                why: "a provider's name must not be empty nor hold / or *",
            });
        }
        if providers.iter().any(|known| known.name == entry.name) {
            return Err(ConfigError::Duplicate {
                entry: format!("providers.{}", entry.name),
            });
        }
        providers.push(Arc::new(Provider::build(entry, &config.env)?));
    }
    Ok(providers)
}

fn check_price(model: &ModelConfig) -> Result<(), ConfigError> {
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
        Some(price) => Err(ConfigError::BadPrice {
            entry: format!("models.{}", model.name),
            price: price.to_string(),
        }),
    }
}

fn check_name(name: &str, model: &str) -> Result<(), ConfigError> {
    let entry = format!("models.{model}");
    let body = name.strip_suffix('*').unwrap_or(name);
    if name.is_empty() {
        let why = "a model's name must not be empty";
        return Err(ConfigError::BadName { entry, why });
    }
    if body.contains('*') {
        let why = "a * may only stand at the end of a name";
        return Err(ConfigError::BadName { entry, why });
    }
    Ok(())
}
