//! The audit log of a server.

use reqwest::Method;
use reqwest::header::ACCEPT;

use crate::connection::{Client, encode_query};
use crate::error::Error;
use crate::lines::RemoteLines;

impl Client {
    /// The entries that match a filter, newest first, one JSON object per line. Filters are
    /// those of `GET /v1/admin/audit`.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn audit_lines(&self, filter: &[(&str, &str)]) -> Result<RemoteLines, Error> {
        let path = format!("/admin/audit?{}", encode_query(filter));
        let request = self.request(Method::GET, &path);
        let request = request.header(ACCEPT, "application/x-ndjson");
        Ok(RemoteLines::new(self.send(request).await?))
    }
}
