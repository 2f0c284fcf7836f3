//! The items of a conversation, as Responses has them.

use prowess_store::ResponseRecord;
use prowess_wire::WireError;
use serde_json::{Value, json};

/// All that was said up to an answer, the answer included.
pub(super) fn said(record: &ResponseRecord) -> Result<Vec<Value>, serde_json::Error> {
    let mut items: Vec<Value> = serde_json::from_str(&record.conversation)?;
    let mut response: Value = serde_json::from_str(&record.response)?;
    if let Some(Value::Array(output)) = response.get_mut("output").map(Value::take) {
        items.extend(output);
    }
    Ok(items)
}

/// The items of a request's input, each with a type and an id.
pub(super) fn input(input: Option<&str>) -> Result<Vec<Value>, WireError> {
    let input = input.and_then(|text| serde_json::from_str(text).ok());
    match input {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![named(json!({
            "type": "message",
            "role": "user",
            "content": [{ "type": "input_text", "text": text }],
        }))]),
        Some(Value::Array(items)) => Ok(items.into_iter().map(named).collect()),
        Some(_) => Err(WireError::Wrong {
            field: "input".to_owned(),
            expected: "a string or a list of items",
            found: "something else".to_owned(),
        }),
    }
}

/// An item with its type and an id.
fn named(mut item: Value) -> Value {
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
        _ => "item",
    };
    fields.entry("id").or_insert_with(|| new_id(prefix).into());
    item
}

/// The items as an upstream is to get them: ids of ours mean nothing there. Those of
/// thoughts do, and belong to what is sealed in them.
pub(super) fn sendable(items: &[Value]) -> Vec<Value> {
    let mut items = items.to_vec();
    for item in &mut items {
        if let Some(fields) = item.as_object_mut()
            && fields.get("type").and_then(Value::as_str) != Some("reasoning")
        {
            fields.shift_remove("id");
            fields.shift_remove("status");
        }
    }
    items
}

/// An id by which nothing can be found but by those who were told.
pub(super) fn new_id(prefix: &str) -> String {
    let mut random = [0_u8; 16];
    // Whoever knows an id still needs a key of its tenant.
    let _ = getrandom::fill(&mut random);
    random
        .iter()
        .fold(format!("{prefix}_"), |id, byte| format!("{id}{byte:02x}"))
}
