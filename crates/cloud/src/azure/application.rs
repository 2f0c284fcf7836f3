//! Applications of Entra ID: with a secret, or with a token of another issuer that they trust.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::{AzureContext, AzureTokenOptions};
use crate::error::{CloudError, SourceReport};
use crate::secret::{CloudToken, ReadSecret, read_secret_file};
use crate::source::Issued;
use crate::transport::{checked_url, form_request};
use crate::variables::Variables;

/// An application that proves who it is.
pub(super) struct Application {
    tenant_id: String,
    client_id: String,
    proof: Proof,
}

enum Proof {
    Secret(ReadSecret),
    /// A file with another issuer's token, which is replaced before it expires.
    TokenFile(PathBuf),
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    expires_in: u64,
}

impl Application {
    /// The application that is configured or in variables; otherwise what is missing. An
    /// application that is configured in part is an error.
    pub(super) fn find(
        options: &AzureTokenOptions,
        variables: &Variables,
    ) -> Result<Result<Self, Vec<SourceReport>>, CloudError> {
        let given =
            |option: &Option<String>, name: &str| option.clone().or_else(|| variables.get(name));
        let Some(proof) = Proof::find(options, variables) else {
            return Ok(Err(vec![
                SourceReport::new("client secret", "AZURE_CLIENT_SECRET is not set"),
                SourceReport::new("workload identity", "AZURE_FEDERATED_TOKEN_FILE is not set"),
            ]));
        };
        let missing = |what| {
            let reason = format!("{what} is not set, nor configured");
            Err(CloudError::refused(proof.source(), reason))
        };
        let Some(tenant_id) = given(&options.tenant_id, "AZURE_TENANT_ID") else {
            return missing("AZURE_TENANT_ID");
        };
        let Some(client_id) = given(&options.client_id, "AZURE_CLIENT_ID") else {
            return missing("AZURE_CLIENT_ID");
        };
        Ok(Ok(Application {
            tenant_id,
            client_id,
            proof,
        }))
    }

    /// How it proves who it is.
    pub(super) fn source(&self) -> &'static str {
        self.proof.source()
    }

    pub(super) async fn token(
        &self,
        azure: &AzureContext,
    ) -> Result<Issued<CloudToken>, CloudError> {
        let source = self.proof.source();
        let authority = azure.variables.get("AZURE_AUTHORITY_HOST");
        let authority = authority.as_deref().unwrap_or(azure.cloud.authority());
        let mut url = checked_url(source, authority)?;
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty()
                .extend([self.tenant_id.as_str(), "oauth2", "v2.0", "token"]);
        }
        let proof = self.proof.read()?;
        let scope = format!("{}/.default", azure.cloud.resource());
        let mut fields = vec![
            ("grant_type", "client_credentials"),
            ("client_id", self.client_id.as_str()),
            ("scope", scope.as_str()),
        ];
        match &self.proof {
            Proof::Secret(_) => fields.push(("client_secret", proof.as_str())),
            Proof::TokenFile(_) => fields.extend([
                (
                    "client_assertion_type",
                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                ),
                ("client_assertion", proof.as_str()),
            ]),
        }
        let request = form_request(&url, &fields);
        let requested_at = azure.clock.now();
        let token: TokenResponse = azure.sender.json(source, &request).await?;
        Ok(Issued {
            value: CloudToken::new(token.access_token),
            expires: requested_at.checked_add(Duration::from_secs(token.expires_in)),
        })
    }
}

impl Proof {
    /// What is configured is used before variables, and a secret before a file.
    fn find(options: &AzureTokenOptions, variables: &Variables) -> Option<Self> {
        let configured_secret = options.client_secret.clone().map(Proof::Secret);
        let configured_file = || options.federated_token_file.clone().map(Proof::TokenFile);
        let secret = || {
            let variables = variables.clone();
            variables.get("AZURE_CLIENT_SECRET")?;
            let read = move || {
                let secret = variables.get("AZURE_CLIENT_SECRET");
                secret
                    .map(CloudToken::new)
                    .ok_or_else(|| "AZURE_CLIENT_SECRET is not set".to_owned())
            };
            Some(Proof::Secret(Arc::new(read)))
        };
        let file = || {
            let file = variables.path("AZURE_FEDERATED_TOKEN_FILE")?;
            Some(Proof::TokenFile(file))
        };
        configured_secret
            .or_else(configured_file)
            .or_else(secret)
            .or_else(file)
    }

    fn source(&self) -> &'static str {
        match self {
            Proof::Secret(_) => "client secret",
            Proof::TokenFile(_) => "workload identity",
        }
    }

    fn read(&self) -> Result<CloudToken, CloudError> {
        let refused = |reason: String| CloudError::refused(self.source(), reason);
        match self {
            Proof::Secret(read) => read().map_err(refused),
            Proof::TokenFile(file) => read_secret_file(file)
                .map_err(|error| refused(format!("{} cannot be read: {error}", file.display()))),
        }
    }
}
