//! Amazon Titan on Bedrock: one text per call.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{EmbeddingDialect, EmbeddingRequest, EmbeddingResponse, parse, unsupported};
use crate::error::WireError;
use crate::fields::put;

pub(super) fn write_call(
    request: &EmbeddingRequest,
    texts: &[String],
    model: &str,
) -> Result<Value, WireError> {
    // Its name ends in `-v1` or `-g1-text-02`.
    let is_first = model.contains("embed-text-v1") || model.contains("embed-g1");
    if is_first && request.dimensions.is_some() {
        return Err(unsupported(
            EmbeddingDialect::Titan,
            "dimensions",
            "the vectors of this model have 1536 dimensions; leave it out, or use version 2",
        ));
    }
    let mut body = Map::new();
    let text = texts.first().map(String::as_str).unwrap_or_default();
    body.insert("inputText".to_owned(), text.into());
    put(&mut body, "dimensions", request.dimensions);
    Ok(Value::Object(body))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    embedding: Vec<f32>,
    #[serde(default)]
    input_text_token_count: Option<u64>,
}

pub(super) fn read_response(body: &[u8]) -> Result<EmbeddingResponse, WireError> {
    let body: Body = parse(body)?;
    Ok(EmbeddingResponse {
        vectors: vec![body.embedding],
        input_tokens: body.input_text_token_count,
    })
}
