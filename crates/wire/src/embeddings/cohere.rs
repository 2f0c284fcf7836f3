//! Cohere Embed on Bedrock.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    EmbeddingDialect, EmbeddingPurpose, EmbeddingRequest, EmbeddingResponse, parse, unsupported,
};
use crate::error::WireError;
use crate::fields::put;

pub(super) fn write_call(
    request: &EmbeddingRequest,
    texts: &[String],
    model: &str,
) -> Result<Value, WireError> {
    if model.contains("-v3") && request.dimensions.is_some() {
        return Err(unsupported(
            EmbeddingDialect::Cohere,
            "dimensions",
            "the vectors of this model have 1024 dimensions; leave it out, or use version 4",
        ));
    }
    let mut body = Map::new();
    body.insert("texts".to_owned(), texts.into());
    // Required; documents are what most clients embed.
    let kind = match request.purpose {
        EmbeddingPurpose::Query => "search_query",
        EmbeddingPurpose::Document | EmbeddingPurpose::Unspecified => "search_document",
    };
    body.insert("input_type".to_owned(), kind.into());
    put(&mut body, "output_dimension", request.dimensions);
    Ok(Value::Object(body))
}

#[derive(Deserialize)]
struct Body {
    embeddings: Embeddings,
}

/// A list, or lists by the type of their numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Embeddings {
    Plain(Vec<Vec<f32>>),
    ByType { float: Vec<Vec<f32>> },
}

pub(super) fn read_response(body: &[u8]) -> Result<EmbeddingResponse, WireError> {
    let body: Body = parse(body)?;
    let (Embeddings::Plain(vectors) | Embeddings::ByType { float: vectors }) = body.embeddings;
    Ok(EmbeddingResponse {
        vectors,
        input_tokens: None,
    })
}
