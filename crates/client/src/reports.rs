//! What a server reports of itself and of what it did: usage, runs, tenants, providers, the
//! configuration. Objects are as the server sent them; showing them belongs to the caller.

use serde::Deserialize;
use serde_json::Value;

use crate::connection::{Client, encode_query, encode_segment};
use crate::error::Error;

/// Maximum number of tenants in a list.
const MAX_TENANTS: usize = 100_000;

#[derive(Debug, Deserialize)]
struct ReportPage {
    data: Vec<Value>,
    next_page: Option<String>,
}

impl Client {
    /// Usage of model calls. The query is that of `GET /v1/usage`.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn usage(&self, query: &[(&str, &str)]) -> Result<Value, Error> {
        self.get(&format!("/usage?{}", encode_query(query))).await
    }

    /// The newest runs that match a filter, newest first. Filters are those of `GET /v1/runs`;
    /// a server lists at most 1,000 at once.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn runs(&self, limit: u32, filter: &[(&str, &str)]) -> Result<Vec<Value>, Error> {
        let limit = limit.to_string();
        let mut query = vec![("limit", limit.as_str())];
        query.extend_from_slice(filter);
        let path = format!("/runs?{}", encode_query(&query));
        let page: ReportPage = self.get(&path).await?;
        Ok(page.data)
    }

    /// A run with its usage, skills, files and events; a kept one that has no record yet, without
    /// them.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn run_record(&self, id: &str) -> Result<Value, Error> {
        self.get(&format!("/runs/{}", encode_segment(id))).await
    }

    /// All tenants, with what they have, and what they did since a time; with the master key.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn tenants(&self, since: &str) -> Result<Vec<Value>, Error> {
        let mut tenants = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut query = vec![("limit", "1000"), ("since", since)];
            query.extend(next.as_deref().map(|page| ("page", page)));
            let path = format!("/admin/tenants?{}", encode_query(&query));
            let page: ReportPage = self.get(&path).await?;
            tenants.extend(page.data);
            if page.next_page.is_none() {
                return Ok(tenants);
            }
            if tenants.len() > MAX_TENANTS {
                return Err(Error::ListTooLong(MAX_TENANTS));
            }
            next = page.next_page;
        }
    }

    /// The providers, and the health of their models; with the master key.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn providers(&self) -> Result<Vec<Value>, Error> {
        let page: ReportPage = self.get("/admin/providers").await?;
        Ok(page.data)
    }

    /// The configuration as the server has read it, with secrets hidden; with the master key.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn configuration(&self) -> Result<Value, Error> {
        self.get("/admin/configuration").await
    }
}
