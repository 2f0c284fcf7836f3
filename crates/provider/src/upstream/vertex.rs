//! Vertex AI: Anthropic's and Google's models.

use bytes::Bytes;
use prowess_wire::hosting::{AnthropicHost, hosted_body};
use prowess_wire::raw::{Edit, RawObject};
use prowess_wire::{ClientDialect, Dialect};
use url::Url;

use super::betas::take_betas;
use super::gemini;
use super::job::{ModelTask, UpstreamJob};
use super::request::{append_segments, post};
use crate::http::{HttpRequest, headers};
use crate::key::{KeyError, SecretText};

#[derive(Debug)]
pub(crate) struct Vertex {
    pub(crate) base: Url,
    pub(crate) project: String,
    pub(crate) location: String,
    pub(crate) anthropic_version: String,
}

impl Vertex {
    pub(crate) fn supports_pass_through(&self, client: ClientDialect, model: &str) -> bool {
        match client {
            ClientDialect::Messages | ClientDialect::Gemini => {
                Dialect::from(client) == self.dialect(model)
            }
            ClientDialect::Chat | ClientDialect::Responses => false,
        }
    }

    /// The vendor follows from the name: all of Anthropic's model names begin alike.
    pub(crate) fn dialect(&self, model: &str) -> Dialect {
        if model.starts_with("claude") {
            Dialect::Messages
        } else {
            Dialect::Gemini
        }
    }

    pub(crate) fn request(
        &self,
        mut job: UpstreamJob<'_>,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        if let Some(key) = key {
            headers::set_bearer(&mut job.headers, key)?;
        }
        match job.dialect {
            Dialect::Messages => Ok(self.anthropic_request(job)),
            _ => Ok(self.google_request(job)),
        }
    }

    fn anthropic_request(&self, mut job: UpstreamJob<'_>) -> HttpRequest {
        let (model, method) = match (job.task, job.stream) {
            (ModelTask::CountTokens, _) => ("count-tokens", "rawPredict"),
            (_, true) => (job.model, "streamRawPredict"),
            (_, false) => (job.model, "rawPredict"),
        };
        let url = self.model_url("anthropic", &format!("{model}:{method}"));
        // Here the version is a field of the body, and differs from the API's own.
        job.headers.remove("anthropic-version");
        let body = self.anthropic_body(&job);
        post(url, job.headers, body)
    }

    fn anthropic_body(&self, job: &UpstreamJob<'_>) -> Bytes {
        let Ok(raw) = RawObject::parse(&job.body) else {
            // Not a JSON object: the upstream will reject it.
            return job.body.clone();
        };
        if job.task == ModelTask::Generate {
            return hosted_body(&raw, AnthropicHost::Vertex, &self.anthropic_version, &[]).into();
        }
        // Counting takes the model from the body, so it stays there.
        let version = serde_json::Value::from(self.anthropic_version.as_str()).to_string();
        raw.with_edits(&[Edit::Set("anthropic_version", &version)])
            .into()
    }

    fn google_request(&self, mut job: UpstreamJob<'_>) -> HttpRequest {
        take_betas(&mut job.headers);
        let operation = match job.task {
            ModelTask::Generate | ModelTask::Compact => gemini::operation(job.model, job.stream),
            ModelTask::CountTokens => format!("{}:countTokens", job.model),
            ModelTask::Embed => format!("{}:predict", job.model),
        };
        let mut url = self.model_url("google", &operation);
        if gemini::has_events(&job) {
            url.set_query(Some("alt=sse"));
        }
        post(url, job.headers, job.body)
    }

    fn model_url(&self, publisher: &str, operation: &str) -> Url {
        let path = [
            "v1",
            "projects",
            &self.project,
            "locations",
            &self.location,
            "publishers",
            publisher,
            "models",
            operation,
        ];
        append_segments(&self.base, path)
    }
}
