//! Vectors of a scripted model: texts with common words have similar vectors.
//!
//! Each word, in lower case, adds a fixed direction; words that the script lists as synonyms
//! share one. The same text always has the same vector.

use std::collections::HashMap;
use std::time::Duration;

use prowess_wire::embeddings::{EmbeddingInput, EmbeddingRequest, EmbeddingResponse};

use super::script::ModelScript;
use crate::error::CallError;
use crate::target::Target;

/// Dimensions of the vectors, unless the script or the request says otherwise.
const DEFAULT_DIMENSIONS: usize = 256;
/// Dimensions that a request may have.
const MAX_DIMENSIONS: usize = 4_096;

impl Target {
    /// Vectors as the script defines.
    pub(crate) async fn embed_script(
        &self,
        script: &ModelScript,
        request: &EmbeddingRequest,
    ) -> Result<EmbeddingResponse, CallError> {
        let scripted = &script.embeddings;
        tokio::time::sleep(Duration::from_millis(scripted.delay_ms)).await;
        if let Some(failure) = &scripted.error {
            return Err(failure.to_call_error(self.provider()));
        }
        let requested = request
            .dimensions
            .and_then(|size| usize::try_from(size).ok());
        let size = requested
            .or(scripted.dimensions)
            .unwrap_or(DEFAULT_DIMENSIONS);
        let size = size.clamp(1, MAX_DIMENSIONS);
        let mut concepts: HashMap<&str, &str> = HashMap::new();
        for list in &scripted.synonyms {
            for word in list {
                concepts.insert(word, list.first().map_or(word, |first| first));
            }
        }
        let vectors = match &request.input {
            EmbeddingInput::Texts(texts) => {
                let texts = texts.iter();
                texts
                    .map(|text| text_vector(text, &concepts, size))
                    .collect()
            }
            EmbeddingInput::Tokens(lists) => lists
                .iter()
                .map(|list| {
                    let words = list.iter().map(u32::to_string);
                    words_vector(words, size)
                })
                .collect(),
        };
        Ok(EmbeddingResponse {
            vectors,
            input_tokens: Some(request.estimate_tokens()),
        })
    }
}

fn text_vector(text: &str, concepts: &HashMap<&str, &str>, size: usize) -> Vec<f32> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).map(|word| {
        let word = word.to_lowercase();
        match concepts.get(word.as_str()) {
            Some(concept) => (*concept).to_owned(),
            None => word,
        }
    });
    words_vector(words, size)
}

/// The sum of the words' directions, of length 1.
fn words_vector(words: impl Iterator<Item = String>, size: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; size];
    for word in words {
        let mut random = fastrand::Rng::with_seed(hash(&word));
        for part in &mut vector {
            *part += random.f32() - 0.5;
        }
    }
    let length = vector.iter().map(|part| part * part).sum::<f32>().sqrt();
    match vector.first_mut() {
        // A text without words has some vector too.
        Some(first) if length == 0.0 => *first = 1.0,
        _ => vector.iter_mut().for_each(|part| *part /= length),
    }
    vector
}

/// FNV-1a: the same on every machine and in every release.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
