//! Which provider may get a client's own key, and which must not: a key that one vendor gave is
//! never sent to another.
//!
//! A client names a model, and its key is meant for the provider of that model: of the first
//! target of the route. Deployments and fallbacks at the same address of the same kind get it as
//! well. Any other target is called with the key of its configuration; one that has none is
//! passed over. Where the client names the provider itself, the key is meant for that one.

use crate::call_credentials::CallCredentials;
use crate::credentials::ClientCredentials;
use crate::provider::{Provider, ProviderBackend};
use crate::route::Route;
use crate::target::Target;

impl Route {
    /// What a call of one of its targets may have of the client's credentials.
    pub(crate) fn credentials_for<'c>(
        &self,
        target: &Target,
        credentials: &'c ClientCredentials,
    ) -> CallCredentials<'c> {
        let own = match &credentials.key {
            Some(_) if !self.is_key_meant_for(target) => credentials.without_key(),
            _ => credentials.for_named_provider(),
        };
        CallCredentials {
            owner: self.owner,
            ..own
        }
    }

    /// Whether a target is passed over: the client's key is meant for another provider, and this
    /// one has no key of its own.
    pub(crate) fn passes_over(&self, target: &Target, credentials: &ClientCredentials) -> bool {
        if credentials.key.is_none() || self.is_key_meant_for(target) {
            return false;
        }
        match &target.provider.backend {
            ProviderBackend::Http(http) => http.needs_client_key(),
            ProviderBackend::Scripted(_) => false,
        }
    }

    /// The targets that can be called with these credentials, in their order.
    pub(crate) fn callable<'r>(
        &'r self,
        credentials: &'r ClientCredentials,
    ) -> impl Iterator<Item = &'r Target> + Send {
        let targets = self.targets.iter();
        targets.filter(move |target| !self.passes_over(target, credentials))
    }

    /// How many of its targets are passed over.
    pub(crate) fn count_passed_over(&self, credentials: &ClientCredentials) -> u32 {
        let passed = self.targets.len() - self.callable(credentials).count();
        u32::try_from(passed).unwrap_or(u32::MAX)
    }

    /// Whether calls of a provider of this route are made with the client's own key.
    pub fn uses_client_key(&self, provider: &str, credentials: &ClientCredentials) -> bool {
        let mut targets = self.targets.iter();
        let target = targets.find(|target| target.provider() == provider);
        target.is_some_and(|target| match &target.provider.backend {
            ProviderBackend::Http(http) => {
                http.uses_client_key(self.credentials_for(target, credentials))
            }
            ProviderBackend::Scripted(_) => false,
        })
    }

    fn is_key_meant_for(&self, target: &Target) -> bool {
        let first = self.targets.first();
        first.is_some_and(|first| first.provider.shares_keys_with(&target.provider))
    }
}

impl Provider {
    /// Whether a key of one is a key of the other: they are of one kind, at one address.
    fn shares_keys_with(&self, other: &Provider) -> bool {
        if std::ptr::eq(self, other) {
            return true;
        }
        match (&self.backend, &other.backend) {
            (ProviderBackend::Http(own), ProviderBackend::Http(theirs)) => {
                let (own, theirs) = (own.upstream.base(), theirs.upstream.base());
                let without_slash = |url: &url::Url| url.as_str().trim_end_matches('/').to_owned();
                self.kind == other.kind && without_slash(own) == without_slash(theirs)
            }
            _ => false,
        }
    }
}
