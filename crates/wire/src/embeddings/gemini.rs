//! Gemini's `batchEmbedContents`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{EmbeddingPurpose, EmbeddingRequest, EmbeddingResponse, parse};
use crate::error::WireError;
use crate::fields::put;

/// Google's name of a purpose.
pub(super) fn task_type(purpose: EmbeddingPurpose) -> Option<&'static str> {
    match purpose {
        EmbeddingPurpose::Unspecified => None,
        EmbeddingPurpose::Query => Some("RETRIEVAL_QUERY"),
        EmbeddingPurpose::Document => Some("RETRIEVAL_DOCUMENT"),
    }
}

pub(super) fn write_call(request: &EmbeddingRequest, texts: &[String], model: &str) -> Value {
    let name = format!("models/{model}");
    let requests = texts.iter().map(|text| {
        let mut one = Map::new();
        one.insert("model".to_owned(), name.as_str().into());
        one.insert("content".to_owned(), json!({ "parts": [{ "text": text }] }));
        put(&mut one, "taskType", task_type(request.purpose));
        put(&mut one, "outputDimensionality", request.dimensions);
        Value::Object(one)
    });
    json!({ "requests": requests.collect::<Vec<_>>() })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    embeddings: Vec<Vector>,
    #[serde(default)]
    usage_metadata: Option<Usage>,
}

#[derive(Deserialize)]
struct Vector {
    values: Vec<f32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    #[serde(default)]
    prompt_token_count: Option<u64>,
}

pub(super) fn read_response(body: &[u8]) -> Result<EmbeddingResponse, WireError> {
    let body: Body = parse(body)?;
    let vectors = body.embeddings.into_iter().map(|vector| vector.values);
    Ok(EmbeddingResponse {
        vectors: vectors.collect(),
        input_tokens: body
            .usage_metadata
            .and_then(|usage| usage.prompt_token_count),
    })
}
