//! A configured provider: its backend, HTTP client and keys.

use std::path::PathBuf;
use std::sync::Arc;

use http::{HeaderMap, HeaderName};

use crate::breaker::CircuitBreaker;
use crate::config::{
    ProviderConfig, ProviderConfigError, ProviderKind, RetryPolicy, WriteOverrides,
};
use crate::credentials::ClientCredentials;
use crate::env::Env;
use crate::error::CallError;
use crate::google_token::GoogleTokenSource;
use crate::http::HttpClient;
use crate::http::headers::sensitive_value;
use crate::key::{CachedKey, KeyError, SecretText};
use crate::model_slot::ModelSlot;
use crate::scripted::ModelScript;
use crate::upstream::Upstream;
use crate::well_known;

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
    pub(crate) upstream: Upstream,
    pub(crate) client: HttpClient,
    pub(crate) retry: RetryPolicy,
    key: Option<CachedKey>,
    google: Option<GoogleTokenSource>,
    allow_client_key: bool,
    headers: HeaderMap,
}

impl Provider {
    /// Builds and validates a configured provider.
    pub(crate) fn build(config: &ProviderConfig, env: &Env) -> Result<Self, ProviderConfigError> {
        let backend = match Upstream::build(config, env)? {
            Some(upstream) => {
                ProviderBackend::Http(Box::new(HttpBackend::build(config, upstream, env)?))
            }
            None => ProviderBackend::Scripted(load_script(config)?),
        };
        let breaker = &config.policies.breaker;
        Ok(Provider {
            slot: Arc::new(ModelSlot {
                breaker: CircuitBreaker::new(&config.name, breaker),
                limiter: None,
                write_overrides: WriteOverrides::default(),
                price: None,
            }),
            breaker: breaker.clone(),
            name: config.name.clone(),
            kind: config.kind.as_str(),
            backend,
        })
    }
}

fn load_script(config: &ProviderConfig) -> Result<ModelScript, ProviderConfigError> {
    let entry = format!("providers.{}.script", config.name);
    match &config.kind {
        ProviderKind::Scripted(options) => {
            ModelScript::load(options).map_err(|error| ProviderConfigError::Script { entry, error })
        }
        _ => Err(ProviderConfigError::Missing {
            entry,
            what: "script",
            remedy: "set script to a file".to_owned(),
        }),
    }
}

impl HttpBackend {
    fn build(
        config: &ProviderConfig,
        upstream: Upstream,
        env: &Env,
    ) -> Result<Self, ProviderConfigError> {
        // A key from a standard variable must not be sent to another address than the
        // kind's own.
        let default_key = || match config.base_url {
            None => well_known::key_from_env(well_known::key_variables(&config.kind), env),
            Some(_) => None,
        };
        let key = config.api_key.clone().or_else(default_key);
        Ok(HttpBackend {
            client: HttpClient::new(&config.name, upstream.base(), &config.policies.timeouts),
            upstream,
            retry: config.policies.retry.clone(),
            google: google_tokens(config, env),
            key: key.map(|source| CachedKey::new(source, env)),
            allow_client_key: config.allow_client_key,
            headers: extra_headers(config, env)?,
        })
    }

    /// Whether a client's calls are made with the client's own key.
    pub(crate) fn uses_client_key(&self, credentials: &ClientCredentials) -> bool {
        self.allow_client_key && credentials.key.is_some()
    }

    /// The key for a call: the client's if allowed, otherwise the configured one.
    pub(crate) async fn key_for(
        &self,
        credentials: &ClientCredentials,
        provider: &str,
    ) -> Result<Option<SecretText>, CallError> {
        if self.uses_client_key(credentials) {
            return Ok(credentials.key.clone());
        }
        let missing = |error| CallError::Key {
            provider: provider.to_owned(),
            error,
        };
        match (&self.key, &self.google) {
            (Some(key), _) => key.get().map(Some).map_err(missing),
            (None, Some(google)) => {
                let token = Box::pin(google.token(&self.client)).await;
                token.map(Some).map_err(missing)
            }
            (None, None) if self.upstream.needs_key() => Err(missing(KeyError::NotConfigured)),
            (None, None) => Ok(None),
        }
    }

    /// Adds the headers that every request to this provider carries.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
    }
}

/// Where tokens come from when there is no key. As with keys, the standard credentials
/// are not used for another address than the kind's own.
fn google_tokens(config: &ProviderConfig, env: &Env) -> Option<GoogleTokenSource> {
    let ProviderKind::Vertex(options) = &config.kind else {
        return None;
    };
    let default_file = || match config.base_url {
        None => env.get("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from),
        Some(_) => None,
    };
    let file = options.credentials.clone().or_else(default_file)?;
    Some(GoogleTokenSource::new(file))
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
