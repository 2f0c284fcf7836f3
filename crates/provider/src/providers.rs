//! All providers and models: the one door into this crate.

use std::sync::Arc;

use crate::call::Caller;
use crate::config::{Config, ConfigError};
use crate::error::CallError;
use crate::models::{ModelEntry, UpstreamModel};
use crate::route::Route;
use crate::table::{RouteError, Table};

/// All providers and models. Cheap to clone; one per gateway, for it owns the pools.
#[derive(Debug, Clone)]
pub struct Providers {
    table: Arc<Table>,
}

impl Providers {
    /// Builds and checks what a configuration describes. Keys are looked up later, when
    /// they are needed, so that one missing key does not stop all else.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let table = Arc::new(Table::build(config)?);
        Ok(Providers { table })
    }

    /// What a model's name means.
    pub fn route(&self, model: &str) -> Result<Route, RouteError> {
        self.table.route(model)
    }

    /// The models of the configuration, in its order.
    pub fn models(&self) -> Vec<ModelEntry> {
        self.table.models.iter().flat_map(ModelEntry::of).collect()
    }

    /// The names of all providers that can be called: those of the configuration, and
    /// those whose usual key variable is set.
    pub fn names(&self) -> Vec<String> {
        self.table.provider_names()
    }

    /// The models a provider lists itself, where it does.
    pub async fn upstream_models(
        &self,
        provider: &str,
        caller: &Caller,
    ) -> Result<Vec<UpstreamModel>, CallError> {
        let provider = self.table.provider_named(provider)?;
        provider.list(caller).await
    }
}
