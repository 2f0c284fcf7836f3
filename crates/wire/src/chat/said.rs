//! What a chat server's message says: text, or with some servers a list of texts and
//! thoughts.

use serde_json::Value;

use crate::error::WireError;
use crate::fields::{Path, wrong};

pub(super) enum Said {
    Text(String),
    Thought(String),
}

/// Reads `content` of an answer or a chunk.
pub(super) fn read_said(content: Option<Value>, path: &Path<'_>) -> Result<Vec<Said>, WireError> {
    match content {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Said::Text(text)]),
        Some(Value::Array(parts)) => Ok(parts.iter().flat_map(read_part).collect()),
        Some(other) => Err(wrong(path, "a string or a list of parts", &other)),
    }
}

/// A part is a text, or a thought that is a list of texts itself.
fn read_part(part: &Value) -> Vec<Said> {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return vec![Said::Text(text.to_owned())];
    }
    match part.get("thinking") {
        Some(Value::String(text)) => vec![Said::Thought(text.clone())],
        Some(Value::Array(texts)) => texts
            .iter()
            .filter_map(|text| Some(Said::Thought(text.get("text")?.as_str()?.to_owned())))
            .collect(),
        _ => Vec::new(),
    }
}
