//! Resolves names to models of providers.

mod build;
mod health;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::config::{ModelConfig, Policies, ProviderConfigError};
use crate::env::Env;
use crate::model_slot::ModelSlot;
use crate::provider::Provider;
use crate::route::Route;
use crate::route_error::RouteError;
use crate::suggest::nearest;
use crate::target::Target;
use crate::well_known::{self, WellKnownProvider};

/// All names.
#[derive(Debug)]
pub(crate) struct RoutingTable {
    pub(crate) models: Vec<ModelConfig>,
    pub(crate) providers: Vec<Arc<Provider>>,
    exact: HashMap<String, Arc<RouteEntry>>,
    /// By the prefix before the `*`, the longest first.
    patterns: Vec<(String, Arc<RouteEntry>)>,
    /// Well-known providers that have been used.
    well_known: Mutex<HashMap<&'static str, Arc<Provider>>>,
    default_policies: Policies,
    env: Env,
}

/// A configured model.
#[derive(Debug)]
struct RouteEntry {
    name: String,
    provider: Arc<Provider>,
    model: Option<String>,
    slot: Arc<ModelSlot>,
    fallbacks: OnceLock<Vec<Target>>,
}

impl RoutingTable {
    /// Resolves a name: an entry's name or alias, an entry's pattern (the longest that
    /// matches), `provider/model`, or a model whose name identifies its provider.
    pub(crate) fn route(&self, name: &str) -> Result<Route, RouteError> {
        if let Some(entry) = self.exact.get(name) {
            return Ok(entry.route(name, name));
        }
        let mut patterns = self.patterns.iter();
        if let Some((prefix, entry)) =
            patterns.find(|(prefix, _)| name.starts_with(prefix.as_str()))
        {
            let rest = name.strip_prefix(prefix.as_str()).unwrap_or_default();
            return Ok(entry.route(name, rest));
        }
        let (provider, model) = self.provider_for_name(name)?;
        Ok(Route {
            name: name.to_owned(),
            targets: vec![Target {
                slot: Arc::clone(&provider.slot),
                provider,
                model: model.to_owned(),
            }],
        })
    }

    fn provider_for_name<'n>(&self, name: &'n str) -> Result<(Arc<Provider>, &'n str), RouteError> {
        let (provider, model) = match name.split_once('/') {
            Some((provider, model)) if !model.is_empty() => (provider, model),
            _ => return self.provider_for_model(name),
        };
        if let Some(provider) = self.configured_provider(provider) {
            return Ok((provider, model));
        }
        match well_known::by_name(provider) {
            Some(well_known) => Ok((self.ready_provider(well_known, name)?, model)),
            None => Err(self.unknown_model_error(name)),
        }
    }

    fn provider_for_model<'n>(
        &self,
        name: &'n str,
    ) -> Result<(Arc<Provider>, &'n str), RouteError> {
        match well_known::by_model(name) {
            Some(well_known) if well_known.is_ready(&self.env) => {
                Ok((self.ready_provider(well_known, name)?, name))
            }
            _ => Err(self.unknown_model_error(name)),
        }
    }

    fn ready_provider(
        &self,
        well_known: &'static WellKnownProvider,
        name: &str,
    ) -> Result<Arc<Provider>, RouteError> {
        let not_ready = |why: String| RouteError::NotReady {
            name: name.to_owned(),
            why,
        };
        if !well_known.is_ready(&self.env) {
            let variables = well_known.key_variables.join(" or ");
            return Err(not_ready(format!(
                "provider `{}` has no API key; set {variables}",
                well_known.name
            )));
        }
        self.well_known_provider(well_known)
            .map_err(|error| not_ready(error.to_string()))
    }

    /// A well-known provider; built once.
    fn well_known_provider(
        &self,
        well_known: &'static WellKnownProvider,
    ) -> Result<Arc<Provider>, ProviderConfigError> {
        let mut built = self
            .well_known
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = built.get(well_known.name) {
            return Ok(Arc::clone(provider));
        }
        let config = well_known.config(&self.env, &self.default_policies);
        let provider = Arc::new(Provider::build(&config, &self.env)?);
        built.insert(well_known.name, Arc::clone(&provider));
        Ok(provider)
    }

    /// A provider by name, configured or well-known.
    pub(crate) fn find_provider(&self, name: &str) -> Result<Arc<Provider>, RouteError> {
        match (self.configured_provider(name), well_known::by_name(name)) {
            (Some(provider), _) => Ok(provider),
            (None, Some(well_known)) => self.ready_provider(well_known, name),
            (None, None) => Err(RouteError::NotReady {
                name: name.to_owned(),
                why: format!("unknown provider{}", self.provider_hint()),
            }),
        }
    }

    /// The names of all providers that can be called.
    pub(crate) fn provider_names(&self) -> Vec<String> {
        let configured = self.providers.iter().map(|provider| provider.name.clone());
        let well_known = well_known::all()
            .iter()
            .filter(|provider| !provider.key_variables.is_empty() && provider.is_ready(&self.env))
            .filter(|provider| self.configured_provider(provider.name).is_none())
            .map(|provider| provider.name.to_owned());
        configured.chain(well_known).collect()
    }

    fn configured_provider(&self, name: &str) -> Option<Arc<Provider>> {
        let mut providers = self.providers.iter();
        providers.find(|provider| provider.name == name).cloned()
    }

    fn unknown_model_error(&self, name: &str) -> RouteError {
        let hint = match nearest(name, self.exact.keys()) {
            Some(near) => format!("; did you mean {near:?}?"),
            None => format!(
                "; use a configured model or PROVIDER/MODEL{}",
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

impl RouteEntry {
    /// The route of a client's name, whose `rest` was matched by the `*`.
    fn route(&self, name: &str, rest: &str) -> Route {
        let first = Target {
            provider: Arc::clone(&self.provider),
            slot: Arc::clone(&self.slot),
            model: self.upstream_model(name, rest),
        };
        let fallbacks = self.fallbacks.get().into_iter().flatten().cloned();
        Route {
            name: name.to_owned(),
            targets: std::iter::once(first).chain(fallbacks).collect(),
        }
    }

    /// The model name sent to the provider.
    fn upstream_model(&self, name: &str, rest: &str) -> String {
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
