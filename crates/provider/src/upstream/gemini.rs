//! Google's Gemini API.

use http::HeaderMap;
use url::Url;

use super::{Job, below, get, post};
use crate::http::{HttpRequest, headers};
use crate::key::{KeyError, Secret};

#[derive(Debug)]
pub(crate) struct Gemini {
    pub(crate) base: Url,
    pub(crate) api_version: String,
}

impl Gemini {
    pub(crate) fn request(
        &self,
        job: Job<'_>,
        key: Option<&Secret>,
    ) -> Result<HttpRequest, KeyError> {
        let operation = operation(job.model, job.stream);
        let mut url = below(&self.base, [&self.api_version, "models", &operation]);
        if job.stream {
            url.set_query(Some("alt=sse"));
        }
        Ok(post(url, with_key(job.headers, key)?, job.body))
    }

    pub(crate) fn list_request(
        &self,
        headers: HeaderMap,
        key: Option<&Secret>,
    ) -> Result<HttpRequest, KeyError> {
        let mut url = below(&self.base, [self.api_version.as_str(), "models"]);
        url.set_query(Some("pageSize=1000"));
        Ok(get(url, with_key(headers, key)?))
    }
}

/// The last segment of the path: model and method in one.
pub(super) fn operation(model: &str, stream: bool) -> String {
    let method = if stream {
        "streamGenerateContent"
    } else {
        "generateContent"
    };
    format!("{model}:{method}")
}

fn with_key(mut headers: HeaderMap, key: Option<&Secret>) -> Result<HeaderMap, KeyError> {
    if let Some(key) = key {
        headers::set_key(&mut headers, "x-goog-api-key", key)?;
    }
    Ok(headers)
}
