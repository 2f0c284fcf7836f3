//! Credentials that expire, and the settings that they are obtained with: a new configuration
//! goes on with those of the one before it if its settings are the same.

use prowess_cloud::{CloudClock, CloudError, CredentialCache, CredentialSource};

use crate::key::{KeySource, SecretText};

/// Credentials of one source.
#[derive(Debug)]
pub(super) struct ExpiringCredentials<T> {
    cache: CredentialCache<T>,
    /// Secret, as keys are part of it.
    settings: SecretText,
}

impl<T: Clone + Send + Sync + 'static> ExpiringCredentials<T> {
    /// No credentials yet; the first request fetches them.
    pub(super) fn new(source: impl CredentialSource<Value = T>, settings: SecretText) -> Self {
        ExpiringCredentials {
            cache: CredentialCache::new(source, CloudClock::system()),
            settings,
        }
    }

    /// Credentials that are valid now. Waits only when none are.
    pub(super) async fn get(&self) -> Result<T, CloudError> {
        self.cache.get().await
    }

    /// Uses the credentials of `previous` until its own are fetched, if the settings are the same.
    pub(super) fn take_over(&self, previous: &Self) {
        if self.settings.expose() == previous.settings.expose() {
            self.cache.take_over(&previous.cache);
        }
    }
}

/// The settings of a source, to compare them: texts, and where keys are read from.
pub(super) fn settings_text(texts: &[Option<&str>], keys: &[Option<&KeySource>]) -> SecretText {
    let keys: Vec<Option<String>> = keys.iter().map(|key| key.map(key_text)).collect();
    SecretText::new(format!("{texts:?} {keys:?}"))
}

fn key_text(key: &KeySource) -> String {
    match key {
        KeySource::Env(name) => format!("env:{name}"),
        KeySource::File(path) => format!("file:{}", path.display()),
        KeySource::Literal(secret) => secret.expose().to_owned(),
    }
}
