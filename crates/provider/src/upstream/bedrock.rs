//! AWS Bedrock: InvokeModel with Anthropic's body, and Converse.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::hosting::{AnthropicHost, hosted_body};
use prowess_wire::raw::RawObject;
use prowess_wire::{Dialect, ReadContext, StreamReader};
use url::Url;

use super::betas::take_betas;
use super::job::{ModelTask, UpstreamJob};
use super::request::{append_segments, post};
use super::sigv4::Signer;
use crate::config::BedrockApi;
use crate::http::{HttpRequest, headers};
use crate::key::{KeyError, SecretText};

#[derive(Debug)]
pub(crate) struct Bedrock {
    pub(crate) base: Url,
    pub(crate) api: BedrockApi,
    pub(crate) anthropic_version: String,
    /// Signs requests when there is no bearer token.
    pub(crate) signer: Signer,
}

impl Bedrock {
    pub(crate) fn dialect(&self, model: &str) -> Dialect {
        match self.api {
            BedrockApi::Invoke => Dialect::Messages,
            BedrockApi::Converse => Dialect::Converse,
            // `anthropic.claude-…`, `eu.anthropic.claude-…`, and the ARNs of both.
            BedrockApi::Auto if model.contains("anthropic.") => Dialect::Messages,
            BedrockApi::Auto => Dialect::Converse,
        }
    }

    /// The API of an embedding model, by its vendor.
    pub(crate) fn embedding_dialect(model: &str) -> Option<EmbeddingDialect> {
        if model.contains("titan-embed") {
            Some(EmbeddingDialect::Titan)
        } else if model.contains("cohere.embed") {
            Some(EmbeddingDialect::Cohere)
        } else {
            None
        }
    }

    pub(crate) fn request(
        &self,
        mut job: UpstreamJob<'_>,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        let betas = take_betas(&mut job.headers);
        // Its streams are not server-sent events.
        job.headers.remove(http::header::ACCEPT);
        let (operation, body) = match (job.dialect, job.stream) {
            _ if job.task == ModelTask::Embed => ("invoke", job.body),
            _ if job.task == ModelTask::CountTokens => {
                ("count-tokens", self.count_body(&job, &betas))
            }
            (Dialect::Messages, false) => ("invoke", self.invoke_body(&job, &betas)),
            (Dialect::Messages, true) => (
                "invoke-with-response-stream",
                self.invoke_body(&job, &betas),
            ),
            (_, false) => ("converse", job.body),
            (_, true) => ("converse-stream", job.body),
        };
        let url = append_segments(&self.base, ["model", job.model, operation]);
        match key {
            Some(key) => headers::set_bearer(&mut job.headers, key)?,
            None => self.signer.sign(&url, &mut job.headers, &body)?,
        }
        Ok(post(url, job.headers, body))
    }

    pub(crate) fn reader(dialect: Dialect, context: ReadContext) -> StreamReader {
        match dialect {
            Dialect::Messages => StreamReader::for_bedrock_invoke(context),
            other => StreamReader::new(other, context),
        }
    }

    /// The request to be counted is nested in another; one for InvokeModel in base64.
    fn count_body(&self, job: &UpstreamJob<'_>, betas: &[String]) -> bytes::Bytes {
        let input = match job.dialect {
            Dialect::Messages => {
                let body = STANDARD.encode(self.invoke_body(job, betas));
                format!("{{\"invokeModel\":{{\"body\":\"{body}\"}}}}")
            }
            _ => {
                let body = String::from_utf8_lossy(&job.body);
                format!("{{\"converse\":{body}}}")
            }
        };
        format!("{{\"input\":{input}}}").into()
    }

    fn invoke_body(&self, job: &UpstreamJob<'_>, betas: &[String]) -> bytes::Bytes {
        let betas: Vec<&str> = betas.iter().map(String::as_str).collect();
        match RawObject::parse(&job.body) {
            Ok(raw) => hosted_body(
                &raw,
                AnthropicHost::Bedrock,
                &self.anthropic_version,
                &betas,
            )
            .into(),
            // Not a JSON object: the upstream will reject it.
            Err(_) => job.body.clone(),
        }
    }
}
