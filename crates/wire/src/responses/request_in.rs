//! A Responses request, read.

use serde_json::Value;

use super::call_outputs;
use super::flat_tools::flatten;
use super::item_in::{IdPolicy, InputItem, read_item};
use super::source_item;
use super::tools::{read_choice, read_tool};
use crate::chat::read_schema;
use crate::error::WireError;
use crate::fields::{JsonFields, wrong_value};
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, Map, Message, Request, ResponseFormat, Role};
use crate::{ClientDialect, Dialect};

pub(crate) fn read_request(body: Value) -> Result<Request, WireError> {
    let root = JsonPath::Body(ClientDialect::Responses);
    call_outputs::check(&body)?;
    let mut fields = JsonFields::from_value(body, &root)?;
    let mut request = Request::new(Dialect::Responses, fields.string("model")?);
    if let Some(instructions) = fields.opt_string("instructions")? {
        let path = root.key("instructions");
        request
            .system
            .push(Block::text(instructions).with_path(&path));
    }
    read_input(fields.take("input"), &root.key("input"), &mut request)?;
    request.max_tokens = fields.opt_u64("max_output_tokens")?;
    let tools = fields.opt_list("tools")?.unwrap_or_default();
    for (i, tool) in tools.into_iter().enumerate() {
        request
            .tools
            .push(read_tool(tool, &root.key("tools").index(i))?);
    }
    flatten(&mut request)?;
    if let Some(choice) = fields.take("tool_choice") {
        let path = root.key("tool_choice");
        request.tool_choice = Some(read_choice(choice, &path, &request.client_tools)?);
    }
    request.parallel_tool_calls = fields.opt_bool("parallel_tool_calls")?;
    request.stream = fields.opt_bool("stream")?.unwrap_or(false);
    request.temperature = fields.opt_number("temperature")?;
    request.top_p = fields.opt_number("top_p")?;
    request.user = fields.opt_string("user")?;
    request.container = fields.take("container");
    read_nested(&mut fields, &mut request)?;
    request.rest.extend(fields.rest());
    Ok(request)
}

fn read_input(
    input: Option<Value>,
    path: &JsonPath<'_>,
    request: &mut Request,
) -> Result<(), WireError> {
    match input {
        None => Ok(()),
        Some(Value::String(text)) => {
            let blocks = vec![Block::text(text).with_path(path)];
            let message = Message::new(Role::User, blocks).with_path(path);
            request.messages.push(message);
            Ok(())
        }
        Some(Value::Array(items)) => {
            for (i, item) in items.into_iter().enumerate() {
                gather(read_item(item, &path.index(i), IdPolicy::Remove)?, request);
            }
            Ok(())
        }
        Some(other) => Err(wrong_value(path, "a string or a list of items", &other)),
    }
}

/// Consecutive items of one role become one message. Instructions before the first message
/// are part of the system prompt, later ones stay in place.
fn gather(item: InputItem, request: &mut Request) {
    if item.role == Role::System && request.messages.iter().all(only_tools) {
        request.system.extend(item.blocks);
        request.drop_fields(&item.client_path, &item.rest);
        return;
    }
    let mut message = Message {
        role: item.role,
        content: item.blocks,
        rest: item.rest,
        client_path: item.client_path,
    };
    match request.messages.last_mut() {
        Some(last) if joins(last, &message) => {
            let blocks = &mut message.content;
            let is_text = |block: Option<&Block>| block.is_some_and(|b| b.as_text().is_some());
            let follows = is_text(last.content.last()) && is_text(blocks.first());
            // Two messages of the assistant's stay two.
            if message.role == Role::Assistant && follows && !blocks.iter().any(source_item::is_own)
            {
                source_item::mark_parts(blocks, &Map::new());
            }
            last.join(message);
        }
        _ => request.messages.push(message),
    }
}

/// Whether a message only defines tools.
fn only_tools(message: &Message) -> bool {
    let is_tools = |block: &Block| block.content.kind() == "additional_tools";
    message.content.iter().all(is_tools)
}

/// Two user messages remain two, but results and the user's text after them are one; so
/// are all consecutive texts and calls of the assistant.
fn joins(last: &Message, next: &Message) -> bool {
    // Anything but a result ends such a message, so the last block decides.
    let is_result = |block: &Block| matches!(block.content, Content::ToolResult { .. });
    let results = || last.content.last().is_none_or(is_result);
    last.role == next.role
        && last.can_join(next)
        && match next.role {
            Role::Assistant => true,
            Role::User => results(),
            Role::System => false,
        }
}

/// `reasoning` and `text`: known fields are read, the rest stays inside.
fn read_nested(fields: &mut JsonFields<'_>, request: &mut Request) -> Result<(), WireError> {
    let root = JsonPath::Root;
    if let Some(reasoning) = fields.take("reasoning") {
        let path = root.key("reasoning");
        let mut reasoning = JsonFields::from_value(reasoning, &path)?;
        request.effort = reasoning.opt_string("effort")?;
        keep(request, "reasoning", reasoning);
    }
    if let Some(text) = fields.take("text") {
        let path = root.key("text");
        let mut text = JsonFields::from_value(text, &path)?;
        if let Some(format) = text.take("format") {
            request.format = read_format(format, &path.key("format"))?;
        }
        keep(request, "text", text);
    }
    Ok(())
}

fn keep(request: &mut Request, key: &str, fields: JsonFields<'_>) {
    let rest = fields.rest();
    if !rest.is_empty() {
        request.rest.insert(key.to_owned(), Value::Object(rest));
    }
}

fn read_format(value: Value, path: &JsonPath<'_>) -> Result<Option<ResponseFormat>, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = fields.string("type")?;
    Ok(match kind.as_str() {
        "text" => None,
        "json_object" => Some(ResponseFormat::JsonObject),
        "json_schema" => Some(read_schema(&mut fields)?),
        _ => {
            let mut map = fields.rest();
            map.insert("type".to_owned(), kind.into());
            Some(ResponseFormat::Other(map))
        }
    })
}
