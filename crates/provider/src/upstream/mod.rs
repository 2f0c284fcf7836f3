//! How each kind of provider is called: path, headers, credentials, body and dialect. One
//! file per kind. Builds requests; sends none.

mod anthropic;
mod azure;
mod bedrock;
mod betas;
mod build;
mod gemini;
mod job;
mod openai;
mod request;
mod sigv4;
mod vertex;

use http::HeaderMap;
use prowess_wire::embeddings::EmbeddingDialect;
use prowess_wire::{ClientDialect, Dialect, ReadContext, StreamReader, WriteOptions};
use url::Url;

pub(crate) use self::anthropic::Anthropic;
pub(crate) use self::azure::Azure;
pub(crate) use self::bedrock::Bedrock;
pub(crate) use self::betas::named_betas;
pub(crate) use self::gemini::Gemini;
pub(crate) use self::job::{BodyOrigin, SkillsJob, UpstreamJob};
pub use self::job::{ModelTask, ProviderFileOperation};
pub(crate) use self::openai::OpenAi;
pub(crate) use self::vertex::Vertex;
use crate::http::HttpRequest;
use crate::key::{KeyError, SecretText};

/// An upstream: a kind of provider at an address.
#[derive(Debug)]
pub(crate) enum Upstream {
    Anthropic(Anthropic),
    OpenAi(OpenAi),
    Azure(Azure),
    Bedrock(Box<Bedrock>),
    Vertex(Vertex),
    Gemini(Gemini),
}

impl Upstream {
    /// Its address.
    pub(crate) fn base(&self) -> &Url {
        match self {
            Upstream::Anthropic(anthropic) => &anthropic.base,
            Upstream::OpenAi(openai) => &openai.base,
            Upstream::Azure(azure) => &azure.base,
            Upstream::Bedrock(bedrock) => &bedrock.base,
            Upstream::Vertex(vertex) => &vertex.base,
            Upstream::Gemini(gemini) => &gemini.base,
        }
    }

    /// Whether it is OpenAI itself, or OpenAI's models on Azure.
    pub(crate) fn is_openai(&self) -> bool {
        match self {
            Upstream::OpenAi(openai) => openai.is_openai(),
            Upstream::Azure(_) => true,
            _ => false,
        }
    }

    /// Whether it accepts a client's bytes unchanged, and responds in the same dialect.
    pub(crate) fn supports_pass_through(
        &self,
        client: ClientDialect,
        task: ModelTask,
        model: &str,
    ) -> bool {
        match self {
            Upstream::Anthropic(_) => client == ClientDialect::Messages,
            Upstream::OpenAi(openai) => openai.supports_pass_through(client, task),
            Upstream::Azure(_) => openai::supports_pass_through(client, task),
            Upstream::Vertex(vertex) => vertex.supports_pass_through(client, model),
            Upstream::Gemini(_) => client == ClientDialect::Gemini,
            // It frames Anthropic's events differently.
            Upstream::Bedrock(_) => false,
        }
    }

    /// The dialect in which a model is called, for a client of this dialect.
    pub(crate) fn dialect(&self, model: &str, origin: Dialect) -> Dialect {
        match self {
            Upstream::Anthropic(_) => Dialect::Messages,
            Upstream::OpenAi(openai) if !openai.responses => Dialect::Chat,
            // A Responses request loses least in Responses.
            Upstream::OpenAi(_) | Upstream::Azure(_) if origin == Dialect::Responses => origin,
            Upstream::OpenAi(_) | Upstream::Azure(_) => Dialect::Chat,
            Upstream::Bedrock(bedrock) => bedrock.dialect(model),
            Upstream::Vertex(vertex) => vertex.dialect(model),
            Upstream::Gemini(_) => Dialect::Gemini,
        }
    }

    /// The dialect of its token counter, if it has one.
    pub(crate) fn token_counter_dialect(&self, model: &str) -> Option<Dialect> {
        match self {
            Upstream::Anthropic(_) => Some(Dialect::Messages),
            Upstream::OpenAi(openai) => openai.responses.then_some(Dialect::Responses),
            Upstream::Azure(_) => Some(Dialect::Responses),
            Upstream::Bedrock(bedrock) => Some(bedrock.dialect(model)),
            Upstream::Vertex(vertex) => Some(vertex.dialect(model)),
            Upstream::Gemini(_) => Some(Dialect::Gemini),
        }
    }

    /// The API in which a model creates embeddings, if it does.
    pub(crate) fn embedding_dialect(&self, model: &str) -> Option<EmbeddingDialect> {
        match self {
            Upstream::Anthropic(_) => None,
            Upstream::OpenAi(_) | Upstream::Azure(_) => Some(EmbeddingDialect::OpenAi),
            Upstream::Bedrock(_) => Bedrock::embedding_dialect(model),
            Upstream::Vertex(vertex) if vertex.dialect(model) == Dialect::Messages => None,
            Upstream::Vertex(_) => Some(EmbeddingDialect::Vertex),
            Upstream::Gemini(_) => Some(EmbeddingDialect::Gemini),
        }
    }

    /// Whether it requires a key. Bedrock does not: requests can be signed.
    pub(crate) fn needs_key(&self) -> bool {
        match self {
            Upstream::OpenAi(openai) => openai.is_openai(),
            Upstream::Bedrock(_) => false,
            _ => true,
        }
    }

    /// What a model of it supports, unless its entry overrides it.
    pub(crate) fn write_options(&self, model: &str) -> WriteOptions {
        let defaults = WriteOptions::default();
        let options = match self {
            Upstream::Anthropic(anthropic) => WriteOptions {
                sampling: !anthropic.refuses_sampling(),
                ..defaults
            },
            // Compatible servers support the old name of the limit; some only that.
            Upstream::OpenAi(openai) => WriteOptions {
                legacy_max_tokens: !openai.is_openai(),
                ..defaults
            },
            _ => defaults,
        };
        options.for_model(model, self.base().host_str())
    }

    /// The HTTP request.
    pub(crate) fn request(
        &self,
        job: UpstreamJob<'_>,
        key: Option<&SecretText>,
    ) -> Result<HttpRequest, KeyError> {
        match self {
            Upstream::Anthropic(anthropic) => anthropic.request(job, key),
            Upstream::OpenAi(openai) => openai.request(job, key),
            Upstream::Azure(azure) => azure.request(job, key),
            Upstream::Bedrock(bedrock) => bedrock.request(job, key),
            Upstream::Vertex(vertex) => vertex.request(job, key),
            Upstream::Gemini(gemini) => gemini.request(job, key),
        }
    }

    /// The request that lists its models, if it supports that.
    pub(crate) fn list_request(
        &self,
        headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Option<Result<HttpRequest, KeyError>> {
        match self {
            Upstream::Anthropic(anthropic) => Some(anthropic.list_request(headers, key)),
            Upstream::OpenAi(openai) => Some(openai.list_request(headers, key)),
            Upstream::Azure(azure) => Some(azure.list_request(headers, key)),
            Upstream::Gemini(gemini) => Some(gemini.list_request(headers, key)),
            Upstream::Bedrock(_) | Upstream::Vertex(_) => None,
        }
    }

    /// Whether its servers create and store files.
    pub(crate) fn has_file_storage(&self) -> bool {
        matches!(self, Upstream::Anthropic(_))
    }

    /// The request about a file that it stores, if it stores any.
    pub(crate) fn file_request(
        &self,
        operation: ProviderFileOperation,
        id: &str,
        headers: HeaderMap,
        key: Option<&SecretText>,
    ) -> Option<Result<HttpRequest, KeyError>> {
        match self {
            Upstream::Anthropic(anthropic) => {
                Some(anthropic.file_request(operation, id, headers, key))
            }
            _ => None,
        }
    }

    /// The request about skills that it stores, if it stores any.
    pub(crate) fn skills_request(
        &self,
        job: SkillsJob<'_>,
        key: &SecretText,
    ) -> Option<Result<HttpRequest, KeyError>> {
        match self {
            Upstream::Anthropic(anthropic) => Some(anthropic.skills_request(job, key)),
            _ => None,
        }
    }

    /// A reader for its streams.
    pub(crate) fn reader(&self, dialect: Dialect, context: ReadContext) -> StreamReader {
        match self {
            Upstream::Bedrock(_) => Bedrock::reader(dialect, context),
            _ => StreamReader::new(dialect, context),
        }
    }
}
