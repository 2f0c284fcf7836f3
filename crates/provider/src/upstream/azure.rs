//! OpenAI's models on Azure: different paths, and a different header for the key.

use http::HeaderMap;
use prowess_wire::Dialect;
use url::Url;

use super::job::UpstreamJob;
use super::openai;
use super::request::{append_segments, get, post};
use crate::http::{HttpRequest, headers};
use crate::key::{KeyError, SecretText};

#[derive(Debug)]
pub(crate) struct Azure {
    pub(crate) base: Url,
    /// The version of the classic paths; `None` for the paths under `/openai/v1`.
    pub(crate) api_version: Option<String>,
    /// Whether the key is an Entra ID token.
    pub(crate) bearer: bool,
}

impl Azure {
    pub(crate) fn request(
        &self,
        job: UpstreamJob<'_>,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        let operation = openai::operation_path(job.dialect, job.task);
        let url = match &self.api_version {
            None => self.v1_url(operation),
            // Only the older classic paths contain the deployment.
            Some(version) if job.dialect == Dialect::Chat => {
                let head = ["openai", "deployments", job.model];
                self.classic_url(&[&head, operation].concat(), version)
            }
            Some(version) => self.classic_url(&[&["openai"], operation].concat(), version),
        };
        Ok(post(url, self.headers(job.headers, key)?, job.body))
    }

    pub(crate) fn list_request(
        &self,
        headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        let url = match &self.api_version {
            None => self.v1_url(&["models"]),
            Some(version) => self.classic_url(&["openai", "models"], version),
        };
        Ok(get(url, self.headers(headers, key)?))
    }

    fn v1_url(&self, operation: &[&str]) -> Url {
        append_segments(
            &self.base,
            ["openai", "v1"].iter().chain(operation).copied(),
        )
    }

    fn classic_url(&self, path: &[&str], version: &str) -> Url {
        let mut url = append_segments(&self.base, path.iter().copied());
        url.query_pairs_mut().append_pair("api-version", version);
        url
    }

    fn headers(
        &self,
        mut headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Result<HeaderMap, KeyError> {
        match key {
            Some(key) if self.bearer => headers::set_bearer(&mut headers, key)?,
            Some(key) => headers::set_key(&mut headers, "api-key", key)?,
            None => {}
        }
        Ok(headers)
    }
}
