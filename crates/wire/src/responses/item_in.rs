//! Responses items, read: what the model said or called, and what it was told.

use serde_json::{Value, json};

use super::part_in::read_parts;
use super::{own_item, picture, sealed, shell};
use crate::arguments;
use crate::error::WireError;
use crate::fields::{Fields, Path, wrong};
use crate::neutral::{Block, ClientPath, Content, Map, Role};

/// An item as blocks of one speaker; `rest` are the unknown fields of a message item of
/// the user's. Those of the assistant's are kept by its blocks.
pub(super) struct Item {
    pub(super) role: Role,
    pub(super) blocks: Vec<Block>,
    pub(super) rest: Map,
    pub(super) client_path: ClientPath,
}

/// What becomes of an item's own id and status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    /// In a history they mean something only to the server that stored it.
    Forgotten,
    /// A server's answer may go back to it as it came.
    Kept,
}

pub(super) fn read_item(value: Value, path: &Path<'_>, ids: Ids) -> Result<Item, WireError> {
    let mut fields = Fields::of(value, path)?;
    let kind = match fields.opt_string("type")? {
        Some(kind) => kind,
        // A message may leave its type out.
        None if fields.peek("role").is_some() => "message".to_owned(),
        None => return Err(wrong_type(path)),
    };
    if kind == "message" {
        return read_message(fields, ids);
    }
    let role = match kind.as_str() {
        "function_call_output" | "custom_tool_call_output" => Role::User,
        _ => Role::Assistant,
    };
    Ok(Item {
        role,
        blocks: vec![read_block(kind, fields, ids)?],
        rest: Map::new(),
        client_path: path.sent(),
    })
}

fn wrong_type(path: &Path<'_>) -> WireError {
    WireError::Missing {
        field: path.key("type").to_string(),
    }
}

fn read_message(mut fields: Fields<'_>, ids: Ids) -> Result<Item, WireError> {
    let path = fields.path();
    let role = fields.need("role")?;
    let role = match role.as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        _ => {
            let expected = "\"user\", \"assistant\", \"system\" or \"developer\"";
            return Err(wrong(&path.key("role"), expected, &role));
        }
    };
    let mut blocks = read_parts(fields.need("content")?, &path.key("content"))?;
    if ids == Ids::Forgotten || role != Role::Assistant {
        forget_ids(&mut fields);
    }
    let mut rest = fields.rest();
    if role == Role::Assistant && (ids == Ids::Kept || !rest.is_empty()) {
        own_item::mark_parts(&mut blocks, &std::mem::take(&mut rest));
    }
    Ok(Item {
        role,
        blocks,
        rest,
        client_path: path.sent(),
    })
}

fn forget_ids(fields: &mut Fields<'_>) {
    fields.take("id");
    fields.take("status");
}

pub(super) fn read_block(
    kind: String,
    mut fields: Fields<'_>,
    ids: Ids,
) -> Result<Block, WireError> {
    let path = fields.path();
    let content = match kind.as_str() {
        "function_call" => Content::ToolUse {
            id: fields.string("call_id")?,
            name: fields.string("name")?,
            input: arguments::parse(fields.opt_string("arguments")?.unwrap_or_default()),
        },
        "custom_tool_call" => Content::ToolUse {
            id: fields.string("call_id")?,
            name: fields.string("name")?,
            input: json!({"input": fields.opt_string("input")?.unwrap_or_default()}),
        },
        "function_call_output" | "custom_tool_call_output" => Content::ToolResult {
            tool_use_id: fields.string("call_id")?,
            content: read_parts(fields.need("output")?, &path.key("output"))?,
            is_error: false,
        },
        "reasoning" => return read_reasoning(fields),
        "shell_call" | "shell_call_output" => return Ok(read_shell(kind, fields)),
        // One that OpenAI's servers made is, in a history, translated with their other items.
        picture::KIND if ids == Ids::Kept || is_made_here(&fields) => {
            let content = picture::read(&mut fields).unwrap_or(Content::Other { kind });
            let mut block = Block {
                client_path: path.sent(),
                rest: fields.rest(),
                ..Block::new(content)
            };
            own_item::mark_item(&mut block, Map::new());
            return Ok(block);
        }
        _ => {
            let mut block = Block {
                rest: fields.rest(),
                client_path: path.sent(),
                ..Block::new(Content::Other { kind })
            };
            own_item::mark_item(&mut block, Map::new());
            return Ok(block);
        }
    };
    forget_ids(&mut fields);
    Ok(Block {
        rest: fields.rest(),
        client_path: path.sent(),
        ..Block::new(content)
    })
}

/// Whether a client brings back an item that was written for it here.
fn is_made_here(fields: &Fields<'_>) -> bool {
    let id = fields.peek("id").and_then(Value::as_str);
    id.is_some_and(own_item::is_made_id)
}

fn read_reasoning(mut fields: Fields<'_>) -> Result<Block, WireError> {
    let id = fields.opt_string("id")?.unwrap_or_default();
    let encrypted = fields.opt_string("encrypted_content")?;
    fields.take("status");
    let client_path = fields.path().sent();
    let mut item = Map::from_iter([("id".to_owned(), id.as_str().into())]);
    item.extend(fields.rest());
    let summary = texts(item.get("summary"));
    let content = texts(item.get("content"));
    let thinking = if summary.is_empty() { content } else { summary };
    let mut block = Block::new(sealed::thought(&id, thinking, encrypted.as_deref()));
    block.client_path = client_path;
    own_item::mark_item(&mut block, item);
    Ok(block)
}

pub(super) fn texts(parts: Option<&Value>) -> String {
    let parts = parts.and_then(Value::as_array);
    let texts = parts.into_iter().flatten();
    let texts: Vec<&str> = texts
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    texts.join("\n\n")
}

/// The whole item stays in `rest`, so that its own dialect gets it back as it was.
fn read_shell(kind: String, fields: Fields<'_>) -> Block {
    let client_path = fields.path().sent();
    let rest = fields.rest();
    let read = match kind.as_str() {
        "shell_call" => shell::read_call(&rest),
        _ => shell::read_output(&rest),
    };
    let mut block = Block {
        rest,
        client_path,
        ..Block::new(read.unwrap_or(Content::Other { kind }))
    };
    own_item::mark_item(&mut block, Map::new());
    block
}
