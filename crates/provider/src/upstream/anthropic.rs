//! Anthropic's own API.

use http::uri::InvalidUri;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use super::betas::{BETA_HEADER, named_betas};
use super::job::{ModelTask, ProviderFileOperation, SkillsJob, UpstreamJob};
use super::request::{append_segments, get, post};
use crate::http::{HttpRequest, RequestAddress, headers};
use crate::key::{KeyError, SecretText};

const VERSION_HEADER: HeaderName = HeaderName::from_static("anthropic-version");
/// The beta header that older API versions require for files.
const FILES_BETA: &str = "files-api-2025-04-14";
/// Since this version the SDKs send keys as bearer tokens, and the API rejects sampling
/// parameters.
const BEARER_AUTH_VERSION: &str = "2026-10-21";
/// Subscription tokens are bearer tokens in every version.
const OAUTH_PREFIX: &str = "sk-ant-oat";

#[derive(Debug)]
pub(crate) struct Anthropic {
    pub(crate) base: Url,
    pub(crate) version: HeaderValue,
    /// The addresses of its endpoints.
    messages_address: RequestAddress,
    count_address: RequestAddress,
}

impl Anthropic {
    pub(crate) fn new(base: Url, version: HeaderValue) -> Result<Anthropic, InvalidUri> {
        let address =
            |path: &[&str]| RequestAddress::try_from(&append_segments(&base, path.iter().copied()));
        Ok(Anthropic {
            messages_address: address(&["v1", "messages"])?,
            count_address: address(&["v1", "messages", "count_tokens"])?,
            base,
            version,
        })
    }

    pub(crate) fn refuses_sampling(&self) -> bool {
        self.version.as_bytes() >= BEARER_AUTH_VERSION.as_bytes()
    }

    pub(crate) fn request(
        &self,
        job: UpstreamJob<'_>,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        let to = match job.task {
            // It has no embeddings; no request for them is sent.
            ModelTask::Generate | ModelTask::Compact | ModelTask::Embed => &self.messages_address,
            ModelTask::CountTokens => &self.count_address,
        };
        Ok(post(to, self.headers(job.headers, key)?, job.body))
    }

    pub(crate) fn list_request(
        &self,
        headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        let mut url = append_segments(&self.base, ["v1", "models"]);
        url.set_query(Some("limit=1000"));
        Ok(get(url, self.headers(headers, key)?))
    }

    pub(crate) fn file_request(
        &self,
        operation: ProviderFileOperation,
        id: &str,
        mut headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        if !named_betas(&headers).any(|beta| beta == FILES_BETA) {
            headers.append(BETA_HEADER, HeaderValue::from_static(FILES_BETA));
        }
        let content = (operation == ProviderFileOperation::Content).then_some("content");
        let path = ["v1", "files", id].into_iter().chain(content);
        let mut request = get(
            append_segments(&self.base, path),
            self.headers(headers, key)?,
        );
        if operation == ProviderFileOperation::Delete {
            request.method = Method::DELETE;
        }
        Ok(request)
    }

    pub(crate) fn skills_request(
        &self,
        job: SkillsJob<'_>,
        key: &SecretText,
    ) -> Result<HttpRequest, KeyError> {
        let mut url = self.base.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{}", job.path));
        url.set_query((!job.query.is_empty()).then_some(job.query));
        Ok(HttpRequest {
            method: job.method,
            destination: url.into(),
            headers: self.headers(job.headers, Some(key))?,
            body: job.body,
        })
    }

    fn headers(
        &self,
        mut headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Result<HeaderMap, KeyError> {
        let version = headers
            .entry(VERSION_HEADER)
            .or_insert_with(|| self.version.clone())
            .as_bytes();
        let uses_bearer = version >= BEARER_AUTH_VERSION.as_bytes();
        match key {
            Some(key) if uses_bearer || key.expose().starts_with(OAUTH_PREFIX) => {
                headers::set_bearer(&mut headers, key)?;
            }
            Some(key) => headers::set_key(&mut headers, "x-api-key", key)?,
            None => {}
        }
        Ok(headers)
    }
}
