//! Google's access tokens, from Google's standard places in their order: the configured
//! credentials file, `GOOGLE_APPLICATION_CREDENTIALS`, the file of `gcloud auth
//! application-default login`, the metadata server.
//!
//! Written here instead of with the crate google-cloud-auth (1.18): its cache does not say when a
//! token expires and cannot be left out, so that its tokens could not be kept and refreshed by
//! the rules of `cache/`; it gives up for good after an error that it takes for permanent, as a
//! server that runs for months must not; it reads only the variables of the process; and it
//! brings a second HTTP client into this crate (12 more packages). Programs that print tokens
//! (`credential_source.executable`) are not run: only the sandbox runs foreign code.

mod external_account;
mod file;
mod impersonation;
mod metadata;
mod oauth;
mod service_account;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::clock::CloudClock;
use crate::error::{CloudError, SourceReport};
use crate::secret::CloudToken;
use crate::source::{CredentialSource, FetchFuture, Issued};
use crate::transport::{CloudTransport, Sender};
use crate::variables::Variables;

pub(crate) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// What is configured about Google's access tokens.
#[derive(Debug, Clone, Default)]
pub struct GoogleTokenOptions {
    /// A credentials file, instead of the standard places.
    pub credentials: Option<PathBuf>,
    /// A service account to impersonate with whatever credentials are found.
    pub impersonate: Option<String>,
}

/// Google's access tokens.
#[derive(Debug)]
pub struct GoogleTokens {
    options: GoogleTokenOptions,
    google: GoogleContext,
    /// Whether the metadata server gave a token before: then there is one, answering or not.
    has_metadata_server: AtomicBool,
}

/// What all sources of Google's tokens need.
#[derive(Debug)]
pub(crate) struct GoogleContext {
    pub(crate) variables: Variables,
    pub(crate) sender: Sender,
    pub(crate) clock: CloudClock,
}

impl GoogleTokens {
    /// Tokens from the configured file or the standard places. Nothing is read yet.
    pub fn new(
        options: GoogleTokenOptions,
        variables: Variables,
        transport: Arc<dyn CloudTransport>,
        clock: CloudClock,
    ) -> Self {
        GoogleTokens {
            options,
            google: GoogleContext {
                variables,
                sender: Sender::new(transport),
                clock,
            },
            has_metadata_server: AtomicBool::new(false),
        }
    }

    /// The source that options and variables name. Nothing is read or asked.
    pub fn source_name(options: &GoogleTokenOptions, variables: &Variables) -> String {
        let source = match find_file(options, variables) {
            Some(file) => file.display().to_string(),
            None => "metadata server".to_owned(),
        };
        match &options.impersonate {
            Some(account) => format!("{account} with {source}"),
            None => source,
        }
    }

    async fn token(&self) -> Result<Issued<CloudToken>, CloudError> {
        let token = match find_file(&self.options, &self.google.variables) {
            Some(path) => {
                let file = file::CredentialsFile::read(&path)?;
                file.token(&self.google).await
            }
            None => self.ask_metadata_server().await,
        }?;
        match &self.options.impersonate {
            Some(account) => impersonation::of_account(&self.google, account, &token.value).await,
            None => Ok(token),
        }
    }

    async fn ask_metadata_server(&self) -> Result<Issued<CloudToken>, CloudError> {
        let is_named = self.google.variables.get("GCE_METADATA_HOST").is_some();
        let is_known = is_named || self.has_metadata_server.load(Ordering::Relaxed);
        let report = match metadata::token(&self.google).await {
            Ok(token) => {
                self.has_metadata_server.store(true, Ordering::Relaxed);
                return Ok(token);
            }
            // Nobody is there to ask, so this is no machine of Google.
            Err(CloudError::Unanswered(report)) if !is_known => report,
            // A server that answers is the right one, and its answer says more.
            Err(error) => return Err(error),
        };
        let users_file = match user_credentials_file(&self.google.variables) {
            Some(file) => format!("{} does not exist", file.display()),
            None => "HOME is not set".to_owned(),
        };
        Err(CloudError::NoneFound {
            cloud: "Google",
            tried: vec![
                SourceReport::new("environment", "GOOGLE_APPLICATION_CREDENTIALS is not set"),
                SourceReport::new("gcloud", users_file),
                report,
            ],
            remedy: "set credentials in the provider's configuration or \
                     GOOGLE_APPLICATION_CREDENTIALS to a credentials file",
        })
    }
}

impl CredentialSource for GoogleTokens {
    type Value = CloudToken;

    fn fetch(&self) -> FetchFuture<'_, CloudToken> {
        Box::pin(self.token())
    }
}

/// The credentials file to use. One that is named must be there; the user's own may not be.
fn find_file(options: &GoogleTokenOptions, variables: &Variables) -> Option<PathBuf> {
    let configured = options.credentials.clone();
    let named = || variables.path("GOOGLE_APPLICATION_CREDENTIALS");
    let users = || user_credentials_file(variables).filter(|file| file.is_file());
    configured.or_else(named).or_else(users)
}

/// Where `gcloud auth application-default login` puts a user's credentials.
pub fn user_credentials_file(variables: &Variables) -> Option<PathBuf> {
    let folder = variables.path("CLOUDSDK_CONFIG");
    let folder = folder.or_else(|| Some(variables.home()?.join(".config").join("gcloud")))?;
    Some(folder.join("application_default_credentials.json"))
}
