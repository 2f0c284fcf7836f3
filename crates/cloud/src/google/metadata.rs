//! The metadata server of Google's machines, Cloud Run and GKE.

use bytes::Bytes;
use http::HeaderValue;

use super::{GoogleContext, SCOPE, oauth};
use crate::error::CloudError;
use crate::secret::CloudToken;
use crate::source::Issued;
use crate::transport::{METADATA_IP, checked_url, request_to};

const SOURCE: &str = "metadata server";
const PATH: &str = "/computeMetadata/v1/instance/service-accounts/default/token";

/// A token of the machine's service account.
pub(super) async fn token(google: &GoogleContext) -> Result<Issued<CloudToken>, CloudError> {
    let host = google.variables.get("GCE_METADATA_HOST");
    let host = host.unwrap_or_else(|| METADATA_IP.to_string());
    let mut url = checked_url(SOURCE, &format!("http://{host}{PATH}"))?;
    url.query_pairs_mut().append_pair("scopes", SCOPE);
    let mut request = request_to(&url, Bytes::new());
    let flavor = HeaderValue::from_static("Google");
    request.headers_mut().insert("metadata-flavor", flavor);
    oauth::request_token(google, SOURCE, &request).await
}
