//! All providers and models: the one door into this crate.

use std::sync::Arc;

use prowess_wire::Client;

use crate::call::Caller;
use crate::config::{Config, ConfigError};
use crate::error::CallError;
use crate::held::HeldFile;
use crate::models::{ModelEntry, UpstreamModel};
use crate::route::Route;
use crate::table::{RouteError, Table};
use crate::upstream::FileAsk;

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

    /// Whether a provider's own servers make files, and keep them.
    pub fn keeps_files(&self, provider: &str) -> bool {
        let provider = self.table.provider_named(provider);
        provider.is_ok_and(|provider| provider.keeps_files())
    }

    /// Asks a provider for a file that its own servers made.
    ///
    /// Of a client that speaks the provider's own dialect the headers travel on, and an
    /// error answer comes back as it was; to any other client it is an error of the call.
    pub async fn file(
        &self,
        provider: &str,
        ask: FileAsk,
        id: &str,
        client: Client,
        caller: &Caller,
    ) -> Result<HeldFile, CallError> {
        let provider = self.table.provider_named(provider)?;
        provider.file(ask, id, client, caller).await
    }
}
