//! A configured provider: its backend, HTTP client and keys.

use std::any::Any;
use std::sync::Arc;

use http::{HeaderMap, HeaderName};

use crate::breaker::CircuitBreaker;
use crate::call_credentials::{CallCredentials, ClientKey};
use crate::config::{ProviderConfig, ProviderConfigError, RetryPolicy, ScriptedOptions};
use crate::env::Env;
use crate::error::CallError;
use crate::http::HttpClient;
use crate::http::headers::sensitive_value;
use crate::key::{CachedKey, KeyError, SecretText};
use crate::model_slot::ModelSlot;
use crate::scripted::ModelScript;
use crate::upstream::{Upstream, build_upstream, own_key};

/// A configured provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) backend: ProviderBackend,
    /// For calls of models without an entry of their own.
    pub(crate) slot: Arc<ModelSlot>,
    pub(crate) breaker: crate::config::BreakerPolicy,
}

/// What handles the calls.
#[derive(Debug)]
pub(crate) enum ProviderBackend {
    Http(Box<HttpBackend>),
    Scripted(ModelScript),
}

/// An HTTP upstream.
#[derive(Debug)]
pub(crate) struct HttpBackend {
    pub(crate) upstream: Box<dyn Upstream>,
    pub(crate) client: HttpClient,
    pub(crate) retry: RetryPolicy,
    key: Option<CachedKey>,
    allow_client_key: bool,
    headers: HeaderMap,
}

impl Provider {
    /// Builds and validates a configured provider.
    pub(crate) fn build(config: &ProviderConfig, env: &Env) -> Result<Self, ProviderConfigError> {
        let backend = match build_upstream(config, env)? {
            Some(upstream) => {
                ProviderBackend::Http(Box::new(HttpBackend::build(config, upstream, env)?))
            }
            None => ProviderBackend::Scripted(load_script(config)?),
        };
        let breaker = &config.policies.breaker;
        Ok(Provider {
            slot: Arc::new(ModelSlot::new(CircuitBreaker::new(&config.name, breaker))),
            breaker: breaker.clone(),
            name: config.name.clone(),
            kind: config.kind.as_str(),
            backend,
        })
    }

    /// Goes on where the provider of this name in an earlier configuration is.
    pub(crate) fn take_over(&self, previous: &Provider) {
        self.slot.take_over(&previous.slot);
        if let (ProviderBackend::Http(own), ProviderBackend::Http(previous)) =
            (&self.backend, &previous.backend)
        {
            own.take_over(previous);
        }
    }
}

fn load_script(config: &ProviderConfig) -> Result<ModelScript, ProviderConfigError> {
    let entry = format!("providers.{}.script", config.name);
    let options: &(dyn Any + 'static) = config.kind.options();
    match options.downcast_ref::<ScriptedOptions>() {
        Some(options) => {
            ModelScript::load(options).map_err(|error| ProviderConfigError::Script { entry, error })
        }
        None => Err(ProviderConfigError::Missing {
            entry,
            what: "script",
            remedy: "set script to a file".to_owned(),
        }),
    }
}

impl HttpBackend {
    fn build(
        config: &ProviderConfig,
        upstream: Box<dyn Upstream>,
        env: &Env,
    ) -> Result<Self, ProviderConfigError> {
        let key = config.api_key.clone().or_else(|| own_key(config, env));
        Ok(HttpBackend {
            client: HttpClient::new(&config.name, upstream.base(), &config.policies.timeouts),
            upstream,
            retry: config.policies.retry.clone(),
            key: key.map(|source| CachedKey::new(source, env)),
            allow_client_key: config.allow_client_key,
            headers: extra_headers(config, env)?,
        })
    }

    /// Whether a client's calls are made with the client's own key.
    pub(crate) fn uses_client_key(&self, credentials: CallCredentials<'_>) -> bool {
        self.allow_client_key && matches!(credentials.key, ClientKey::Meant(_))
    }

    /// Whether only clients' own keys can be used.
    pub(crate) fn needs_client_key(&self) -> bool {
        self.allow_client_key && self.key.is_none() && self.upstream.authenticate().is_none()
    }

    /// The key for a call: the client's if it is allowed and meant for this provider, otherwise
    /// the configured one.
    pub(crate) async fn key_for(
        &self,
        credentials: CallCredentials<'_>,
        provider: &str,
    ) -> Result<Option<SecretText>, CallError> {
        if let ClientKey::Meant(key) = credentials.key
            && self.allow_client_key
        {
            return Ok(Some(key.clone()));
        }
        let missing = |error: KeyError| {
            tracing::warn!(provider, %error, "a provider has no usable key");
            CallError::Key {
                provider: provider.to_owned(),
                error,
            }
        };
        if let Some(key) = &self.key {
            return key.get().map(Some).map_err(missing);
        }
        match self.upstream.authenticate() {
            Some(authentication) => authentication.await,
            // Routes pass over such a target; it is not called without a key either.
            None if self.allow_client_key && matches!(credentials.key, ClientKey::Withheld) => {
                Err(missing(KeyError::OnlyClientKeys))
            }
            None if self.upstream.needs_key() => Err(missing(KeyError::NotConfigured)),
            None => Ok(None),
        }
    }

    /// Where the credentials come from when there is no key.
    pub(crate) fn credential_source(&self) -> Option<String> {
        match &self.key {
            Some(_) => None,
            None => self.upstream.credential_source(),
        }
    }

    fn take_over(&self, previous: &HttpBackend) {
        let (own, previous) = (self.upstream.cloud_auth(), previous.upstream.cloud_auth());
        if let Some((own, previous)) = own.zip(previous) {
            own.take_over(previous);
        }
    }

    /// Adds the headers that every request to this provider carries.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
    }
}

fn extra_headers(config: &ProviderConfig, env: &Env) -> Result<HeaderMap, ProviderConfigError> {
    let mut headers = HeaderMap::new();
    for (name, source) in &config.headers {
        let bad = |why: String| ProviderConfigError::BadHeader {
            entry: format!("providers.{}.headers.{name}", config.name),
            why,
        };
        let header = HeaderName::try_from(name.as_str())
            .map_err(|_| bad("this is not a valid header name".to_owned()))?;
        let value = CachedKey::new(source.clone(), env).get();
        let value = value.and_then(|value| sensitive_value(value.expose()));
        headers.insert(header, value.map_err(|error| bad(error.to_string()))?);
    }
    Ok(headers)
}
