//! Google access tokens of a provider.

use std::path::Path;

use prowess_cloud::{CloudClock, CredentialSource, GoogleTokenOptions, GoogleTokens, Variables};

use super::error::key_error;
use super::expiring::ExpiringCredentials;
use super::transport::CredentialTransport;
use crate::config::ProviderConfigError;
use crate::env::Env;
use crate::error::CallError;
use crate::key::SecretText;

/// What a provider's configuration says about Google credentials.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GoogleAuthOptions<'a> {
    /// The provider's name, for errors.
    pub(crate) provider: &'a str,
    /// A credentials file. Default: Google's standard places, if they may be used.
    pub(crate) credentials: Option<&'a Path>,
    /// A service account to impersonate with whatever credentials are found.
    pub(crate) impersonate: Option<&'a str>,
    /// Whether Google's standard places may be used: only where tokens are sent to Google's own
    /// address.
    pub(crate) standard_places: bool,
}

/// A provider's Google access tokens.
#[derive(Debug)]
pub(crate) struct GoogleAuth {
    provider: String,
    options: GoogleTokenOptions,
    variables: Variables,
    tokens: ExpiringCredentials<SecretText>,
}

impl GoogleAuth {
    /// Builds the source of tokens; `None` if there is no place to get them from. Reads no file
    /// and opens no connection.
    pub(crate) fn build(
        options: GoogleAuthOptions<'_>,
        env: &Env,
    ) -> Result<Option<Self>, ProviderConfigError> {
        if options.credentials.is_none() && !options.standard_places {
            return Ok(None);
        }
        if let Some(account) = options.impersonate
            && !account.contains('@')
        {
            return Err(ProviderConfigError::BadName {
                entry: format!("providers.{}.impersonate", options.provider),
                why: "it must be the address of a service account, as in name@project.iam.gserviceaccount.com",
            });
        }
        let (provider, variables) = (options.provider.to_owned(), env.variables());
        let options = GoogleTokenOptions {
            credentials: options.credentials.map(Path::to_owned),
            impersonate: options.impersonate.map(str::to_owned),
        };
        let source = GoogleTokens::new(
            options.clone(),
            variables.clone(),
            CredentialTransport::shared(),
            CloudClock::system(),
        );
        let tokens = source.map_values(|token| SecretText::new(token.as_str()));
        let settings = SecretText::new(format!("{options:?}"));
        Ok(Some(GoogleAuth {
            provider,
            options,
            variables,
            tokens: ExpiringCredentials::new(tokens, settings),
        }))
    }

    /// Where the tokens come from, in words.
    pub(crate) fn source_name(&self) -> String {
        GoogleTokens::source_name(&self.options, &self.variables)
    }

    /// Goes on with the token that `previous` got from the same source.
    pub(super) fn take_over(&self, previous: &GoogleAuth) {
        self.tokens.take_over(&previous.tokens);
    }

    /// A token that is valid now. Waits only when none is.
    pub(crate) async fn token(&self) -> Result<SecretText, CallError> {
        let token = self.tokens.get().await;
        token.map_err(|error| CallError::Key {
            provider: self.provider.clone(),
            error: key_error(&error),
        })
    }
}
