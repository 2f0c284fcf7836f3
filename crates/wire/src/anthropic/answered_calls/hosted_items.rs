//! Items of OpenAI's own servers for a Messages client, both ways: as calls of Anthropic's server
//! tools with their results, or as texts that name them.

use serde_json::{Value, json};

use super::ShownBlock;
use crate::fields::put;
use crate::neutral::{Block, Content, DIALECT_FIELDS, Map, without_dialect_fields};
use crate::responses::hosted_item;
use crate::server_call_ids::{ServerCallOrigin, client_id, original_id};

/// An item for which Anthropic has a server tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownItem {
    Search,
    Code,
}

impl KnownItem {
    const ALL: [KnownItem; 2] = [KnownItem::Search, KnownItem::Code];

    /// The type of the item, Anthropic's tool, and the type of its result.
    fn names(self) -> [&'static str; 3] {
        match self {
            KnownItem::Search => ["web_search_call", "web_search", "web_search_tool_result"],
            KnownItem::Code => [
                "code_interpreter_call",
                "code_execution",
                "code_execution_tool_result",
            ],
        }
    }

    fn with_type(kind: &str) -> Option<Self> {
        let mut all = KnownItem::ALL.into_iter();
        all.find(|known| matches!(known.names(), [item, ..] if item == kind))
    }

    fn with_tool(name: &str) -> Option<Self> {
        let mut all = KnownItem::ALL.into_iter();
        all.find(|known| matches!(known.names(), [_, tool, _] if tool == name))
    }

    /// The input of the call, and the content of its result. Anthropic accepts no pages in that
    /// but those that it has found; the sources are in the input, with the query.
    fn write(self, item: &Map) -> (Map, Value) {
        let failed = matches!(
            item.get("status").and_then(Value::as_str),
            Some("failed" | "incomplete")
        );
        match self {
            KnownItem::Search => {
                let action = item.get("action").and_then(Value::as_object);
                let content = match failed {
                    true => {
                        json!({"type": "web_search_tool_result_error", "error_code": "unavailable"})
                    }
                    false => json!([]),
                };
                (action.cloned().unwrap_or_default(), content)
            }
            KnownItem::Code => {
                let code = item.get("code").cloned().unwrap_or_default();
                let mut input = Map::from_iter([("code".to_owned(), code)]);
                let container = item.get("container_id").filter(|id| !id.is_null());
                put(&mut input, "container_id", container.cloned());
                let content = json!({
                    "type": "code_execution_result",
                    "stdout": logs(item),
                    "stderr": "",
                    "return_code": i32::from(failed),
                    "content": [],
                });
                (input, content)
            }
        }
    }

    /// The fields of the item that the input and the result have.
    fn read(self, input: &Map, content: Option<&Value>) -> Map {
        let status = match content.is_some_and(is_error) {
            true => "failed",
            false => "completed",
        };
        let mut item = Map::from_iter([("status".to_owned(), status.into())]);
        match self {
            KnownItem::Search if input.is_empty() => {}
            KnownItem::Search => {
                item.insert("action".to_owned(), input.clone().into());
            }
            KnownItem::Code => {
                item.extend(input.clone());
                let stdout = content.and_then(|content| content.get("stdout")?.as_str());
                let outputs = match stdout {
                    None | Some("") => Value::Null,
                    Some(logs) => json!([{"type": "logs", "logs": logs}]),
                };
                item.insert("outputs".to_owned(), outputs);
            }
        }
        item
    }
}

/// What code printed.
fn logs(item: &Map) -> String {
    let outputs = item.get("outputs").and_then(Value::as_array);
    let logs = outputs.into_iter().flatten();
    let logs: Vec<&str> = logs
        .filter_map(|output| output.get("logs")?.as_str())
        .collect();
    logs.join("\n")
}

fn is_error(content: &Value) -> bool {
    let code = content.get("return_code").and_then(Value::as_i64);
    content.get("error_code").is_some() || code.is_some_and(|code| code != 0)
}

/// The call and its result. What neither has a place for, such as images that code made, is in
/// other fields of the call.
pub(super) fn write(kind: &str, block: &Block) -> Option<ShownBlock> {
    let known = KnownItem::with_type(kind)?;
    let id = Value::from(client_id(ServerCallOrigin::Responses, item_id(block)?));
    let item = without_dialect_fields(&block.rest);
    let (input, content) = known.write(&item);
    let read = known.read(&input, Some(&content));
    let [_, tool, result] = known.names();
    let mut call = Map::from_iter([
        ("type".to_owned(), "server_tool_use".into()),
        ("id".to_owned(), id.clone()),
        ("name".to_owned(), tool.into()),
        ("input".to_owned(), input.into()),
    ]);
    for (key, value) in item {
        let is_lost = !is_empty(&value) && read.get(&key) != Some(&value);
        if is_lost && !call.contains_key(&key) {
            call.insert(key, value);
        }
    }
    Some(ShownBlock {
        block: call.into(),
        result: Some(json!({"type": result, "tool_use_id": id, "content": content})),
    })
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// The id of the item that a block was read from.
fn item_id(block: &Block) -> Option<&str> {
    let own = block.rest.get(DIALECT_FIELDS)?;
    let id = block.rest.get("id").or_else(|| own.get("item")?.get("id"));
    id?.as_str().filter(|id| !id.is_empty())
}

/// The other fields of a text that names an item or a part.
pub(in crate::anthropic) fn text_fields(block: &Block) -> Map {
    let mut fields = without_dialect_fields(&block.rest);
    fields.shift_remove("text");
    if let Some(id) = item_id(block) {
        let id = client_id(ServerCallOrigin::Responses, id);
        fields.insert("id".to_owned(), id.into());
    }
    fields
}

/// The item of a call that a client sends back, with the content of its result. `None` if it was no
/// item, if it lacks what OpenAI requires, or if the client has changed the result.
pub(crate) fn restore_call(call: &Block, content: Option<&Value>) -> Option<Block> {
    let Content::ServerToolUse { id, name, input } = &call.content else {
        return None;
    };
    let known = KnownItem::with_tool(name)?;
    let mut item = with_id(id)?;
    item.extend(known.read(input.as_object()?, content));
    item.extend(call.rest.clone());
    if known == KnownItem::Code && !item.contains_key("container_id") {
        return None;
    }
    let (_, shown) = known.write(&item);
    if content.is_some_and(|content| *content != shown) {
        return None;
    }
    let [kind, ..] = known.names();
    Some(in_place_of(call, hosted_item(kind, item)))
}

/// The item that a text names which a client sends back.
pub(crate) fn restore_text(text: &Block) -> Option<Block> {
    let kind = named_kind(text.as_text()?)?;
    let mut item = with_id(text.rest.get("id")?.as_str()?)?;
    let others = text.rest.iter().filter(|(key, _)| *key != "id");
    item.extend(others.map(|(key, value)| (key.clone(), value.clone())));
    Some(in_place_of(text, hosted_item(kind, item)))
}

fn in_place_of(block: &Block, item: Block) -> Block {
    Block {
        cache_control: block.cache_control.clone(),
        client_path: block.client_path.clone(),
        ..item
    }
}

/// The beginning of an item, from the id that a client has.
fn with_id(id: &str) -> Option<Map> {
    match original_id(id)? {
        (ServerCallOrigin::Responses, id) => Some(Map::from_iter([("id".to_owned(), id.into())])),
        _ => None,
    }
}

/// The type of the item or part that a text names.
pub(crate) fn named_kind(text: &str) -> Option<&str> {
    let kind = text.strip_prefix('[')?.strip_suffix(']')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!kind.is_empty() && kind.chars().all(is_word)).then_some(kind)
}
