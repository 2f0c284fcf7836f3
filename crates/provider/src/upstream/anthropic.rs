//! Anthropic's own API.

use http::{HeaderMap, HeaderValue, Method};
use url::Url;

use super::{FileAsk, Job, Task, below, get, post};
use crate::http::{HttpRequest, headers};
use crate::key::{KeyError, Secret};

const VERSION: &str = "anthropic-version";
const BETA: &str = "anthropic-beta";
/// What older versions of the API want to be told by those who ask for files.
const FILES: &str = "files-api-2025-04-14";
/// From this version on the SDKs send keys as bearer tokens, and the API refuses
/// sampling parameters.
const LATER: &str = "2026-10-21";
/// Tokens of a subscription are bearer tokens under every version.
const OAUTH_PREFIX: &str = "sk-ant-oat";

#[derive(Debug)]
pub(crate) struct Anthropic {
    pub(crate) base: Url,
    pub(crate) version: HeaderValue,
}

impl Anthropic {
    pub(crate) fn refuses_sampling(&self) -> bool {
        self.version.as_bytes() >= LATER.as_bytes()
    }

    pub(crate) fn request(
        &self,
        job: Job<'_>,
        key: Option<&Secret>,
    ) -> Result<HttpRequest, KeyError> {
        let path: &[&str] = match job.task {
            Task::Generate => &["v1", "messages"],
            Task::CountTokens => &["v1", "messages", "count_tokens"],
        };
        let url = below(&self.base, path.iter().copied());
        Ok(post(url, self.headers(job.headers, key)?, job.body))
    }

    pub(crate) fn list_request(
        &self,
        headers: HeaderMap,
        key: Option<&Secret>,
    ) -> Result<HttpRequest, KeyError> {
        let mut url = below(&self.base, ["v1", "models"]);
        url.set_query(Some("limit=1000"));
        Ok(get(url, self.headers(headers, key)?))
    }

    pub(crate) fn file_request(
        &self,
        ask: FileAsk,
        id: &str,
        mut headers: HeaderMap,
        key: Option<&Secret>,
    ) -> Result<HttpRequest, KeyError> {
        let named = headers.get_all(BETA).iter();
        let mut named = named.filter_map(|betas| betas.to_str().ok());
        if !named.any(|betas| betas.contains(FILES)) {
            headers.append(BETA, HeaderValue::from_static(FILES));
        }
        let content = (ask == FileAsk::Content).then_some("content");
        let path = ["v1", "files", id].into_iter().chain(content);
        let mut request = get(below(&self.base, path), self.headers(headers, key)?);
        if ask == FileAsk::Delete {
            request.method = Method::DELETE;
        }
        Ok(request)
    }

    fn headers(&self, mut headers: HeaderMap, key: Option<&Secret>) -> Result<HeaderMap, KeyError> {
        let version = headers
            .entry(VERSION)
            .or_insert_with(|| self.version.clone())
            .as_bytes();
        let dated_late = version >= LATER.as_bytes();
        match key {
            Some(key) if dated_late || key.expose().starts_with(OAUTH_PREFIX) => {
                headers::set_bearer(&mut headers, key)?;
            }
            Some(key) => headers::set_key(&mut headers, "x-api-key", key)?,
            None => {}
        }
        Ok(headers)
    }
}
