//! One provider at work: what it speaks, its client, its keys.

use std::path::PathBuf;
use std::sync::Arc;

use http::{HeaderMap, HeaderName};

use crate::breaker::Breaker;
use crate::call::Caller;
use crate::config::{ConfigError, Kind, ProviderConfig, Retry, WriteChanges};
use crate::env::Env;
use crate::error::CallError;
use crate::google::GoogleTokens;
use crate::http::HttpClient;
use crate::http::headers::sensitive;
use crate::key::{Key, KeyError, Secret};
use crate::lane::Lane;
use crate::scripted::Script;
use crate::upstream::Upstream;
use crate::usual;

/// A provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) engine: Engine,
    /// Where calls run of models that have no entry of their own.
    pub(crate) lane: Arc<Lane>,
    pub(crate) breaker: crate::config::Breaker,
}

/// What answers.
#[derive(Debug)]
pub(crate) enum Engine {
    Http(Box<HttpEngine>),
    Scripted(Script),
}

/// A server somewhere.
#[derive(Debug)]
pub(crate) struct HttpEngine {
    pub(crate) upstream: Upstream,
    pub(crate) client: HttpClient,
    pub(crate) retry: Retry,
    key: Option<Key>,
    google: Option<GoogleTokens>,
    caller_key: bool,
    headers: HeaderMap,
}

impl Provider {
    /// Builds and checks what a configuration describes.
    pub(crate) fn build(config: &ProviderConfig, env: &Env) -> Result<Self, ConfigError> {
        let engine = match Upstream::build(config, env)? {
            Some(upstream) => Engine::Http(Box::new(HttpEngine::build(config, upstream, env)?)),
            None => Engine::Scripted(script(config)?),
        };
        let breaker = &config.policies.breaker;
        Ok(Provider {
            lane: Arc::new(Lane {
                breaker: Breaker::new(&config.name, breaker),
                limiter: None,
                write: WriteChanges::default(),
                price: None,
            }),
            breaker: breaker.clone(),
            name: config.name.clone(),
            kind: config.kind.word(),
            engine,
        })
    }
}

fn script(config: &ProviderConfig) -> Result<Script, ConfigError> {
    let entry = format!("providers.{}.script", config.name);
    match &config.kind {
        Kind::Scripted(options) => {
            Script::load(options).map_err(|error| ConfigError::Script { entry, error })
        }
        _ => Err(ConfigError::Missing {
            entry,
            what: "script",
            remedy: "name a script file".to_owned(),
        }),
    }
}

impl HttpEngine {
    fn build(config: &ProviderConfig, upstream: Upstream, env: &Env) -> Result<Self, ConfigError> {
        // A key from a usual variable must not reach an address of someone else's.
        let usual = || match config.base_url {
            None => usual::usual_key(usual::keys_of(&config.kind), env),
            Some(_) => None,
        };
        let key = config.api_key.clone().or_else(usual);
        Ok(HttpEngine {
            client: HttpClient::new(&config.name, upstream.base(), &config.policies.timeouts),
            upstream,
            retry: config.policies.retry.clone(),
            google: google_tokens(config, env),
            key: key.map(|source| Key::new(source, env)),
            caller_key: config.caller_key,
            headers: extra_headers(config, env)?,
        })
    }

    /// Whether calls on behalf of a caller are made with the caller's own key.
    pub(crate) fn uses_key_of(&self, caller: &Caller) -> bool {
        self.caller_key && caller.key.is_some()
    }

    /// The key to call with: the caller's where that is allowed, else ours.
    pub(crate) async fn key_for(
        &self,
        caller: &Caller,
        provider: &str,
    ) -> Result<Option<Secret>, CallError> {
        if self.uses_key_of(caller) {
            return Ok(caller.key.clone());
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

    /// Adds the headers that every request of this provider has.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
    }
}

/// Where tokens come from when there is no key. As with keys, the usual credentials are
/// not used for an address of someone else's.
fn google_tokens(config: &ProviderConfig, env: &Env) -> Option<GoogleTokens> {
    let Kind::Vertex(options) = &config.kind else {
        return None;
    };
    let usual = || match config.base_url {
        None => env.get("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from),
        Some(_) => None,
    };
    let file = options.credentials.clone().or_else(usual)?;
    Some(GoogleTokens::new(file))
}

fn extra_headers(config: &ProviderConfig, env: &Env) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    for (name, source) in &config.headers {
        let bad = |why: String| ConfigError::BadHeader {
            entry: format!("providers.{}.headers.{name}", config.name),
            why,
        };
        let header = HeaderName::try_from(name.as_str())
            .map_err(|_| bad("this is not a header's name".to_owned()))?;
        let value = Key::new(source.clone(), env).get();
        let value = value.and_then(|value| sensitive(value.expose()));
        headers.insert(header, value.map_err(|error| bad(error.to_string()))?);
    }
    Ok(headers)
}
