//! Vertex AI's `predict`, for text embedding models.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::gemini::task_type;
use super::{EmbeddingRequest, EmbeddingResponse, parse};
use crate::error::WireError;
use crate::fields::put;

pub(super) fn write_call(request: &EmbeddingRequest, texts: &[String]) -> Value {
    let instances = texts.iter().map(|text| {
        let mut one = Map::new();
        one.insert("content".to_owned(), text.as_str().into());
        put(&mut one, "task_type", task_type(request.purpose));
        Value::Object(one)
    });
    let mut body = Map::new();
    body.insert("instances".to_owned(), instances.collect());
    if let Some(dimensions) = request.dimensions {
        let parameters = json!({ "outputDimensionality": dimensions });
        body.insert("parameters".to_owned(), parameters);
    }
    Value::Object(body)
}

#[derive(Deserialize)]
struct Body {
    predictions: Vec<Prediction>,
}

#[derive(Deserialize)]
struct Prediction {
    embeddings: Embeddings,
}

#[derive(Deserialize)]
struct Embeddings {
    values: Vec<f32>,
    #[serde(default)]
    statistics: Statistics,
}

#[derive(Deserialize, Default)]
struct Statistics {
    /// Written as `7.0` by some models.
    #[serde(default)]
    token_count: Option<f64>,
}

pub(super) fn read_response(body: &[u8]) -> Result<EmbeddingResponse, WireError> {
    let body: Body = parse(body)?;
    let counts = body.predictions.iter();
    let counts = counts.map(|one| Some(one.embeddings.statistics.token_count? as u64));
    Ok(EmbeddingResponse {
        input_tokens: counts.sum(),
        vectors: body
            .predictions
            .into_iter()
            .map(|one| one.embeddings.values)
            .collect(),
    })
}
