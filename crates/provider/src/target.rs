//! A model of a provider. How it is called is the task of `call`, `pass_through` and `count`.

use std::sync::Arc;

use prowess_wire::{ClientDialect, WriteOptions};
use tokio::time::Instant;

use crate::config::Price;
use crate::error::CallError;
use crate::http::HttpResponse;
use crate::key::SecretText;
use crate::known_models::BaseModel;
use crate::model_slot::ModelSlot;
use crate::provider::{HttpBackend, Provider, ProviderBackend};
use crate::retry::RetryState;
use crate::upstream::{ModelTask, UpstreamJob};

/// A model of a provider.
#[derive(Debug, Clone)]
pub struct Target {
    pub(crate) provider: Arc<Provider>,
    pub(crate) slot: Arc<ModelSlot>,
    pub(crate) model: String,
    /// The price of a known model, if none is configured.
    pub(crate) known_price: Option<Arc<Price>>,
}

impl Target {
    /// The provider's name.
    pub fn provider(&self) -> &str {
        &self.provider.name
    }

    /// The provider's name for the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The kind of provider, as configuration files name it.
    pub fn kind(&self) -> &'static str {
        self.provider.kind
    }

    /// Whether the provider's servers create and store files.
    pub fn has_file_storage(&self) -> bool {
        self.provider.has_file_storage()
    }

    /// Whether it is OpenAI itself, and not a compatible server.
    pub fn is_openai(&self) -> bool {
        match &self.provider.backend {
            ProviderBackend::Http(http) => http.upstream.is_openai(),
            ProviderBackend::Scripted(_) => false,
        }
    }

    /// The price of its tokens: the configured one, or that of a known model.
    pub fn price(&self) -> Option<&Price> {
        self.slot.price.as_ref().or(self.known_price.as_deref())
    }

    /// The name that says what the model is: its own, or that of its base model.
    pub(crate) fn base_name(&self) -> &str {
        let base = self.slot.base_model.as_ref();
        base.map_or(self.model.as_str(), BaseModel::model)
    }

    /// The name that says in which API it is called.
    pub(crate) fn api_name<'t>(&'t self, http: &'t HttpBackend) -> &'t str {
        http.upstream.api_name(&self.model, self.base_name())
    }

    /// The retries of one call. A deployment that has others beside it is called once.
    pub(crate) fn retries<'a>(&self, http: &'a HttpBackend) -> RetryState<'a> {
        match self.slot.has_siblings {
            true => RetryState::once(),
            false => RetryState::new(&http.retry),
        }
    }

    /// Whether a client's bytes can be passed on unchanged.
    pub fn supports_pass_through(&self, client: ClientDialect, task: ModelTask) -> bool {
        match &self.provider.backend {
            ProviderBackend::Http(http) => {
                http.upstream
                    .supports_pass_through(client, task, self.api_name(http))
            }
            ProviderBackend::Scripted(_) => false,
        }
    }

    /// What the model supports: derived from its name or its base model's, and its server, then
    /// overridden by its entry.
    pub(crate) fn write_options(&self, http: &HttpBackend) -> WriteOptions {
        let known = http.upstream.write_options(&self.model, self.base_name());
        self.slot.write_overrides.apply(known)
    }

    /// Sends a request once, with this key, which may be the client's own.
    pub(crate) async fn send(
        &self,
        http: &HttpBackend,
        job: UpstreamJob<'_>,
        key: Option<&SecretText>,
        is_client_key: bool,
    ) -> Result<HttpResponse, CallError> {
        let request = self
            .provider
            .prepare_request(http, http.upstream.request(job, key))?;
        let deployment = self.slot.deployment.as_ref();
        let deployment = deployment.map(|deployment| (deployment, Instant::now()));
        let sent = http.client.send(request).await;
        if let (Some((deployment, started)), Ok(response)) = (deployment, &sent) {
            // A refusal that comes soon does not make a deployment a fast one.
            if response.status.is_success() {
                deployment.record_latency(started.elapsed());
            }
            // The account of a client is not the deployment's.
            if !is_client_key {
                deployment.observe_limits(&response.headers);
            }
        }
        sent
    }
}
