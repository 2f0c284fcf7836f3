//! Anthropic's own API.

use http::uri::InvalidUri;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use super::{FileAsk, Job, Task, below, get, post};
use crate::http::{Address, HttpRequest, headers};
use crate::key::{KeyError, Secret};

const VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");
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
    /// Where it is asked.
    messages: Address,
    count: Address,
}

impl Anthropic {
    pub(crate) fn new(base: Url, version: HeaderValue) -> Result<Anthropic, InvalidUri> {
        let address = |path: &[&str]| Address::try_from(&below(&base, path.iter().copied()));
        Ok(Anthropic {
            messages: address(&["v1", "messages"])?,
            count: address(&["v1", "messages", "count_tokens"])?,
            base,
            version,
        })
    }

    pub(crate) fn refuses_sampling(&self) -> bool {
        self.version.as_bytes() >= LATER.as_bytes()
    }

    pub(crate) fn request(
        &self,
        job: Job<'_>,
        key: Option<&Secret>,
    ) -> Result<HttpRequest, KeyError> {
        let to = match job.task {
            Task::Generate | Task::Compact => &self.messages,
            Task::CountTokens => &self.count,
        };
        Ok(post(to, self.headers(job.headers, key)?, job.body))
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
