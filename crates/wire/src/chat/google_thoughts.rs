//! Thoughts of Gemini and Gemma by Google's endpoint for OpenAI's clients: text in the content,
//! between marks, of a message that says so. The chunk in which a thought ends does not say so.

use serde_json::Value;

use super::extra_content::FIELD;
use crate::fields::JsonFields;

const BEGIN: &str = "<thought>";
const END: &str = "</thought>";

/// Takes the statement that the content is a thought, or begins with one.
pub(super) fn take_mark(fields: &mut JsonFields<'_>) -> bool {
    let google = fields.peek(FIELD).and_then(|extra| extra.get("google"));
    if google.and_then(|google| google.get("thought")) != Some(&Value::Bool(true)) {
        return false;
    }
    if let Some(Value::Object(mut extra)) = fields.take(FIELD) {
        if let Some(Value::Object(google)) = extra.get_mut("google") {
            google.shift_remove("thought");
            if google.is_empty() {
                extra.shift_remove("google");
            }
        }
        if !extra.is_empty() {
            fields.put(FIELD, extra.into());
        }
    }
    true
}

/// The thought at the beginning of a whole content, and what follows it. Some models make the
/// statement about an answer that followed thoughts: it has no marks.
pub(super) fn split(content: &str) -> (&str, &str) {
    let marked = content.strip_prefix(BEGIN);
    match (marked.unwrap_or(content).split_once(END), marked) {
        (Some(parts), _) => parts,
        (None, Some(thought)) => (thought, ""),
        (None, None) => ("", content),
    }
}

/// The thought in a chunk.
pub(super) fn thought(chunk: &str) -> &str {
    let chunk = chunk.strip_prefix(BEGIN).unwrap_or(chunk);
    chunk.strip_suffix(END).unwrap_or(chunk)
}

/// The text in the first chunk after a thought.
pub(super) fn answer(chunk: &str) -> &str {
    chunk.strip_prefix(END).unwrap_or(chunk)
}
