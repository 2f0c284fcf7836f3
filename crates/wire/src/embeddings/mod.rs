//! Embeddings: texts in, vectors out, in the APIs of five kinds of models.
//!
//! Clients use OpenAI's API. A request is read into [`EmbeddingRequest`]; upstreams that take
//! fewer texts at once than a client may send get several calls. Knows nothing of paths, keys
//! or retries.
//!
//! | step | function | file |
//! |---|---|---|
//! | read a client's request | [`read_embedding_request`] | `request_in` |
//! | write the calls of a request | [`write_embedding_calls`] | `openai`, `gemini`, `vertex`, `titan`, `cohere` |
//! | read the response of a call | [`read_embedding_response`] | the same |
//! | write the client's response | [`write_embedding_response`] | `response_out` |

mod cohere;
mod gemini;
mod openai;
mod request_in;
mod response_out;
mod titan;
mod vertex;

use serde_json::Value;

pub use self::request_in::read_embedding_request;
pub use self::response_out::write_embedding_response;
use crate::error::WireError;
use crate::neutral::text_tokens;
use crate::{Dialect, Dropped};

/// Inputs of one request; OpenAI's limit.
pub const MAX_EMBEDDING_INPUTS: usize = 2_048;

/// The embeddings API of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingDialect {
    /// OpenAI `/embeddings`, also on Azure and on compatible servers.
    OpenAi,
    /// Gemini `batchEmbedContents`.
    Gemini,
    /// Vertex AI `predict`.
    Vertex,
    /// Amazon Titan on Bedrock.
    Titan,
    /// Cohere Embed on Bedrock.
    Cohere,
}

impl EmbeddingDialect {
    /// The dialect of its error responses.
    #[must_use]
    pub fn error_dialect(self) -> Dialect {
        match self {
            EmbeddingDialect::OpenAi => Dialect::Chat,
            EmbeddingDialect::Gemini | EmbeddingDialect::Vertex => Dialect::Gemini,
            EmbeddingDialect::Titan | EmbeddingDialect::Cohere => Dialect::Converse,
        }
    }

    /// Texts that one call may have.
    fn max_texts(self, model: &str) -> usize {
        match self {
            EmbeddingDialect::OpenAi => MAX_EMBEDDING_INPUTS,
            EmbeddingDialect::Gemini => 100,
            EmbeddingDialect::Vertex if model.starts_with("gemini-embedding") => 1,
            EmbeddingDialect::Vertex => 250,
            EmbeddingDialect::Titan => 1,
            EmbeddingDialect::Cohere => 96,
        }
    }
}

/// A request for vectors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EmbeddingRequest {
    /// What gets a vector each.
    pub input: EmbeddingInput,
    /// The length of the vectors, if it is not the model's own.
    pub dimensions: Option<u64>,
    /// How the client gets its vectors.
    pub encoding: EmbeddingEncoding,
    /// What the vectors are for. OpenAI's API has no such field; models of other vendors give
    /// questions and the documents that answer them different vectors.
    pub purpose: EmbeddingPurpose,
    /// The end user, for OpenAI.
    pub user: Option<String>,
    /// Fields that only an upstream of OpenAI's API could understand.
    pub unknown: Vec<String>,
}

/// The input of a request: at least one, and at most [`MAX_EMBEDDING_INPUTS`].
#[derive(Debug, Clone, PartialEq)]
pub enum EmbeddingInput {
    /// Texts.
    Texts(Vec<String>),
    /// Texts as the numbers of their tokens, which only OpenAI's models understand.
    Tokens(Vec<Vec<u32>>),
}

impl Default for EmbeddingInput {
    fn default() -> Self {
        EmbeddingInput::Texts(Vec::new())
    }
}

/// How a client gets its vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmbeddingEncoding {
    /// As lists of numbers.
    #[default]
    Float,
    /// As little-endian bytes in base64.
    Base64,
}

/// What vectors are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmbeddingPurpose {
    /// Not known.
    #[default]
    Unspecified,
    /// To find documents.
    Query,
    /// To be found.
    Document,
}

/// Vectors, in the order of the input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EmbeddingResponse {
    /// One per input.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens of the input; `None` if the upstream does not count them.
    pub input_tokens: Option<u64>,
}

/// A request as an upstream gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedEmbeddings {
    /// The calls, in the order of the input.
    pub calls: Vec<EmbeddingCall>,
    /// Fields of the request that the upstream does not support.
    pub dropped: Vec<Dropped>,
}

/// One call to an upstream.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingCall {
    /// The body.
    pub body: Value,
    /// How many vectors it must return.
    pub inputs: usize,
}

impl EmbeddingRequest {
    /// A request for the vectors of some texts.
    pub fn new(texts: Vec<String>, purpose: EmbeddingPurpose) -> Self {
        EmbeddingRequest {
            input: EmbeddingInput::Texts(texts),
            purpose,
            ..EmbeddingRequest::default()
        }
    }

    /// About how many tokens the input has.
    pub fn estimate_tokens(&self) -> u64 {
        match &self.input {
            EmbeddingInput::Texts(texts) => texts.iter().map(|text| text_tokens(text)).sum(),
            EmbeddingInput::Tokens(lists) => lists.iter().map(|list| list.len() as u64).sum(),
        }
    }

    fn texts(&self, dialect: EmbeddingDialect) -> Result<&[String], WireError> {
        match &self.input {
            EmbeddingInput::Texts(texts) => Ok(texts),
            EmbeddingInput::Tokens(_) => Err(unsupported(
                dialect,
                "input",
                "this model does not know these token numbers; send the texts themselves",
            )),
        }
    }
}

/// Writes the calls of a request to a model.
///
/// # Errors
/// When the model cannot have a field of the request, and would return other vectors without
/// it.
pub fn write_embedding_calls(
    dialect: EmbeddingDialect,
    request: &EmbeddingRequest,
    model: &str,
) -> Result<EncodedEmbeddings, WireError> {
    if dialect == EmbeddingDialect::OpenAi {
        return Ok(openai::write_call(request, model));
    }
    let texts = request.texts(dialect)?;
    let mut calls = Vec::new();
    for part in texts.chunks(dialect.max_texts(model).max(1)) {
        let body = match dialect {
            EmbeddingDialect::Gemini => gemini::write_call(request, part, model),
            EmbeddingDialect::Vertex => vertex::write_call(request, part),
            EmbeddingDialect::Cohere => cohere::write_call(request, part, model)?,
            EmbeddingDialect::Titan | EmbeddingDialect::OpenAi => {
                titan::write_call(request, part, model)?
            }
        };
        calls.push(EmbeddingCall {
            body,
            inputs: part.len(),
        });
    }
    let user = request.user.is_some().then(|| "user".to_owned());
    let dropped = user.into_iter().chain(request.unknown.iter().cloned());
    let dropped = dropped.map(|field| Dropped {
        field,
        why: "the API of this model has no such field",
    });
    Ok(EncodedEmbeddings {
        calls,
        dropped: dropped.collect(),
    })
}

/// Reads the response of a call that asked for so many vectors.
///
/// # Errors
/// When it cannot be read, or has another number of vectors.
pub fn read_embedding_response(
    dialect: EmbeddingDialect,
    body: &[u8],
    inputs: usize,
) -> Result<EmbeddingResponse, WireError> {
    let read = match dialect {
        EmbeddingDialect::OpenAi => openai::read_response(body),
        EmbeddingDialect::Gemini => gemini::read_response(body),
        EmbeddingDialect::Vertex => vertex::read_response(body),
        EmbeddingDialect::Titan => titan::read_response(body),
        EmbeddingDialect::Cohere => cohere::read_response(body),
    };
    let response = read?;
    if response.vectors.len() != inputs || response.vectors.iter().any(Vec::is_empty) {
        return Err(WireError::WrongValue {
            field: "embeddings".to_owned(),
            expected: "one vector per input",
            found: format!("{} vectors for {inputs} inputs", response.vectors.len()),
        });
    }
    Ok(response)
}

fn unsupported(dialect: EmbeddingDialect, field: &str, why: &str) -> WireError {
    WireError::Unsupported {
        field: field.to_owned(),
        dialect: dialect.error_dialect(),
        why: why.to_owned(),
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, WireError> {
    serde_json::from_slice(body).map_err(|error| WireError::not_json(&error))
}
