//! All providers and models: the entry point of this crate.

use std::sync::Arc;

use prowess_wire::ClientDialect;

use crate::config::{ProviderConfigError, ProvidersConfig};
use crate::credentials::ClientCredentials;
use crate::endpoints::{EndpointResponse, ProviderPathRequest};
use crate::error::CallError;
use crate::health::ProviderHealth;
use crate::models::{ModelEntry, UpstreamModel};
use crate::provider::ProviderBackend;
use crate::provider_files::ProviderFileResponse;
use crate::route::Route;
use crate::route_error::RouteError;
use crate::routing_table::{RouteExplanation, RoutingTable};
use crate::upstream::ProviderFileOperation;

/// All providers and models. Cheap to clone; one per gateway, as it owns the connection
/// pools.
#[derive(Debug, Clone)]
pub struct Providers {
    table: Arc<RoutingTable>,
}

impl Providers {
    /// Builds and validates a configuration. Keys are looked up when they are needed, so
    /// that one missing key does not affect other providers.
    pub fn new(config: ProvidersConfig) -> Result<Self, ProviderConfigError> {
        let table = Arc::new(RoutingTable::build(config, &mut Vec::new())?);
        Ok(Providers { table })
    }

    /// Like [`Providers::new`], but returns all errors that can be found at once.
    pub fn new_with_all_errors(config: ProvidersConfig) -> Result<Self, Vec<ProviderConfigError>> {
        let mut errors = Vec::new();
        match RoutingTable::build(config, &mut errors) {
            Ok(table) => Ok(Providers {
                table: Arc::new(table),
            }),
            Err(first) => {
                errors.insert(0, first);
                Err(errors)
            }
        }
    }

    /// Resolves a model name.
    pub fn route(&self, model: &str) -> Result<Route, RouteError> {
        self.table.route(model)
    }

    /// What a request to a model would do: its deployments, limits, prices and fallbacks.
    pub fn explain(&self, model: &str) -> Result<RouteExplanation, RouteError> {
        self.table.explain(model)
    }

    /// Takes over what `previous` knows of the deployments that both have: circuit breakers,
    /// measured times, running calls, what is left of their limits and the deployments that
    /// conversations prefer.
    pub fn take_over(&self, previous: &Providers) {
        self.table.take_over(&previous.table);
    }

    /// The configured models, in order.
    pub fn models(&self) -> Vec<ModelEntry> {
        self.table
            .models
            .iter()
            .flat_map(ModelEntry::from_config)
            .collect()
    }

    /// The names of all providers that can be called: the configured ones, and the
    /// well-known ones whose key variable is set.
    pub fn names(&self) -> Vec<String> {
        self.table.provider_names()
    }

    /// Where the credentials of a provider come from, if a cloud gives them: in words, without
    /// reading or asking for them.
    pub fn credential_source(&self, provider: &str) -> Option<String> {
        match &self.table.find_provider(provider).ok()?.backend {
            ProviderBackend::Http(http) => http.credential_source(),
            ProviderBackend::Scripted(_) => None,
        }
    }

    /// What is known of recent calls to each provider, from memory.
    pub fn health(&self) -> Vec<ProviderHealth> {
        self.table.health()
    }

    /// The models that a provider lists, if it supports that.
    pub async fn upstream_models(
        &self,
        provider: &str,
        credentials: &ClientCredentials,
    ) -> Result<Vec<UpstreamModel>, CallError> {
        let provider = self.table.find_provider(provider)?;
        provider.list_models(credentials).await
    }

    /// Passes a request on to a path of a provider's API, with the provider's credentials.
    ///
    /// # Errors
    /// When the provider is unknown or cannot be reached, or the path leads elsewhere. Its own
    /// error responses are returned like any other.
    pub async fn forward_path(
        &self,
        provider: &str,
        request: ProviderPathRequest,
        credentials: &ClientCredentials,
    ) -> Result<EndpointResponse, CallError> {
        let provider = self.table.find_provider(provider)?;
        provider.forward_path(request, credentials).await
    }

    /// Whether a provider's servers create and store files.
    pub fn has_file_storage(&self, provider: &str) -> bool {
        let provider = self.table.find_provider(provider);
        provider.is_ok_and(|provider| provider.has_file_storage())
    }

    /// Requests a file that a provider's servers created.
    ///
    /// If the client uses the provider's dialect, its headers are passed on and an error
    /// response is returned unchanged; for any other client it is a call error.
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
