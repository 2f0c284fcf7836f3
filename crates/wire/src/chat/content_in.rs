//! The content of a Chat message: text; with some servers a list of texts, thoughts and
//! images; with others a value that conforms to the requested schema.

use serde_json::Value;

use crate::fields::JsonFields;
use crate::generated_images;
use crate::neutral::Content;

pub(super) enum ChatContentPart {
    Text(String),
    Thought(String),
    Image(Content),
}

/// Reads `content` of a response or a chunk.
pub(super) fn read_content_parts(content: Option<Value>) -> Vec<ChatContentPart> {
    match content {
        None => Vec::new(),
        Some(Value::String(text)) => vec![ChatContentPart::Text(text)],
        Some(Value::Array(parts)) if parts.iter().all(is_part) => {
            parts.iter().flat_map(read_part).collect()
        }
        Some(structured) => vec![ChatContentPart::Text(structured.to_string())],
    }
}

fn is_part(part: &Value) -> bool {
    let kind = part.get("type").is_some_and(Value::is_string);
    kind || part.get("text").is_some_and(Value::is_string)
}

/// A part is a text, an image, or a thought that is a list of texts itself.
fn read_part(part: &Value) -> Vec<ChatContentPart> {
    if part.get("type").and_then(Value::as_str) == Some(REASONING) {
        let thoughts = reasoning_texts(part.get("summary"), part.get("text"));
        return thoughts.into_iter().map(ChatContentPart::Thought).collect();
    }
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return vec![ChatContentPart::Text(text.to_owned())];
    }
    if let Some(picture) = generated_images::read_chat_image(part) {
        return vec![ChatContentPart::Image(picture)];
    }
    let thoughts = part.get("thinking").map(thought_texts);
    let thoughts = thoughts.into_iter().flatten();
    thoughts.map(ChatContentPart::Thought).collect()
}

/// The type of a part with a thought.
pub(super) const REASONING: &str = "reasoning";

/// The texts of such a part: Databricks has a list of summaries, other servers the text itself.
pub(super) fn reasoning_texts(summary: Option<&Value>, text: Option<&Value>) -> Vec<String> {
    summary.or(text).map(thought_texts).unwrap_or_default()
}

/// The texts of a thought, which Mistral sends as a list of parts.
pub(super) fn thought_texts(thinking: &Value) -> Vec<String> {
    match thinking {
        Value::String(text) => vec![text.clone()],
        Value::Array(texts) => texts
            .iter()
            .filter_map(|text| Some(text.get("text")?.as_str()?.to_owned()))
            .collect(),
        _ => Vec::new(),
    }
}

/// The images next to `content`; what cannot be read as an image is left in place.
pub(super) fn take_images(fields: &mut JsonFields<'_>) -> Vec<Content> {
    let values = fields.peek("images").and_then(Value::as_array);
    let images: Option<Vec<Content>> = values
        .into_iter()
        .flatten()
        .map(generated_images::read_chat_image)
        .collect();
    let images = images.unwrap_or_default();
    if !images.is_empty() {
        fields.take("images");
    }
    images
}
