//! Reads Chat messages and groups them into turns: tool results and the user's text after
//! them become one message, as in Anthropic's dialect.

use serde_json::{Value, json};

use super::content_in::take_images;
use super::extra_content;
use super::former_functions;
use super::part_in::read_parts;
use super::reasoning_in::{has_details, take_details, thought_from_client};
use crate::anthropic;
use crate::arguments;
use crate::error::WireError;
use crate::fields::{JsonFields, wrong_value};
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, Message, Request, Role};

pub(super) fn read_messages(
    items: Vec<Value>,
    path: &JsonPath<'_>,
    request: &mut Request,
) -> Result<(), WireError> {
    let mut named_calls = former_functions::NamedCalls::default();
    for (i, item) in items.into_iter().enumerate() {
        let path = &path.index(i);
        let mut fields = JsonFields::from_value(item, path)?;
        let role = fields.string("role")?;
        match role.as_str() {
            "system" | "developer" => read_system(fields, request)?,
            "user" => read_user(fields, request)?,
            "assistant" => read_assistant(fields, i, request)?,
            "tool" => {
                let id = fields.string("tool_call_id")?;
                read_result(fields, id, request)?;
            }
            "function" => {
                let id = named_calls.answer(&mut fields, request)?;
                read_result(fields, id, request)?;
            }
            _ => {
                let expected = "\"system\", \"developer\", \"user\", \"assistant\" or \"tool\"";
                return Err(wrong_value(
                    &path.key("role"),
                    expected,
                    &Value::String(role),
                ));
            }
        }
    }
    Ok(())
}

/// Instructions before the first message are the system prompt; later ones stay where
/// they are.
fn read_system(mut fields: JsonFields<'_>, request: &mut Request) -> Result<(), WireError> {
    let path = fields.path().key("content");
    let content = read_parts(fields.require("content")?, &path)?;
    if request.messages.is_empty() {
        request.system.extend(content);
        request.drop_fields(&fields.path().client_path(), &fields.rest());
        return Ok(());
    }
    request.messages.push(Message {
        role: Role::System,
        content,
        client_path: fields.path().client_path(),
        rest: fields.rest(),
    });
    Ok(())
}

fn read_user(mut fields: JsonFields<'_>, request: &mut Request) -> Result<(), WireError> {
    let path = fields.path().key("content");
    let content = read_parts(fields.require("content")?, &path)?;
    let message = Message {
        role: Role::User,
        content,
        client_path: fields.path().client_path(),
        rest: fields.rest(),
    };
    match request.messages.last_mut() {
        Some(last) if is_results(last) && last.can_join(&message) => last.join(message),
        _ => request.messages.push(message),
    }
    Ok(())
}

fn read_result(
    mut fields: JsonFields<'_>,
    tool_use_id: String,
    request: &mut Request,
) -> Result<(), WireError> {
    let path = fields.path().key("content");
    let content = match fields.take("content") {
        Some(content) => read_parts(content, &path)?,
        None => Vec::new(),
    };
    let result = Content::ToolResult {
        tool_use_id,
        content,
        is_error: false,
    };
    // The tool's name is repeated here by some clients; the call has it.
    fields.take("name");
    let block = Block {
        client_path: fields.path().client_path(),
        rest: fields.rest(),
        ..Block::new(result)
    };
    match request.messages.last_mut() {
        Some(last) if is_results(last) => last.content.push(block),
        _ => request.messages.push(Message::new(Role::User, vec![block])),
    }
    Ok(())
}

/// Whether a message consists of tool results only, so that more may follow. A user's
/// message has none here, so the last block decides.
fn is_results(message: &Message) -> bool {
    let is_result = |block: &Block| matches!(block.content, Content::ToolResult { .. });
    message.role == Role::User && message.content.last().is_none_or(is_result)
}

/// Reads the n-th message, which is the model's.
fn read_assistant(
    mut fields: JsonFields<'_>,
    n: usize,
    request: &mut Request,
) -> Result<(), WireError> {
    let path = fields.path();
    let mut content = read_thoughts(&mut fields)?;
    if let Some(parts) = fields.take("content") {
        content.extend(read_parts(parts, &path.key("content"))?);
    }
    for picture in take_images(&mut fields) {
        content.push(Block::new(picture).with_path(&path.key("images")));
    }
    if let Some(refusal) = fields.opt_string("refusal")? {
        content.push(Block::text(refusal).with_path(&path.key("refusal")));
    }
    let calls = fields.opt_list("tool_calls")?.unwrap_or_default();
    let mut signed = extra_content::SignedThoughts::default();
    for (i, call) in calls.into_iter().enumerate() {
        let path = path.key("tool_calls");
        let path = &path.index(i);
        let mut call = read_call(call, path)?;
        if let Some(extra) = extra_content::take(&mut call.rest) {
            let thought = signed.thought_before(&extra, None, path, &mut content);
            content.push(thought);
        }
        content.push(call);
    }
    signed.remove_taken(&mut content);
    if let Some(call) = fields.take("function_call") {
        let path = &path.key("function_call");
        content.push(former_functions::read_call(call, path, n)?);
    }
    content.retain(|block| block.as_text() != Some("") || !block.is_plain());
    request.messages.push(Message {
        role: Role::Assistant,
        content,
        rest: fields.rest(),
        client_path: path.client_path(),
    });
    Ok(())
}

/// Thoughts in a client's history: whole blocks, or the text alone.
fn read_thoughts(fields: &mut JsonFields<'_>) -> Result<Vec<Block>, WireError> {
    let path = fields.path();
    let blocks = fields.opt_list("thinking_blocks")?.unwrap_or_default();
    let text = fields.opt_string("reasoning_content")?;
    let text = text.filter(|text| !text.is_empty());
    let details = take_details(fields);
    if blocks.is_empty() && !details.is_empty() {
        let thought = thought_from_client(text, details);
        return Ok(vec![thought.with_path(&path.key("reasoning_details"))]);
    }
    if blocks.is_empty() {
        let thought = text.map(|thinking| {
            Block::new(Content::Thinking {
                thinking,
                signature: String::new(),
            })
            .with_path(&path.key("reasoning_content"))
        });
        return Ok(thought.into_iter().collect());
    }
    let list = path.key("thinking_blocks");
    let values = blocks.into_iter().enumerate();
    let thoughts = values.map(|(i, block)| read_thought(block, &list.index(i)));
    let mut blocks: Vec<Block> = thoughts.collect::<Result<_, _>>()?;
    if !details.is_empty() && !has_details(&blocks) {
        let thought = thought_from_client(None, details);
        blocks.push(thought.with_path(&path.key("reasoning_details")));
    }
    Ok(blocks)
}

/// A whole thought; its index in a stream's list has no meaning any more.
pub(super) fn read_thought(mut block: Value, path: &JsonPath<'_>) -> Result<Block, WireError> {
    if let Some(map) = block.as_object_mut() {
        map.shift_remove("index");
    }
    anthropic::read_block(block, path)
}

pub(super) fn read_call(value: Value, path: &JsonPath<'_>) -> Result<Block, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let id = fields.string("id")?;
    let kind = fields.opt_string("type")?;
    let (key, argument) = match kind.as_deref() {
        Some("custom") => ("custom", "input"),
        _ => ("function", "arguments"),
    };
    let inner_path = &path.key(key);
    let mut inner = JsonFields::from_value(fields.require(key)?, inner_path)?;
    let name = inner.string("name")?;
    let input = match inner.take(argument) {
        Some(Value::String(text)) if key == "custom" => json!({"input": text}),
        Some(Value::String(text)) => arguments::parse(text),
        // Some servers send the arguments as an object already.
        Some(other) => other,
        None => json!({}),
    };
    fields.keep(key, inner);
    Ok(Block {
        rest: fields.rest(),
        client_path: path.client_path(),
        ..Block::tool_use(id, name, input)
    })
}
