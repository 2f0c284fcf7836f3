//! Vertex AI: Anthropic's and Google's models under one roof.

use bytes::Bytes;
use prowess_wire::raw::{Edit, RawObject};
use prowess_wire::tweaks::{Host, hosted_body};
use prowess_wire::{Client, Dialect};
use url::Url;

use super::{Job, Task, below, gemini, post, take_betas};
use crate::http::{HttpRequest, headers};
use crate::key::{KeyError, Secret};

#[derive(Debug)]
pub(crate) struct Vertex {
    pub(crate) base: Url,
    pub(crate) project: String,
    pub(crate) location: String,
    pub(crate) anthropic_version: String,
}

impl Vertex {
    pub(crate) fn speaks(&self, client: Client, model: &str) -> bool {
        match client {
            Client::Messages | Client::Gemini => Dialect::from(client) == self.dialect(model),
            Client::Chat | Client::Responses => false,
        }
    }

    /// Models are told apart by name: all of Anthropic's begin alike.
    pub(crate) fn dialect(&self, model: &str) -> Dialect {
        if model.starts_with("claude") {
            Dialect::Messages
        } else {
            Dialect::Gemini
        }
    }

    pub(crate) fn request(
        &self,
        mut job: Job<'_>,
        key: Option<&Secret>,
    ) -> Result<HttpRequest, KeyError> {
        if let Some(key) = key {
            headers::set_bearer(&mut job.headers, key)?;
        }
        match job.dialect {
            Dialect::Messages => Ok(self.anthropic(job)),
            _ => Ok(self.google(job)),
        }
    }

    fn anthropic(&self, mut job: Job<'_>) -> HttpRequest {
        let (model, method) = match (job.task, job.stream) {
            (Task::CountTokens, _) => ("count-tokens", "rawPredict"),
            (Task::Generate | Task::Compact, true) => (job.model, "streamRawPredict"),
            (Task::Generate | Task::Compact, false) => (job.model, "rawPredict"),
        };
        let url = self.model("anthropic", &format!("{model}:{method}"));
        // Here the version is a field of the body, and not the API's own.
        job.headers.remove("anthropic-version");
        let body = self.anthropic_body(&job);
        post(url, job.headers, body)
    }

    fn anthropic_body(&self, job: &Job<'_>) -> Bytes {
        let Ok(raw) = RawObject::parse(&job.body) else {
            // Not an object, so nothing of ours: the upstream will say so.
            return job.body.clone();
        };
        if job.task == Task::Generate {
            return hosted_body(&raw, Host::Vertex, &self.anthropic_version, &[]).into();
        }
        // Counting takes its model from the body, where it stays.
        let version = serde_json::Value::from(self.anthropic_version.as_str()).to_string();
        raw.edited(&[Edit::Set("anthropic_version", &version)])
            .into()
    }

    fn google(&self, mut job: Job<'_>) -> HttpRequest {
        take_betas(&mut job.headers);
        let operation = match job.task {
            Task::Generate | Task::Compact => gemini::operation(job.model, job.stream),
            Task::CountTokens => format!("{}:countTokens", job.model),
        };
        let mut url = self.model("google", &operation);
        if gemini::has_events(&job) {
            url.set_query(Some("alt=sse"));
        }
        post(url, job.headers, job.body)
    }

    fn model(&self, publisher: &str, operation: &str) -> Url {
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
        below(&self.base, path)
    }
}
