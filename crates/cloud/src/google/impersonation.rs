//! Tokens of service accounts that others may impersonate.

use std::time::SystemTime;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use serde::Deserialize;
use serde_json::json;

use super::{GoogleContext, SCOPE};
use crate::error::CloudError;
use crate::secret::CloudToken;
use crate::source::Issued;
use crate::transport::{checked_url, request_to, secret_header};

const SOURCE: &str = "service account impersonation";
const DEFAULT_LIFETIME_SECS: u64 = 3600;
const IAM: &str = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeneratedToken {
    access_token: String,
    expire_time: String,
}

/// A token of this service account, with the token of somebody who may impersonate it.
pub(super) async fn of_account(
    google: &GoogleContext,
    account: &str,
    token: &CloudToken,
) -> Result<Issued<CloudToken>, CloudError> {
    let url = format!("{IAM}/{account}:generateAccessToken");
    generate_token(google, &url, &[], None, token).await
}

/// Has a token made at the address of a service account.
pub(super) async fn generate_token(
    google: &GoogleContext,
    url: &str,
    delegates: &[String],
    lifetime_secs: Option<u64>,
    token: &CloudToken,
) -> Result<Issued<CloudToken>, CloudError> {
    let url = checked_url(SOURCE, url)?;
    let lifetime = lifetime_secs.unwrap_or(DEFAULT_LIFETIME_SECS);
    let body = json!({
        "delegates": delegates, "scope": [SCOPE], "lifetime": format!("{lifetime}s"),
    });
    let mut request = request_to(&url, Bytes::from(body.to_string()));
    *request.method_mut() = Method::POST;
    let bearer = secret_header(SOURCE, &format!("Bearer {}", token.as_str()))?;
    let headers = request.headers_mut();
    headers.insert(AUTHORIZATION, bearer);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let generated: GeneratedToken = google.sender.json(SOURCE, &request).await?;
    let expires: jiff::Timestamp = generated
        .expire_time
        .parse()
        .map_err(|_| CloudError::refused(SOURCE, "its response has no valid expireTime"))?;
    Ok(Issued {
        value: CloudToken::new(generated.access_token),
        expires: Some(SystemTime::from(expires)),
    })
}
