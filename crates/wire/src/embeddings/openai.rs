//! OpenAI's embeddings API, for requests that Prowess itself makes: those of clients pass
//! unchanged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    EmbeddingCall, EmbeddingInput, EmbeddingRequest, EmbeddingResponse, EncodedEmbeddings, parse,
};
use crate::error::WireError;
use crate::fields::put;

pub(super) fn write_call(request: &EmbeddingRequest, model: &str) -> EncodedEmbeddings {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    let (input, inputs) = match &request.input {
        EmbeddingInput::Texts(texts) => (Value::from(texts.as_slice()), texts.len()),
        EmbeddingInput::Tokens(lists) => {
            let lists_json = lists.iter().map(|list| Value::from(list.as_slice()));
            (lists_json.collect(), lists.len())
        }
    };
    body.insert("input".to_owned(), input);
    put(&mut body, "dimensions", request.dimensions);
    put(&mut body, "user", request.user.clone());
    EncodedEmbeddings {
        calls: vec![EmbeddingCall {
            body: Value::Object(body),
            inputs,
        }],
        dropped: Vec::new(),
    }
}

#[derive(Deserialize)]
struct Body {
    data: Vec<Item>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Item {
    /// Some servers leave it out.
    #[serde(default)]
    index: Option<usize>,
    embedding: Vector,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Vector {
    Float(Vec<f32>),
    Base64(String),
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
}

pub(super) fn read_response(body: &[u8]) -> Result<EmbeddingResponse, WireError> {
    let mut body: Body = parse(body)?;
    body.data.sort_by_key(|item| item.index);
    let vectors = body.data.into_iter().map(|item| match item.embedding {
        Vector::Float(vector) => Ok(vector),
        Vector::Base64(text) => from_base64(&text),
    });
    Ok(EmbeddingResponse {
        vectors: vectors.collect::<Result<_, _>>()?,
        input_tokens: body.usage.and_then(|usage| usage.prompt_tokens),
    })
}

fn from_base64(text: &str) -> Result<Vec<f32>, WireError> {
    let bytes = STANDARD.decode(text).map_err(|_| WireError::WrongValue {
        field: "data.embedding".to_owned(),
        expected: "numbers, or bytes in base64",
        found: format!("a string of {} bytes", text.len()),
    })?;
    let parts = bytes.as_chunks::<4>().0.iter();
    Ok(parts.map(|part| f32::from_le_bytes(*part)).collect())
}
