//! Builds and validates the routing table.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::RoutingTable;
use super::entry::{EntryDeployment, RouteEntry};
use super::known_prices::{KnownPrices, complete_price, known_price};
use super::merge::merge_entries;
use crate::breaker::CircuitBreaker;
use crate::config::{
    CooldownPolicy, DeploymentConfig, ModelConfig, Price, ProviderConfig, ProviderConfigError,
    ProvidersConfig,
};
use crate::deployments::group::DeploymentGroup;
use crate::deployments::state::DeploymentState;
use crate::deployments::sticky::StickyMap;
use crate::env::Env;
use crate::known_models::BaseModel;
use crate::limiter::ConcurrencyLimiter;
use crate::model_slot::ModelSlot;
use crate::provider::Provider;
use crate::well_known;

/// How long a conversation prefers a deployment: as long as providers usually keep a prompt.
const DEFAULT_STICKY: Duration = Duration::from_secs(300);

impl RoutingTable {
    /// Builds and validates the table. Fails with the first error; those that are found beside
    /// it are added to `others`. What an error may have caused is not checked: models where a
    /// provider is invalid, and fallbacks where a model is.
    pub(crate) fn build(
        config: ProvidersConfig,
        others: &mut Vec<ProviderConfigError>,
    ) -> Result<Self, ProviderConfigError> {
        let mut table = RoutingTable {
            models: Vec::new(),
            providers: build_providers(&config, others)?,
            entries: Vec::new(),
            exact: HashMap::new(),
            patterns: Vec::new(),
            well_known: Mutex::default(),
            default_policies: config.default_policies,
            env: config.env,
            known_prices: KnownPrices::default(),
        };
        let models = merge_entries(config.models)?;
        let mut errors = Vec::new();
        for model in &models {
            let added = table.build_entry(model).and_then(|entry| {
                let entry = Arc::new(entry);
                table.add_names(model, &entry)?;
                table.entries.push(entry);
                Ok(())
            });
            errors.extend(added.err());
        }
        ensure_none(errors, others)?;
        table
            .patterns
            .sort_by_key(|(prefix, _)| Reverse(prefix.len()));
        let entries = models.iter().zip(&table.entries);
        let added = entries.map(|(model, entry)| table.add_fallbacks(model, entry));
        ensure_none(added.filter_map(Result::err).collect(), others)?;
        table.models = models;
        Ok(table)
    }

    fn build_entry(&self, model: &ModelConfig) -> Result<RouteEntry, ProviderConfigError> {
        let configs = model.all_deployments();
        let has_siblings = configs.len() > 1;
        let mut deployments = Vec::with_capacity(configs.len());
        for config in configs {
            deployments.push(self.build_deployment(model, config, has_siblings)?);
        }
        let has_state = |deployment: &EntryDeployment| deployment.slot.deployment.is_some();
        let group = deployments.iter().any(has_state).then(|| {
            let slots = deployments.iter();
            let keep = model.sticky.unwrap_or(DEFAULT_STICKY);
            Arc::new(DeploymentGroup {
                strategy: model.strategy.unwrap_or_default(),
                members: slots
                    .map(|deployment| Arc::clone(&deployment.slot))
                    .collect(),
                sticky: (has_siblings && !keep.is_zero()).then(|| StickyMap::new(keep)),
            })
        });
        Ok(RouteEntry {
            name: model.name.clone(),
            deployments,
            group,
            fallbacks: OnceLock::new(),
        })
    }

    fn build_deployment(
        &self,
        model: &ModelConfig,
        config: DeploymentConfig,
        has_siblings: bool,
    ) -> Result<EntryDeployment, ProviderConfigError> {
        let provider = match self.configured_provider(&config.provider) {
            Some(provider) => provider,
            None => self.well_known_for_entry(model, &config.provider)?,
        };
        check_limits(model, &config)?;
        check_price(model, config.price.as_ref())?;
        let name = config.model.as_deref().unwrap_or(&model.name);
        let has_pattern = name.ends_with('*');
        let breaker = match has_siblings {
            true => CircuitBreaker::with_cooldown(&provider.name, &cooldown(model, &config))
                .with_pattern(has_pattern),
            false => {
                let policy = config.breaker.as_ref().unwrap_or(&provider.breaker);
                CircuitBreaker::new(&provider.name, policy)
            }
        };
        let base_model = config.base_model;
        let known = || match &base_model {
            Some(base) => base.price(),
            None if has_pattern => None,
            None => known_price(&provider, name),
        };
        let base_name = base_model.as_ref().map_or(name, BaseModel::model);
        let own_price = config
            .price
            .map(|price| complete_price(price, &provider, base_name));
        let has_own_price = own_price.is_some();
        let limits = &config.minute_limits;
        let has_state = has_siblings || !limits.is_empty();
        let limit = config.limit;
        let slot = ModelSlot {
            limiter: limit.map(|limit| ConcurrencyLimiter::new(&model.name, limit)),
            write_overrides: config.write_overrides.unwrap_or_default(),
            price: own_price.or_else(known),
            base_model,
            has_own_price,
            deployment: has_state.then(|| DeploymentState::new(config.weight, limits)),
            has_siblings,
            ..ModelSlot::new(breaker)
        };
        Ok(EntryDeployment {
            slot: Arc::new(slot),
            provider,
            model: config.model,
        })
    }

    /// An entry may name a well-known provider, which needs no configuration.
    fn well_known_for_entry(
        &self,
        model: &ModelConfig,
        provider: &str,
    ) -> Result<Arc<Provider>, ProviderConfigError> {
        let entry = format!("models.{}.provider", model.name);
        match well_known::by_name(provider) {
            Some(well_known) => self.well_known_provider(well_known),
            None => Err(ProviderConfigError::UnknownProvider {
                entry,
                name: provider.to_owned(),
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
}

/// How long a deployment is passed over. A circuit breaker of its own says when failures of the
/// server count.
fn cooldown(model: &ModelConfig, config: &DeploymentConfig) -> CooldownPolicy {
    match (&model.cooldown, &config.breaker) {
        (Some(cooldown), _) => cooldown.clone(),
        (None, Some(breaker)) => CooldownPolicy {
            failures: breaker.failures,
            server_error: breaker.pause,
            ..CooldownPolicy::default()
        },
        (None, None) => CooldownPolicy::default(),
    }
}

fn check_limits(model: &ModelConfig, config: &DeploymentConfig) -> Result<(), ProviderConfigError> {
    let concurrent = config.limit.as_ref().map(|limit| limit.concurrent);
    let minute = &config.minute_limits;
    for (setting, is_zero) in [
        ("limit", concurrent == Some(0)),
        ("requests_per_minute", minute.requests == Some(0)),
        ("tokens_per_minute", minute.tokens == Some(0)),
    ] {
        if is_zero {
            return Err(ProviderConfigError::BadLimit {
                entry: format!("models.{}.{setting}", model.name),
            });
        }
    }
    Ok(())
}

/// Fails with the first of these errors, if there are any, and adds the rest to `others`.
fn ensure_none(
    errors: Vec<ProviderConfigError>,
    others: &mut Vec<ProviderConfigError>,
) -> Result<(), ProviderConfigError> {
    let mut errors = errors.into_iter();
    match errors.next() {
        None => Ok(()),
        Some(first) => {
            others.extend(errors);
            Err(first)
        }
    }
}

fn build_providers(
    config: &ProvidersConfig,
    others: &mut Vec<ProviderConfigError>,
) -> Result<Vec<Arc<Provider>>, ProviderConfigError> {
    let mut providers: Vec<Arc<Provider>> = Vec::new();
    let mut errors = Vec::new();
    for entry in &config.providers {
        match build_provider(entry, &providers, &config.env) {
            Ok(provider) => providers.push(Arc::new(provider)),
            Err(error) => errors.push(error),
        }
    }
    ensure_none(errors, others)?;
    Ok(providers)
}

/// A provider beside those that were built before it.
fn build_provider(
    entry: &ProviderConfig,
    known: &[Arc<Provider>],
    env: &Env,
) -> Result<Provider, ProviderConfigError> {
    if entry.name.is_empty() || entry.name.contains(['/', '*']) {
        return Err(ProviderConfigError::BadName {
            entry: format!("providers.{}", entry.name),
            why: "a provider's name must not be empty or contain / or *",
        });
    }
    if known.iter().any(|known| known.name == entry.name) {
        return Err(ProviderConfigError::Duplicate {
            entry: format!("providers.{}", entry.name),
        });
    }
    Provider::build(entry, env)
}

fn check_price(model: &ModelConfig, price: Option<&Price>) -> Result<(), ProviderConfigError> {
    let Some(price) = price else {
        return Ok(());
    };
    let all = [
        Some(price.input),
        Some(price.output),
        price.cache_read,
        price.cache_write,
        price.cache_write_1h,
        price.web_search,
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
