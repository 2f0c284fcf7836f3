//! Which name means which model of which provider.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use prowess_wire::neutral::{ApiError, ErrorKind};

use crate::breaker::Breaker;
use crate::config::{Config, ConfigError, ModelConfig, Policies};
use crate::env::Env;
use crate::lane::Lane;
use crate::limit::Limiter;
use crate::provider::Provider;
use crate::route::{Route, Target};
use crate::suggest::nearest;
use crate::usual::{self, Usual};

/// Why a name means no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No entry and no provider matches.
    #[error("there is no model called {name:?}{hint}")]
    Unknown {
        /// The name.
        name: String,
        /// What may be done about it.
        hint: String,
    },
    /// The provider is known, but not how to reach it.
    #[error("{name}: {why}")]
    NotReady {
        /// The name.
        name: String,
        /// What is missing.
        why: String,
    },
}

impl RouteError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            RouteError::Unknown { .. } => "model-not-found",
            RouteError::NotReady { .. } => "provider-not-ready",
        }
    }

    /// The error as a client is told of it.
    pub fn to_api_error(&self) -> ApiError {
        let kind = match self {
            RouteError::Unknown { .. } => ErrorKind::NotFound,
            RouteError::NotReady { .. } => ErrorKind::Authentication,
        };
        ApiError {
            code: Some(self.code().to_owned()),
            ..ApiError::new(kind, self.to_string())
        }
    }
}

/// All names.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) models: Vec<ModelConfig>,
    pub(crate) providers: Vec<Arc<Provider>>,
    exact: HashMap<String, Arc<Entry>>,
    /// By what stands before the `*`, the longest first.
    wild: Vec<(String, Arc<Entry>)>,
    /// Providers without configuration that were asked for.
    usual: Mutex<HashMap<&'static str, Arc<Provider>>>,
    policies: Policies,
    env: Env,
}

/// A model's entry.
#[derive(Debug)]
struct Entry {
    name: String,
    provider: Arc<Provider>,
    model: Option<String>,
    lane: Arc<Lane>,
    fallbacks: OnceLock<Vec<Target>>,
}

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
        let write = model.write.clone();
        Ok(Entry {
            lane: Arc::new(Lane {
                breaker: Breaker::new(&provider.name, &provider.breaker),
                limiter: limiter.map(|limit| Limiter::new(&model.name, limit)),
                write: write.unwrap_or_else(|| provider.lane.write.clone()),
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
            None => Err(ConfigError::Unknown {
                entry,
                what: "provider",
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
            let route = self.route(name).map_err(|error| ConfigError::Unknown {
                entry: format!("models.{}.fallbacks", model.name),
                what: "model",
                name: name.clone(),
                hint: format!(" ({error})"),
            })?;
            fallbacks.extend(route.targets.into_iter().next());
        }
        // Set once per entry, so it cannot be taken yet.
        let _ = entry.fallbacks.set(fallbacks);
        Ok(())
    }

    /// What a name means: an entry's name or alias, an entry's pattern (the longest that
    /// fits), `provider/model`, or a model whose name says whose it is.
    pub(crate) fn route(&self, name: &str) -> Result<Route, RouteError> {
        if let Some(entry) = self.exact.get(name) {
            return Ok(entry.route(name, name));
        }
        let mut wild = self.wild.iter();
        if let Some((prefix, entry)) = wild.find(|(prefix, _)| name.starts_with(prefix.as_str())) {
            let rest = name.strip_prefix(prefix.as_str()).unwrap_or_default();
            return Ok(entry.route(name, rest));
        }
        let (provider, model) = self.by_provider(name)?;
        Ok(Route {
            name: name.to_owned(),
            targets: vec![Target {
                lane: Arc::clone(&provider.lane),
                provider,
                model: model.to_owned(),
            }],
        })
    }

    fn by_provider<'n>(&self, name: &'n str) -> Result<(Arc<Provider>, &'n str), RouteError> {
        let (provider, model) = match name.split_once('/') {
            Some((provider, model)) if !model.is_empty() => (provider, model),
            _ => return self.by_model(name),
        };
        if let Some(provider) = self.provider(provider) {
            return Ok((provider, model));
        }
        match usual::by_name(provider) {
            Some(usual) => Ok((self.ready(usual, name)?, model)),
            None => Err(self.unknown(name)),
        }
    }

    fn by_model<'n>(&self, name: &'n str) -> Result<(Arc<Provider>, &'n str), RouteError> {
        match usual::by_model(name) {
            Some(usual) if usual.is_ready(&self.env) => Ok((self.ready(usual, name)?, name)),
            _ => Err(self.unknown(name)),
        }
    }

    fn ready(&self, usual: &'static Usual, name: &str) -> Result<Arc<Provider>, RouteError> {
        let not_ready = |why: String| RouteError::NotReady {
            name: name.to_owned(),
            why,
        };
        if !usual.is_ready(&self.env) {
            let variables = usual.keys.join(" or ");
            return Err(not_ready(format!(
                "{} has no key here; set {variables}",
                usual.name
            )));
        }
        self.usual(usual)
            .map_err(|error| not_ready(error.to_string()))
    }

    /// A provider without configuration; built once.
    fn usual(&self, usual: &'static Usual) -> Result<Arc<Provider>, ConfigError> {
        let mut known = self.usual.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = known.get(usual.name) {
            return Ok(Arc::clone(provider));
        }
        let config = usual.config(&self.env, &self.policies);
        let provider = Arc::new(Provider::build(&config, &self.env)?);
        known.insert(usual.name, Arc::clone(&provider));
        Ok(provider)
    }

    /// A provider by its name, configured or not.
    pub(crate) fn provider_named(&self, name: &str) -> Result<Arc<Provider>, RouteError> {
        match (self.provider(name), usual::by_name(name)) {
            (Some(provider), _) => Ok(provider),
            (None, Some(usual)) => self.ready(usual, name),
            (None, None) => Err(RouteError::NotReady {
                name: name.to_owned(),
                why: format!("there is no such provider{}", self.provider_hint()),
            }),
        }
    }

    /// The names of all providers that can be called.
    pub(crate) fn provider_names(&self) -> Vec<String> {
        let configured = self.providers.iter().map(|provider| provider.name.clone());
        let usual = usual::all()
            .iter()
            .filter(|usual| !usual.keys.is_empty() && usual.is_ready(&self.env))
            .filter(|usual| self.provider(usual.name).is_none())
            .map(|usual| usual.name.to_owned());
        configured.chain(usual).collect()
    }

    fn provider(&self, name: &str) -> Option<Arc<Provider>> {
        let mut providers = self.providers.iter();
        providers.find(|provider| provider.name == name).cloned()
    }

    fn unknown(&self, name: &str) -> RouteError {
        let hint = match nearest(name, self.exact.keys()) {
            Some(near) => format!("; did you mean {near:?}?"),
            None => format!(
                "; name one of the configuration, or write PROVIDER/MODEL{}",
                self.provider_hint()
            ),
        };
        RouteError::Unknown {
            name: name.to_owned(),
            hint,
        }
    }

    fn provider_hint(&self) -> String {
        match self.provider_names() {
            names if names.is_empty() => "; no provider is configured and no key is set".to_owned(),
            names => format!("; providers are {}", names.join(", ")),
        }
    }
}

impl Entry {
    /// The route of a client's name, of which `rest` was matched by the `*`.
    fn route(&self, name: &str, rest: &str) -> Route {
        let first = Target {
            provider: Arc::clone(&self.provider),
            lane: Arc::clone(&self.lane),
            model: self.model_for(name, rest),
        };
        let fallbacks = self.fallbacks.get().into_iter().flatten().cloned();
        Route {
            name: name.to_owned(),
            targets: std::iter::once(first).chain(fallbacks).collect(),
        }
    }

    /// What the provider is told.
    fn model_for(&self, name: &str, rest: &str) -> String {
        match &self.model {
            Some(model) => match model.strip_suffix('*') {
                Some(prefix) => format!("{prefix}{rest}"),
                None => model.clone(),
            },
            None if self.name.ends_with('*') => name.to_owned(),
            None => self.name.clone(),
        }
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
