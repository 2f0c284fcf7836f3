//! Azure's access tokens (Entra ID), from Azure's standard places in their order: an application
//! with a secret, an application that trusts another issuer's token, a managed identity.
//!
//! Written here instead of with the crate azure_identity (1.0): it reads only the variables of
//! the process, quotes whole responses in its errors, and brings 8 more packages.

mod application;
mod managed_identity;
mod national_cloud;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use self::national_cloud::AzureCloud;
use crate::clock::CloudClock;
use crate::error::{CloudError, SourceReport};
use crate::secret::{CloudToken, ReadSecret};
use crate::source::{CredentialSource, FetchFuture, Issued};
use crate::transport::{CloudTransport, Sender};
use crate::variables::Variables;

/// What is configured about Azure's access tokens; the rest is taken from the standard
/// variables.
#[derive(Clone, Default)]
pub struct AzureTokenOptions {
    /// The tenant of the application.
    pub tenant_id: Option<String>,
    /// The application, or the user-assigned managed identity.
    pub client_id: Option<String>,
    /// The application's secret.
    pub client_secret: Option<ReadSecret>,
    /// A file with another issuer's token.
    pub federated_token_file: Option<PathBuf>,
    /// The cloud whose models the tokens are for.
    pub cloud: AzureCloud,
}

/// Azure's access tokens.
pub struct AzureTokens {
    options: AzureTokenOptions,
    azure: AzureContext,
    /// Whether a managed identity gave a token before: then there is one, answering or not.
    has_identity: AtomicBool,
}

/// What all sources of Azure's tokens need.
pub(crate) struct AzureContext {
    pub(crate) cloud: AzureCloud,
    pub(crate) variables: Variables,
    pub(crate) sender: Sender,
    pub(crate) clock: CloudClock,
}

impl AzureTokens {
    /// Tokens from the configured application or the standard places. Nothing is read yet.
    pub fn new(
        options: AzureTokenOptions,
        variables: Variables,
        transport: Arc<dyn CloudTransport>,
        clock: CloudClock,
    ) -> Self {
        AzureTokens {
            azure: AzureContext {
                cloud: options.cloud,
                variables,
                sender: Sender::new(transport),
                clock,
            },
            options,
            has_identity: AtomicBool::new(false),
        }
    }

    /// The source that options and variables name, or what it lacks. Nothing is read or asked.
    pub fn source_name(options: &AzureTokenOptions, variables: &Variables) -> String {
        match application::Application::find(options, variables) {
            Ok(Ok(application)) => application.source().to_owned(),
            Ok(Err(_)) => managed_identity::SOURCE.to_owned(),
            Err(error) => error.to_string(),
        }
    }

    async fn token(&self) -> Result<Issued<CloudToken>, CloudError> {
        let tried = match application::Application::find(&self.options, &self.azure.variables)? {
            Ok(application) => return application.token(&self.azure).await,
            Err(tried) => tried,
        };
        let client_id = self.client_id();
        let is_named = self.azure.variables.get("IDENTITY_ENDPOINT").is_some();
        let is_known = is_named || self.has_identity.load(Ordering::Relaxed);
        match managed_identity::token(&self.azure, client_id.as_deref()).await {
            // Nobody is there to ask, so this is no machine of Azure.
            Err(CloudError::Unanswered(report)) if !is_known => Err(none_found(tried, report)),
            Err(error) => Err(error),
            Ok(token) => {
                self.has_identity.store(true, Ordering::Relaxed);
                Ok(token)
            }
        }
    }

    fn client_id(&self) -> Option<String> {
        let configured = self.options.client_id.clone();
        configured.or_else(|| self.azure.variables.get("AZURE_CLIENT_ID"))
    }
}

impl CredentialSource for AzureTokens {
    type Value = CloudToken;

    fn fetch(&self) -> FetchFuture<'_, CloudToken> {
        Box::pin(self.token())
    }
}

fn none_found(mut tried: Vec<SourceReport>, last: SourceReport) -> CloudError {
    tried.push(last);
    CloudError::NoneFound {
        cloud: "Azure",
        tried,
        remedy: "set api_key in the provider's configuration, or AZURE_TENANT_ID, AZURE_CLIENT_ID \
                 and AZURE_CLIENT_SECRET",
    }
}
