//! The response of a stream of events. The last event has it whole, but with some servers without
//! its items, which ended before.

use prowess_wire::parse_json;
use serde_json::Value;

/// Bytes of items that are held until the last event.
const MAX_ITEM_BYTES: usize = 16 << 20;

/// The event with which an item ends.
const ITEM_DONE: &str = "response.output_item.done";

/// Finds the response in the events of a stream.
#[derive(Default)]
pub(in crate::route::gateway) struct FinalResponse {
    /// Events with items, unparsed: most servers repeat the items in the last event.
    items: Vec<String>,
    bytes: usize,
}

impl FinalResponse {
    /// Takes an event; returns the response if it is the last one.
    pub(in crate::route::gateway) fn push(&mut self, data: &str) -> Option<Value> {
        if let Some(mut response) = completed_response(data) {
            self.add_items(&mut response);
            return Some(response);
        }
        if data.contains(ITEM_DONE) {
            self.bytes = self.bytes.saturating_add(data.len());
            match self.bytes <= MAX_ITEM_BYTES {
                true => self.items.push(data.to_owned()),
                false => self.items.clear(),
            }
        }
        None
    }

    fn add_items(&mut self, response: &mut Value) {
        let events = std::mem::take(&mut self.items);
        let has_items = |output: &Value| output.as_array().is_some_and(|list| !list.is_empty());
        if response.get("output").is_some_and(has_items) {
            return;
        }
        let mut items: Vec<(Option<u64>, Value)> =
            events.iter().filter_map(|data| item(data)).collect();
        // Some items end after others that began later.
        items.sort_by_key(|(index, _)| *index);
        if let (false, Some(fields)) = (items.is_empty(), response.as_object_mut()) {
            let items = items.into_iter().map(|(_, item)| item);
            fields.insert("output".to_owned(), items.collect());
        }
    }
}

/// The item that ends with an event, and its place.
fn item(data: &str) -> Option<(Option<u64>, Value)> {
    let mut event = parse_json(data.as_bytes()).ok()?;
    if event.get("type")?.as_str()? != ITEM_DONE {
        return None;
    }
    let index = event.get("output_index").and_then(Value::as_u64);
    Some((index, event.get_mut("item")?.take()))
}

/// The response in a final event.
fn completed_response(data: &str) -> Option<Value> {
    if !data.contains("response.completed") && !data.contains("response.incomplete") {
        return None;
    }
    let mut event = parse_json(data.as_bytes()).ok()?;
    match event.get("type")?.as_str()? {
        "response.completed" | "response.incomplete" => event.get_mut("response").map(Value::take),
        _ => None,
    }
}
