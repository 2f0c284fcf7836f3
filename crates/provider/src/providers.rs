//! All providers and models: the one door into this crate.

use std::sync::Arc;

use prowess_wire::ClientDialect;

use crate::call::ClientCredentials;
use crate::config::{ProviderConfigError, ProvidersConfig};
use crate::error::CallError;
use crate::models::{ModelEntry, UpstreamModel};
use crate::provider_files::ProviderFileResponse;
use crate::route::Route;
use crate::routing_table::{RouteError, RoutingTable};
use crate::upstream::ProviderFileOperation;

/// All providers and models. Cheap to clone; one per gateway, for it owns the pools.
#[derive(Debug, Clone)]
pub struct Providers {
    table: Arc<RoutingTable>,
}

impl Providers {
    /// Builds and checks what a configuration describes. Keys are looked up later, when
    /// they are needed, so that one missing key does not stop all else.
    pub fn new(config: ProvidersConfig) -> Result<Self, ProviderConfigError> {
        let table = Arc::new(RoutingTable::build(config)?);
        Ok(Providers { table })
    }

    /// What a model's name means.
    pub fn route(&self, model: &str) -> Result<Route, RouteError> {
        self.table.route(model)
    }

    /// The models of the configuration, in its order.
    pub fn models(&self) -> Vec<ModelEntry> {
        self.table
            .models
            .iter()
            .flat_map(ModelEntry::from_config)
            .collect()
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
        credentials: &ClientCredentials,
    ) -> Result<Vec<UpstreamModel>, CallError> {
        let provider = self.table.find_provider(provider)?;
        provider.list_models(credentials).await
    }

    /// Whether a provider's own servers make files, and keep them.
    pub fn has_file_storage(&self, provider: &str) -> bool {
        let provider = self.table.find_provider(provider);
        provider.is_ok_and(|provider| provider.has_file_storage())
    }

    /// Asks a provider for a file that its own servers made.
    ///
    /// Of a client that speaks the provider's own dialect the headers travel on, and an
    /// error answer comes back as it was; to any other client it is an error of the call.
    pub async fn request_file(
        &self,
        provider: &str,
        operation: ProviderFileOperation,
        id: &str,
        client: ClientDialect,
        credentials: &ClientCredentials,
    ) -> Result<ProviderFileResponse, CallError> {
        let provider = self.table.find_provider(provider)?;
        provider
            .request_file(operation, id, client, credentials)
            .await
    }
}
