//! Writes embeddings as OpenAI's API returns them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::{EmbeddingEncoding, EmbeddingResponse};

#[derive(Serialize)]
struct ClientBody<'a> {
    object: &'static str,
    data: Vec<ClientItem<'a>>,
    model: &'a str,
    usage: ClientUsage,
}

#[derive(Serialize)]
struct ClientItem<'a> {
    object: &'static str,
    index: usize,
    embedding: ClientVector<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ClientVector<'a> {
    Float(&'a [f32]),
    Base64(String),
}

#[derive(Serialize)]
struct ClientUsage {
    prompt_tokens: u64,
    total_tokens: u64,
}

/// The body of a response, with vectors as the client requested them.
pub fn write_embedding_response(
    response: &EmbeddingResponse,
    encoding: EmbeddingEncoding,
    model: &str,
) -> Vec<u8> {
    let tokens = response.input_tokens.unwrap_or_default();
    let vectors = response.vectors.iter().enumerate();
    let body = ClientBody {
        object: "list",
        data: vectors
            .map(|(index, vector)| ClientItem {
                object: "embedding",
                index,
                embedding: match encoding {
                    EmbeddingEncoding::Float => ClientVector::Float(vector),
                    EmbeddingEncoding::Base64 => ClientVector::Base64(to_base64(vector)),
                },
            })
            .collect(),
        model,
        usage: ClientUsage {
            prompt_tokens: tokens,
            total_tokens: tokens,
        },
    };
    // Only a map with other keys than strings could fail.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn to_base64(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|part| part.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}
