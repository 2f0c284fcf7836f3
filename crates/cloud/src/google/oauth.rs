//! Responses of OAuth token endpoints.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use serde::Deserialize;

use super::GoogleContext;
use crate::error::CloudError;
use crate::secret::CloudToken;
use crate::source::Issued;

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    expires_in: u64,
}

/// Sends a request for a token.
pub(super) async fn request_token(
    google: &GoogleContext,
    source: &str,
    request: &Request<Bytes>,
) -> Result<Issued<CloudToken>, CloudError> {
    // Its lifetime begins before it arrives.
    let requested_at = google.clock.now();
    let token: TokenResponse = google.sender.json(source, request).await?;
    Ok(Issued {
        value: CloudToken::new(token.access_token),
        expires: requested_at.checked_add(Duration::from_secs(token.expires_in)),
    })
}
