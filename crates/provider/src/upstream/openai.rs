//! OpenAI's API, as OpenAI and the many kinds compatible with it have it.

use http::HeaderMap;
use http::uri::InvalidUri;
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::models::capabilities;
use prowess_wire::{ClientDialect, Dialect, WriteOptions};
use url::Url;

use super::job::{ModelTask, UpstreamJob};
use super::request::{append_segments, get, post};
use super::{BuiltRequest, Upstream};
use crate::http::{RequestAddress, headers};
use crate::key::{KeyError, SecretText};

pub(crate) const OPENAI_HOST: &str = "api.openai.com";

#[derive(Debug)]
pub(crate) struct OpenAi {
    pub(crate) base: Url,
    /// Whether it has `/responses`.
    pub(crate) responses: bool,
    /// Whether it is Mistral's own, which has rules for messages and refuses unknown fields.
    pub(crate) mistral_rules: bool,
    /// Whether models that can think do so by default, and others refuse an effort.
    pub(crate) default_thinking: bool,
    /// The most tokens of a response that is not streamed, if it has such a limit.
    pub(crate) max_whole_tokens: Option<u64>,
    /// The addresses of its endpoints.
    chat_address: RequestAddress,
    responses_address: RequestAddress,
    count_address: RequestAddress,
}

impl OpenAi {
    pub(crate) fn new(base: Url, responses: bool) -> Result<OpenAi, InvalidUri> {
        let address = |dialect, task| {
            let path = operation_path(dialect, task).iter().copied();
            RequestAddress::try_from(&append_segments(&base, path))
        };
        Ok(OpenAi {
            chat_address: address(Dialect::Chat, ModelTask::Generate)?,
            responses_address: address(Dialect::Responses, ModelTask::Generate)?,
            count_address: address(Dialect::Responses, ModelTask::CountTokens)?,
            base,
            responses,
            mistral_rules: false,
            default_thinking: false,
            max_whole_tokens: None,
        })
    }
}

impl OpenAi {
    /// The dialect of a server for which all models are alike: Responses for its clients,
    /// because their requests lose least there.
    pub(crate) fn dialect_by_client(&self, origin: Dialect) -> Dialect {
        match origin {
            Dialect::Responses if self.responses => origin,
            _ => Dialect::Chat,
        }
    }
}

impl Upstream for OpenAi {
    fn base(&self) -> &Url {
        &self.base
    }

    fn is_openai(&self) -> bool {
        self.base.host_str() == Some(OPENAI_HOST)
    }

    fn supports_pass_through(&self, client: ClientDialect, task: ModelTask, _: &str) -> bool {
        match task {
            // Compatible servers do not support this.
            ModelTask::Compact => {
                client == ClientDialect::Responses && self.responses && self.is_openai()
            }
            _ => passes_openai(client, task) && (self.responses || client == ClientDialect::Chat),
        }
    }

    fn dialect(&self, model: &str, origin: Dialect) -> Dialect {
        if self.responses && capabilities(model).needs_responses {
            return Dialect::Responses;
        }
        self.dialect_by_client(origin)
    }

    fn token_counter_dialect(&self, _: &str) -> Option<Dialect> {
        self.responses.then_some(Dialect::Responses)
    }

    fn embedding_dialect(&self, _: &str) -> Option<EmbeddingDialect> {
        Some(EmbeddingDialect::OpenAi)
    }

    fn needs_key(&self) -> bool {
        self.is_openai()
    }

    /// Compatible servers support the old name of the limit, some only that. They have no tools
    /// but functions, and some refuse fields that only OpenAI has.
    fn default_write_options(&self) -> WriteOptions {
        WriteOptions {
            legacy_max_tokens: !self.is_openai(),
            custom_tools: self.is_openai(),
            openai_fields: self.is_openai(),
            mistral_rules: self.mistral_rules,
            mistral_fields: self.mistral_rules,
            default_thinking: self.default_thinking,
            ..WriteOptions::default()
        }
    }

    fn streams_only(&self, max_tokens: Option<u64>) -> bool {
        let limits = max_tokens.zip(self.max_whole_tokens);
        limits.is_some_and(|(tokens, limit)| tokens > limit)
    }

    fn request(&self, job: UpstreamJob<'_>, key: Option<&SecretText>) -> BuiltRequest {
        if matches!(job.task, ModelTask::Compact | ModelTask::Embed) {
            // Rare enough to build the URL each time.
            let path = operation_path(job.dialect, job.task).iter().copied();
            let url = append_segments(&self.base, path);
            return Ok(post(url, with_key(job.headers, key)?, job.body));
        }
        let to = match (job.dialect, job.task) {
            (Dialect::Responses, ModelTask::Generate) => &self.responses_address,
            (Dialect::Responses, ModelTask::CountTokens) => &self.count_address,
            _ => &self.chat_address,
        };
        Ok(post(to, with_key(job.headers, key)?, job.body))
    }

    fn list_request(&self, headers: HeaderMap, key: Option<&SecretText>) -> Option<BuiltRequest> {
        let url = append_segments(&self.base, ["models"]);
        Some(with_key(headers, key).map(|headers| get(url, headers)))
    }
}

/// Which requests a server with all of OpenAI's paths accepts unchanged.
pub(crate) fn passes_openai(client: ClientDialect, task: ModelTask) -> bool {
    match client {
        ClientDialect::Messages | ClientDialect::Gemini => false,
        ClientDialect::Chat => matches!(task, ModelTask::Generate | ModelTask::Embed),
        ClientDialect::Responses => matches!(task, ModelTask::Generate | ModelTask::CountTokens),
    }
}

/// The path of a dialect's operation.
pub(crate) fn operation_path(dialect: Dialect, task: ModelTask) -> &'static [&'static str] {
    match (dialect, task) {
        (_, ModelTask::Embed) => &["embeddings"],
        (Dialect::Responses, ModelTask::Generate) => &["responses"],
        (Dialect::Responses, ModelTask::CountTokens) => &["responses", "input_tokens"],
        (Dialect::Responses, ModelTask::Compact) => &["responses", "compact"],
        _ => &["chat", "completions"],
    }
}

fn with_key(mut headers: HeaderMap, key: Option<&SecretText>) -> Result<HeaderMap, KeyError> {
    if let Some(key) = key {
        headers::set_bearer(&mut headers, key)?;
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_openai_itself_gets_what_only_openai_has() {
        for (base, has_all) in [
            ("https://api.openai.com/v1", true),
            ("https://api.groq.com/openai/v1", false),
            ("http://127.0.0.1:8000/v1", false),
        ] {
            let upstream = OpenAi::new(base.parse().unwrap(), has_all).unwrap();
            let options = upstream.write_options("m", "m");
            assert_eq!(options.custom_tools, has_all, "{base}");
            assert_eq!(options.openai_fields, has_all, "{base}");
        }
    }

    #[test]
    fn only_openai_itself_compacts_conversations() {
        for (base, responses, compacts) in [
            ("https://api.openai.com/v1", true, true),
            ("https://api.openai.com/v1", false, false),
            ("http://127.0.0.1:8000/v1", true, false),
        ] {
            let upstream = OpenAi::new(base.parse().unwrap(), responses).unwrap();
            let supports_pass_through =
                |client, task| upstream.supports_pass_through(client, task, "m");
            assert_eq!(
                supports_pass_through(ClientDialect::Responses, ModelTask::Compact),
                compacts,
                "{base}"
            );
            assert_eq!(
                supports_pass_through(ClientDialect::Responses, ModelTask::Generate),
                responses
            );
            assert!(!supports_pass_through(
                ClientDialect::Chat,
                ModelTask::Compact
            ));
        }
        let path = operation_path(Dialect::Responses, ModelTask::Compact);
        assert_eq!(path, ["responses", "compact"]);
        assert!(
            !passes_openai(ClientDialect::Responses, ModelTask::Compact),
            "nor on Azure"
        );
    }
}
