//! Credentials files, as Google's tools write them.

use std::path::Path;

use serde::Deserialize;

use super::external_account::ExternalAccount;
use super::service_account::{DEFAULT_TOKEN_URI, ServiceAccount};
use super::{GoogleContext, impersonation, oauth};
use crate::error::CloudError;
use crate::secret::{CloudToken, read_secret_file};
use crate::source::Issued;
use crate::transport::{checked_url, form_request};

/// A credentials file.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum CredentialsFile {
    ServiceAccount(ServiceAccount),
    AuthorizedUser(AuthorizedUser),
    /// A user of another identity provider, who signed in with `gcloud`.
    ExternalAccountAuthorizedUser(AuthorizedUser),
    ExternalAccount(Box<ExternalAccount>),
    ImpersonatedServiceAccount(Box<ImpersonatedAccount>),
}

/// A service account, and who impersonates it.
#[derive(Deserialize)]
pub(super) struct ImpersonatedAccount {
    service_account_impersonation_url: String,
    #[serde(default)]
    delegates: Vec<String>,
    source_credentials: CredentialsFile,
}

#[derive(Deserialize)]
pub(super) struct AuthorizedUser {
    client_id: String,
    client_secret: String,
    refresh_token: String,
    #[serde(alias = "token_url")]
    token_uri: Option<String>,
}

impl CredentialsFile {
    /// Reads a file. It is read for every token, as it may have been replaced.
    pub(super) fn read(path: &Path) -> Result<Self, CloudError> {
        let source = format!("credentials file {}", path.display());
        let text = read_secret_file(path)
            .map_err(|error| CloudError::refused(&source, format!("it cannot be read: {error}")))?;
        // The parser's message may quote the file, so only its position is reported.
        serde_json::from_str(text.as_str()).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            CloudError::refused(
                source,
                format!(
                    "it is not a credentials file of Google that can be used here (line {line}, \
                     column {column}); it must be a service account key, user credentials, an \
                     external account or an impersonated service account"
                ),
            )
        })
    }

    pub(super) async fn token(
        &self,
        google: &GoogleContext,
    ) -> Result<Issued<CloudToken>, CloudError> {
        match self {
            CredentialsFile::ServiceAccount(account) => account.token(google).await,
            CredentialsFile::AuthorizedUser(user)
            | CredentialsFile::ExternalAccountAuthorizedUser(user) => user.token(google).await,
            CredentialsFile::ExternalAccount(account) => account.token(google).await,
            CredentialsFile::ImpersonatedServiceAccount(account) => account.token(google).await,
        }
    }
}

impl AuthorizedUser {
    async fn token(&self, google: &GoogleContext) -> Result<Issued<CloudToken>, CloudError> {
        const SOURCE: &str = "user credentials";
        let url = self.token_uri.as_deref().unwrap_or(DEFAULT_TOKEN_URI);
        let url = checked_url(SOURCE, url)?;
        let fields = [
            ("grant_type", "refresh_token"),
            ("client_id", self.client_id.as_str()),
            ("client_secret", self.client_secret.as_str()),
            ("refresh_token", self.refresh_token.as_str()),
        ];
        let token = oauth::request_token(google, SOURCE, &form_request(&url, &fields)).await;
        token.map_err(|error| match error.is_transient() {
            true => error,
            false => error.with_remedy("run `gcloud auth application-default login` again"),
        })
    }
}

impl ImpersonatedAccount {
    async fn token(&self, google: &GoogleContext) -> Result<Issued<CloudToken>, CloudError> {
        // The type refers to itself, so its future must be in a box.
        let own = Box::pin(self.source_credentials.token(google)).await?;
        let url = &self.service_account_impersonation_url;
        impersonation::generate_token(google, url, &self.delegates, None, &own.value).await
    }
}
