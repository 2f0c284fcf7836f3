//! Google's Gemini API.

use http::HeaderMap;
use prowess_wire::raw::{Edit, RawObject};
use url::Url;

use super::job::{BodyOrigin, ModelTask, UpstreamJob};
use super::request::{append_segments, get, post};
use crate::http::{HttpRequest, headers};
use crate::key::{KeyError, SecretText};

#[derive(Debug)]
pub(crate) struct Gemini {
    pub(crate) base: Url,
    pub(crate) api_version: String,
}

impl Gemini {
    pub(crate) fn request(
        &self,
        job: UpstreamJob<'_>,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        if job.task == ModelTask::CountTokens {
            return self.count_request(job, key);
        }
        let operation = match job.task {
            ModelTask::Embed => format!("{}:batchEmbedContents", job.model),
            _ => operation(job.model, job.stream),
        };
        let mut url = append_segments(&self.base, [&self.api_version, "models", &operation]);
        if has_events(&job) {
            url.set_query(Some("alt=sse"));
        }
        Ok(post(url, with_key(job.headers, key)?, job.body))
    }

    /// The request to be counted, including its model, is nested in another.
    fn count_request(
        &self,
        job: UpstreamJob<'_>,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        let operation = format!("{}:countTokens", job.model);
        let url = append_segments(&self.base, [&self.api_version, "models", &operation]);
        if job.body_origin != BodyOrigin::Gateway {
            return Ok(post(url, with_key(job.headers, key)?, job.body));
        }
        let model = serde_json::Value::from(format!("models/{}", job.model)).to_string();
        let body = match RawObject::parse(&job.body) {
            Ok(raw) => raw.with_edits(&[Edit::Set("model", &model)]),
            Err(_) => job.body.to_vec(),
        };
        let body = [b"{\"generateContentRequest\":", body.as_slice(), b"}"].concat();
        Ok(post(url, with_key(job.headers, key)?, body.into()))
    }

    pub(crate) fn list_request(
        &self,
        headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        let mut url = append_segments(&self.base, [self.api_version.as_str(), "models"]);
        url.set_query(Some("pageSize=1000"));
        Ok(get(url, with_key(headers, key)?))
    }
}

/// The last segment of the path: model and method.
pub(super) fn operation(model: &str, stream: bool) -> String {
    let method = if stream {
        "streamGenerateContent"
    } else {
        "generateContent"
    };
    format!("{model}:{method}")
}

/// Whether the response is an event stream: a client may also request one JSON array.
pub(super) fn has_events(job: &UpstreamJob<'_>) -> bool {
    job.stream && job.body_origin != (BodyOrigin::Client { json_array: true })
}

fn with_key(mut headers: HeaderMap, key: Option<&SecretText>) -> Result<HeaderMap, KeyError> {
    if let Some(key) = key {
        headers::set_key(&mut headers, "x-goog-api-key", key)?;
    }
    Ok(headers)
}
