//! Azure access tokens (Entra ID) of a provider.

use std::path::Path;
use std::sync::Arc;

use prowess_cloud::{AzureCloud, AzureTokenOptions, AzureTokens, CloudClock, CredentialSource};

use super::error::key_error;
use super::expiring::{ExpiringCredentials, settings_text};
use super::transport::CredentialTransport;
use crate::config::ProviderConfigError;
use crate::env::Env;
use crate::error::CallError;
use crate::key::{CachedKey, KeySource, SecretText};

/// What a provider's configuration says about Azure credentials. What is missing is taken from
/// the standard variables (`AZURE_TENANT_ID`, `AZURE_CLIENT_ID`, …).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AzureAuthOptions<'a> {
    /// The provider's name, for errors.
    pub(crate) provider: &'a str,
    /// The tenant of the application.
    pub(crate) tenant_id: Option<&'a str>,
    /// The application, or the user-assigned managed identity.
    pub(crate) client_id: Option<&'a str>,
    /// The application's secret.
    pub(crate) client_secret: Option<&'a KeySource>,
    /// A file with a token of another issuer that the application trusts.
    pub(crate) federated_token_file: Option<&'a Path>,
    /// The host that gets the tokens; it says which of Azure's clouds they are for.
    pub(crate) host: &'a str,
}

/// A provider's Azure access tokens.
#[derive(Debug)]
pub(crate) struct AzureAuth {
    provider: String,
    source_name: String,
    tokens: ExpiringCredentials<SecretText>,
}

impl AzureAuth {
    /// Builds the source of tokens. Reads no file and opens no connection.
    pub(crate) fn build(
        options: AzureAuthOptions<'_>,
        env: &Env,
    ) -> Result<Self, ProviderConfigError> {
        if options.client_secret.is_some() && options.federated_token_file.is_some() {
            return Err(ProviderConfigError::BadName {
                entry: format!("providers.{}.client_secret", options.provider),
                why: "it cannot be set together with federated_token_file; remove one of the two",
            });
        }
        let secret = options.client_secret.map(|source| {
            let key = CachedKey::new(source.clone(), env);
            let read = move || match key.get() {
                Ok(secret) => Ok(prowess_cloud::CloudToken::new(secret.expose())),
                Err(error) => Err(error.to_string()),
            };
            Arc::new(read) as prowess_cloud::ReadSecret
        });
        let cloud = AzureCloud::of_host(options.host);
        let cloud_name = format!("{cloud:?}");
        let file = options.federated_token_file.map(Path::to_string_lossy);
        let settings = settings_text(
            &[
                options.tenant_id,
                options.client_id,
                file.as_deref(),
                Some(cloud_name.as_str()),
            ],
            &[options.client_secret],
        );
        let given = AzureTokenOptions {
            tenant_id: options.tenant_id.map(str::to_owned),
            client_id: options.client_id.map(str::to_owned),
            client_secret: secret,
            federated_token_file: options.federated_token_file.map(Path::to_owned),
            cloud,
        };
        let source_name = AzureTokens::source_name(&given, &env.variables());
        let source = AzureTokens::new(
            given,
            env.variables(),
            CredentialTransport::shared(),
            CloudClock::system(),
        );
        let tokens = source.map_values(|token| SecretText::new(token.as_str()));
        Ok(AzureAuth {
            provider: options.provider.to_owned(),
            source_name,
            tokens: ExpiringCredentials::new(tokens, settings),
        })
    }

    /// Where the tokens come from, in words.
    pub(crate) fn source_name(&self) -> String {
        self.source_name.clone()
    }

    /// Goes on with the token that `previous` got from the same source.
    pub(super) fn take_over(&self, previous: &AzureAuth) {
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
