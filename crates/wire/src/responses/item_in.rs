//! Reads Responses items: messages, calls and results.

use serde_json::{Value, json};

use super::part_in::read_parts;
use super::{image_item, reasoning_signature, shell, source_item};
use crate::arguments;
use crate::error::WireError;
use crate::fields::{JsonFields, wrong_value};
use crate::json_path::JsonPath;
use crate::neutral::{Block, ClientPath, Content, Map, Role};

/// An item as blocks of one role; `rest` holds the unknown fields of a user's message item.
/// Those of an assistant's message are in its blocks.
pub(super) struct InputItem {
    pub(super) role: Role,
    pub(super) blocks: Vec<Block>,
    pub(super) rest: Map,
    pub(super) client_path: ClientPath,
}

/// What becomes of an item's own id and status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdPolicy {
    /// In a history they are meaningful only to the server that stored it.
    Remove,
    /// A server's response may go back to it unchanged.
    Keep,
}

pub(super) fn read_item(
    value: Value,
    path: &JsonPath<'_>,
    ids: IdPolicy,
) -> Result<InputItem, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
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
        FUNCTION_OUTPUT if is_standalone(&fields) => Role::Assistant,
        FUNCTION_OUTPUT | "custom_tool_call_output" => Role::User,
        _ => Role::Assistant,
    };
    Ok(InputItem {
        role,
        blocks: vec![read_block(kind, fields, ids)?],
        rest: Map::new(),
        client_path: path.client_path(),
    })
}

pub(super) const FUNCTION_OUTPUT: &str = "function_call_output";

/// Whether the output of a function belongs to no call: so clients report what has happened
/// outside of the conversation.
fn is_standalone(fields: &JsonFields<'_>) -> bool {
    fields.peek("call_id").is_none_or(Value::is_null)
        && fields.peek("name").is_some_and(Value::is_string)
}

fn wrong_type(path: &JsonPath<'_>) -> WireError {
    WireError::Missing {
        field: path.key("type").to_string(),
    }
}

fn read_message(mut fields: JsonFields<'_>, ids: IdPolicy) -> Result<InputItem, WireError> {
    let path = fields.path();
    let role = fields.require("role")?;
    let role = match role.as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        _ => {
            let expected = "\"user\", \"assistant\", \"system\" or \"developer\"";
            return Err(wrong_value(&path.key("role"), expected, &role));
        }
    };
    let mut blocks = read_parts(fields.require("content")?, &path.key("content"))?;
    if ids == IdPolicy::Remove || role != Role::Assistant {
        forget_ids(&mut fields);
    }
    let mut rest = fields.rest();
    if role == Role::Assistant && (ids == IdPolicy::Keep || !rest.is_empty()) {
        source_item::mark_parts(&mut blocks, &std::mem::take(&mut rest));
    }
    Ok(InputItem {
        role,
        blocks,
        rest,
        client_path: path.client_path(),
    })
}

fn forget_ids(fields: &mut JsonFields<'_>) {
    fields.take("id");
    fields.take("status");
}

pub(super) fn read_block(
    kind: String,
    mut fields: JsonFields<'_>,
    ids: IdPolicy,
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
        FUNCTION_OUTPUT if is_standalone(&fields) => {
            return Ok(Block {
                client_path: path.client_path(),
                ..hosted_item(&kind, fields.rest())
            });
        }
        FUNCTION_OUTPUT | "custom_tool_call_output" => Content::ToolResult {
            tool_use_id: fields.string("call_id")?,
            content: read_parts(fields.require("output")?, &path.key("output"))?,
            is_error: false,
        },
        "reasoning" => return read_reasoning(fields),
        "shell_call" | "shell_call_output" => return Ok(read_shell(kind, fields)),
        // In a history, images of OpenAI's servers are translated with their other items.
        image_item::IMAGE_CALL if ids == IdPolicy::Keep || is_generated_here(&fields) => {
            let content = image_item::read(&mut fields).unwrap_or(Content::Other { kind });
            let mut block = Block {
                client_path: path.client_path(),
                rest: fields.rest(),
                ..Block::new(content)
            };
            source_item::mark_item(&mut block, Map::new());
            return Ok(block);
        }
        _ => {
            return Ok(Block {
                client_path: path.client_path(),
                ..hosted_item(&kind, fields.rest())
            });
        }
    };
    forget_ids(&mut fields);
    Ok(Block {
        rest: fields.rest(),
        client_path: path.client_path(),
        ..Block::new(content)
    })
}

/// An item of the vendor's own servers, from its fields other than the type.
pub(crate) fn hosted_item(kind: &str, fields: Map) -> Block {
    let kind = kind.to_owned();
    let mut block = Block {
        rest: fields,
        ..Block::new(Content::Other { kind })
    };
    source_item::mark_item(&mut block, Map::new());
    block
}

/// Whether an item in a client's history was written by this server.
fn is_generated_here(fields: &JsonFields<'_>) -> bool {
    let id = fields.peek("id").and_then(Value::as_str);
    id.is_some_and(source_item::is_generated_id)
}

fn read_reasoning(mut fields: JsonFields<'_>) -> Result<Block, WireError> {
    let id = fields.opt_string("id")?.unwrap_or_default();
    let encrypted = fields.opt_string("encrypted_content")?;
    fields.take("status");
    let client_path = fields.path().client_path();
    let mut item = Map::from_iter([("id".to_owned(), id.as_str().into())]);
    item.extend(fields.rest());
    let summary = texts(item.get("summary"));
    let content = texts(item.get("content"));
    let thinking = if summary.is_empty() { content } else { summary };
    let mut block = Block::new(reasoning_signature::read_thought(
        &id,
        thinking,
        encrypted.as_deref(),
    ));
    block.client_path = client_path;
    source_item::mark_item(&mut block, item);
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
fn read_shell(kind: String, fields: JsonFields<'_>) -> Block {
    let client_path = fields.path().client_path();
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
    source_item::mark_item(&mut block, Map::new());
    block
}
