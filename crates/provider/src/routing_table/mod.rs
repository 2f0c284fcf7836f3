//! Resolves names to models of providers.
//!
//! | module | owns |
//! |---|---|
//! | `build`, `merge`, `fallbacks` | the table of a configuration; entries of one name; their fallbacks |
//! | `entry` | a configured model: its deployments and fallbacks |
//! | `explain`, `explanation` | what a request to a model would do |
//! | `health`, `take_over` | what is known of recent calls; what a new table keeps of it |
//! | `known_prices` | prices of models that have none configured |

mod build;
mod entry;
mod explain;
mod explanation;
mod fallbacks;
mod health;
mod known_prices;
mod merge;
mod take_over;

pub use explanation::{
    BreakerExplanation, DeploymentExplanation, DialectExplanation, FallbackExplanation,
    LimitExplanation, RouteExplanation, TimeoutExplanation,
};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use self::entry::RouteEntry;
use self::known_prices::KnownPrices;

use crate::config::{ModelConfig, Policies, ProviderConfigError};
use crate::env::Env;
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
    /// The configured models, in order.
    entries: Vec<Arc<RouteEntry>>,
    exact: HashMap<String, Arc<RouteEntry>>,
    /// By the prefix before the `*`, the longest first.
    patterns: Vec<(String, Arc<RouteEntry>)>,
    /// Well-known providers that have been used.
    well_known: Mutex<HashMap<&'static str, Arc<Provider>>>,
    default_policies: Policies,
    env: Env,
    known_prices: KnownPrices,
}

impl RoutingTable {
    /// Resolves a name: an entry's name or alias, an entry's pattern (the longest that
    /// matches), `provider/model`, or a model whose name identifies its provider.
    pub(crate) fn route(&self, name: &str) -> Result<Route, RouteError> {
        match self.find_entry(name) {
            Some((entry, rest)) => Ok(entry.route(name, rest, &self.known_prices)),
            None => Ok(Route {
                name: name.to_owned(),
                targets: vec![self.plain_target(name)?],
                plan: None,
                owner: 0,
            }),
        }
    }

    /// The entry of a name, and what its `*` matched.
    fn find_entry<'n>(&self, name: &'n str) -> Option<(&Arc<RouteEntry>, &'n str)> {
        if let Some(entry) = self.exact.get(name) {
            return Some((entry, name));
        }
        self.patterns
            .iter()
            .find_map(|(prefix, entry)| Some((entry, name.strip_prefix(prefix.as_str())?)))
    }

    /// A model of a provider that has no entry of its own.
    fn plain_target(&self, name: &str) -> Result<Target, RouteError> {
        let (provider, model) = self.provider_for_name(name)?;
        Ok(Target {
            slot: Arc::clone(&provider.slot),
            model: model.to_owned(),
            known_price: self.known_prices.find(&provider, model),
            provider,
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
            return Err(not_ready(well_known.not_ready_reason()));
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
        let config = well_known.config(&self.env, &self.default_policies)?;
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
