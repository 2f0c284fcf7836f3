//! Renders a conversation as one text, for a model that reads it and does not take part in it.

use std::fmt::Write;

use serde_json::Value;

use super::model_text::{REASONING_LABEL, RESULT_LABEL, call_label, cut_note};
use crate::text::truncate;

/// Maximum bytes of one item.
const MAX_ITEM_BYTES: usize = 64 << 10;

/// All items, each under a line with its author.
pub(super) fn render(items: &[Value]) -> String {
    let mut out = String::new();
    for item in items {
        let (speaker, text) = speaker_and_text(item);
        let text = cut(text);
        // Writing to a String cannot fail.
        let _ = write!(out, "[{speaker}]\n{text}\n\n");
    }
    out
}

fn speaker_and_text(item: &Value) -> (String, String) {
    let field = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
    match field("type") {
        "message" | "" => (field("role").to_owned(), content_text(item.get("content"))),
        "function_call" => (call_label(field("name")), field("arguments").to_owned()),
        "custom_tool_call" => (call_label(field("name")), field("input").to_owned()),
        "function_call_output" | "custom_tool_call_output" => {
            (RESULT_LABEL.to_owned(), content_text(item.get("output")))
        }
        "reasoning" => (
            REASONING_LABEL.to_owned(),
            content_text(item.get("summary")),
        ),
        kind => (kind.to_owned(), strip_data(item)),
    }
}

/// The text of content: a string, or parts of which some are text.
fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(part_text).collect::<Vec<_>>().join("\n"),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn part_text(part: &Value) -> String {
    let field = |key: &str| part.get(key).and_then(Value::as_str);
    match field("text").or_else(|| field("refusal")) {
        Some(text) => text.to_owned(),
        None => match field("filename") {
            Some(name) => format!("({}: {name})", field("type").unwrap_or("part")),
            None => format!("({})", field("type").unwrap_or("part")),
        },
    }
}

/// Any other item as JSON, without data that only programs read.
fn strip_data(item: &Value) -> String {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        for key in ["id", "type", "status", "encrypted_content", "result"] {
            fields.shift_remove(key);
        }
    }
    item.to_string()
}

fn cut(text: String) -> String {
    let begin = truncate(&text, MAX_ITEM_BYTES);
    match text.len() - begin.len() {
        0 => text,
        more => format!("{begin}\n{}", cut_note(more)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_item_is_there() {
        let items = [
            json!({"type": "message", "role": "user", "content": "Hi"}),
            json!({"role": "user", "content": [
                {"type": "input_text", "text": "Look"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            ]}),
            json!({"type": "function_call", "name": "look", "arguments": "{\"at\":1}"}),
            json!({"type": "function_call_output", "call_id": "c", "output": "seen"}),
            json!({"type": "image_generation_call", "id": "ig_1", "result": "AAAA", "x": 1}),
        ];
        insta::assert_snapshot!(render(&items), @r#"
        [user]
        Hi

        [user]
        Look
        (input_image)

        [assistant calls look]
        {"at":1}

        [tool result]
        seen

        [image_generation_call]
        {"x":1}
        "#);
    }

    #[test]
    fn a_very_long_item_is_cut() {
        let text = "ü".repeat(MAX_ITEM_BYTES);
        let written = render(&[json!({"role": "user", "content": text})]);
        assert!(written.len() < MAX_ITEM_BYTES + 100);
        assert!(written.contains("more bytes)"));
    }
}
