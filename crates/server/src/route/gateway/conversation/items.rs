//! Items of a conversation in the Responses format.

use prowess_store::ResponseRecord;
use prowess_wire::WireError;
use serde_json::{Value, json};

/// All items up to and including a response.
pub(super) fn conversation_items(record: &ResponseRecord) -> Result<Vec<Value>, serde_json::Error> {
    let mut items: Vec<Value> = serde_json::from_str(&record.conversation)?;
    let mut response: Value = serde_json::from_str(&record.response)?;
    if let Some(Value::Array(output)) = response.get_mut("output").map(Value::take) {
        items.extend(output);
    }
    Ok(items)
}

/// The items of a request's input, each with a type and an id.
pub(in crate::route::gateway) fn parse_input(input: Option<&str>) -> Result<Vec<Value>, WireError> {
    let input = input.and_then(|text| serde_json::from_str(text).ok());
    match input {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![with_id(json!({
            "type": "message",
            "role": "user",
            "content": [{ "type": "input_text", "text": text }],
        }))]),
        Some(Value::Array(items)) => Ok(items.into_iter().map(with_id).collect()),
        Some(_) => Err(WireError::WrongValue {
            field: "input".to_owned(),
            expected: "a string or a list of items",
            found: "something else".to_owned(),
        }),
    }
}

/// Adds the type and an id.
pub(in crate::route::gateway) fn with_id(mut item: Value) -> Value {
    let Some(fields) = item.as_object_mut() else {
        return item;
    };
    if fields.contains_key("role") {
        fields.entry("type").or_insert_with(|| "message".into());
    }
    let prefix = match fields.get("type").and_then(Value::as_str) {
        Some("message") => "msg",
        Some("function_call") => "fc",
        Some("function_call_output") => "fco",
        Some("reasoning") => "rs",
        // It has the id of another item.
        Some("item_reference") => return item,
        _ => "item",
    };
    let id = fields.get("id").and_then(Value::as_str);
    if !id.is_some_and(is_usable_id) {
        fields.insert("id".to_owned(), new_id(prefix).into());
    }
    item
}

/// Replaces an id that is taken: with a new one, or none if an upstream identifies the item by
/// its id.
pub(super) fn with_new_id(mut item: Value) -> Value {
    let Some(fields) = item.as_object_mut() else {
        return item;
    };
    fields.shift_remove("id");
    let is_encrypted = fields
        .get("encrypted_content")
        .is_some_and(Value::is_string);
    if is_encrypted { item } else { with_id(item) }
}

/// Whether an id can identify an item. Some clients send the same placeholder, such as
/// `__fake_id__`, for all items.
fn is_usable_id(id: &str) -> bool {
    id.len() <= 256 && id.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// An item as returned to clients: with a status, and message content in parts.
pub(in crate::route::gateway) fn complete(mut item: Value) -> Value {
    let Some(fields) = item.as_object_mut() else {
        return item;
    };
    let kind = fields.get("type").and_then(Value::as_str);
    if let Some("message" | "function_call" | "function_call_output") = kind {
        fields.entry("status").or_insert_with(|| "completed".into());
    }
    let assistant = fields.get("role").and_then(Value::as_str) == Some("assistant");
    if let Some(Value::String(text)) = fields.get("content") {
        let part = if assistant {
            json!({ "type": "output_text", "text": text, "annotations": [] })
        } else {
            json!({ "type": "input_text", "text": text })
        };
        fields.insert("content".to_owned(), json!([part]));
    }
    item
}

/// The items as sent to an upstream. Our own ids mean nothing there, and most items need no
/// id. Reasoning items do, since it belongs to their encrypted content.
pub(in crate::route::gateway) fn upstream_items(items: &[Value]) -> Vec<Value> {
    let mut items = items.to_vec();
    for item in &mut items {
        let Some(fields) = item.as_object_mut() else {
            continue;
        };
        let kind = fields.get("type").and_then(Value::as_str);
        let id = fields.get("id").and_then(Value::as_str);
        let strips_id = match kind {
            Some("reasoning" | "item_reference") => continue,
            // Its id is that of its call.
            Some("local_shell_call_output") if !fields.contains_key("call_id") => continue,
            // A message may omit its type, and so may a reference.
            None if !fields.contains_key("role") => continue,
            None | Some("message") => true,
            Some(kind) if CALL_TYPES.contains(&kind) => true,
            Some(_) => id.is_some_and(is_own_id),
        };
        if strips_id {
            fields.shift_remove("id");
            fields.shift_remove("status");
        }
    }
    items
}

/// Items that the upstream identifies by `call_id`.
const CALL_TYPES: [&str; 8] = [
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
];

/// Whether an id was generated by [`new_id`], or derived from such an id.
fn is_own_id(id: &str) -> bool {
    let Some((_, rest)) = id.split_once('_') else {
        return false;
    };
    let (random, number) = rest.split_once('_').unwrap_or((rest, ""));
    random.len() == 32
        && random.bytes().all(|byte| byte.is_ascii_hexdigit())
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Removes reasoning that only another provider can read: its encrypted content or its id is
/// Prowess's own.
pub(super) fn remove_foreign_reasoning(items: &mut Vec<Value>) {
    items.retain(|item| {
        if item.get("type").and_then(Value::as_str) != Some("reasoning") {
            return true;
        }
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        match text("encrypted_content") {
            Some(content) => !content.starts_with("pw1"),
            None => !text("id").is_some_and(is_own_id),
        }
    });
}

/// A random id.
pub(in crate::route::gateway) fn new_id(prefix: &str) -> String {
    let mut random = [0_u8; 16];
    // Access requires a key of the tenant besides the id.
    let _ = getrandom::fill(&mut random);
    random
        .iter()
        .fold(format!("{prefix}_"), |id, byte| format!("{id}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_local_shell_keeps_the_id_of_its_call() {
        let id = new_id("call");
        let answer = json!({"type": "local_shell_call_output", "id": id, "output": "a"});
        assert_eq!(upstream_items(std::slice::from_ref(&answer)), [answer]);
        let output = with_id(json!({"type": "local_shell_call_output", "call_id": "c"}));
        assert_eq!(upstream_items(&[output])[0].get("id"), None);
    }
}
