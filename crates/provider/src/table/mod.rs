//! Which name means which model of which provider.

mod build;
mod error;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use self::error::RouteError;
use crate::config::{ConfigError, ModelConfig, Policies};
use crate::env::Env;
use crate::lane::Lane;
use crate::provider::Provider;
use crate::route::{Route, Target};
use crate::suggest::nearest;
use crate::usual::{self, Usual};

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
