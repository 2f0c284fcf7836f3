//! Managed identities: of App Service and Container Apps, and of virtual machines.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::HeaderValue;
use serde::Deserialize;
use serde_json::Value;

use super::AzureContext;
use crate::error::CloudError;
use crate::secret::CloudToken;
use crate::source::Issued;
use crate::transport::{METADATA_IP, checked_url, request_to, secret_header};

pub(super) const SOURCE: &str = "managed identity";
const MACHINE_PATH: &str = "/metadata/identity/oauth2/token";

#[derive(Deserialize)]
struct IdentityToken {
    access_token: String,
    /// Seconds since 1970, as a text or a number.
    expires_on: Value,
}

/// A token of the managed identity with this client id; by default of the one that the system
/// assigned.
pub(super) async fn token(
    azure: &AzureContext,
    client_id: Option<&str>,
) -> Result<Issued<CloudToken>, CloudError> {
    let variables = &azure.variables;
    let (endpoint, version, header) = match (
        variables.get("IDENTITY_ENDPOINT"),
        variables.get("IDENTITY_HEADER"),
    ) {
        (Some(endpoint), Some(secret)) => {
            let secret = secret_header(SOURCE, &secret)?;
            (endpoint, "2019-08-01", ("x-identity-header", secret))
        }
        _ => {
            let host = variables.get("AZURE_POD_IDENTITY_AUTHORITY_HOST");
            let host = host.unwrap_or_else(|| format!("http://{METADATA_IP}"));
            let endpoint = format!("{}{MACHINE_PATH}", host.trim_end_matches('/'));
            let metadata = ("metadata", HeaderValue::from_static("true"));
            (endpoint, "2018-02-01", metadata)
        }
    };
    let mut url = checked_url(SOURCE, &endpoint)?;
    url.query_pairs_mut()
        .append_pair("api-version", version)
        .append_pair("resource", azure.cloud.resource());
    if let Some(client_id) = client_id {
        url.query_pairs_mut().append_pair("client_id", client_id);
    }
    let mut request = request_to(&url, Bytes::new());
    let (name, value) = header;
    request.headers_mut().insert(name, value);
    let token: IdentityToken = azure.sender.json(SOURCE, &request).await?;
    Ok(Issued {
        value: CloudToken::new(token.access_token),
        expires: Some(expiry(&token.expires_on)?),
    })
}

fn expiry(seconds: &Value) -> Result<SystemTime, CloudError> {
    let seconds = match seconds {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    seconds
        .and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)))
        .ok_or_else(|| CloudError::refused(SOURCE, "its response has no valid expires_on"))
}
