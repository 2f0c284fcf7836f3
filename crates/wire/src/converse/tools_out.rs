//! Converse's tool configuration, written.

use serde_json::{Value, json};

use super::block_out::{AcceptedFields, NO_CACHE_POINTS};
use crate::Dialect;
use crate::anthropic::{drop_strict, freeform_schema};
use crate::argument_schemas::argument_schema;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::json_path::TOOLS;
use crate::model_text::PAST_TOOL;
use crate::neutral::{Content, Map, Message, Request, ToolChoice, ToolKind};
use crate::tool_names::safe_name;

pub(super) fn write_tool_config(
    request: &Request,
    messages: &[Message],
    accepted: AcceptedFields,
    drops: &mut Drops,
) -> Result<Option<Value>, WireError> {
    let mut tools = write_tools(request, accepted, drops);
    let offered = !tools.is_empty();
    if !offered {
        tools = past_tools(messages);
    }
    if tools.is_empty() {
        return Ok(None);
    }
    let mut config = Map::from_iter([("tools".to_owned(), tools.into())]);
    if offered {
        put(&mut config, "toolChoice", write_choice(request)?);
    }
    if request.parallel_tool_calls == Some(false) {
        drops.add(
            "tool_choice.disable_parallel_tool_use",
            "Converse cannot disable parallel tool calls",
        );
    }
    Ok(Some(Value::Object(config)))
}

fn write_tools(request: &Request, accepted: AcceptedFields, drops: &mut Drops) -> Vec<Value> {
    let mut out = Vec::with_capacity(request.tools.len());
    for (i, tool) in request.tools.iter().enumerate() {
        let path = &TOOLS.tool(i, tool);
        let (description, schema) = match &tool.kind {
            ToolKind::Function {
                description,
                input_schema,
                ..
            } => (description, argument_schema(input_schema, false)),
            ToolKind::Freeform { description } => (description, freeform_schema()),
            ToolKind::Server { .. } => {
                drops.add(path, "a tool that only its vendor's servers run");
                continue;
            }
        };
        if request.hides_tool(&tool.name) {
            continue;
        }
        drop_strict(&tool.kind, path, drops);
        drops.rest(path, &tool.rest);
        out.push(spec(&tool.name, description.as_deref(), schema));
        if let Some(mark) = &tool.cache_control {
            match accepted.cache_point(mark) {
                Some(point) => out.push(point),
                None => drops.add(path.key("cache_control"), NO_CACHE_POINTS),
            }
        }
    }
    out
}

/// A tool. Many models refuse `strict` here, whatever its value.
fn spec(name: &str, description: Option<&str>, schema: Value) -> Value {
    let mut map = Map::from_iter([("name".to_owned(), safe_name(name).into())]);
    put(
        &mut map,
        "description",
        description.filter(|text| !text.is_empty()),
    );
    map.insert("inputSchema".to_owned(), json!({"json": schema}));
    json!({"toolSpec": map})
}

/// A conversation that has used tools is refused without them, so the tools it used
/// are listed, without argument schemas.
fn past_tools(messages: &[Message]) -> Vec<Value> {
    let mut names: Vec<&str> = Vec::new();
    for block in messages.iter().flat_map(|message| &message.content) {
        if let Content::ToolUse { name, .. } = &block.content
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    names
        .into_iter()
        .map(|name| {
            let description = Some(PAST_TOOL);
            spec(name, description, json!({"type": "object"}))
        })
        .collect()
}

/// The choice, unless it is the default: some models refuse every choice that is stated.
fn write_choice(request: &Request) -> Result<Option<Value>, WireError> {
    Ok(match &request.tool_choice {
        None
        | Some(
            ToolChoice::None
            | ToolChoice::Auto
            | ToolChoice::Allowed {
                required: false, ..
            },
        ) => None,
        Some(ToolChoice::Any | ToolChoice::Allowed { required: true, .. }) => {
            Some(json!({"any": {}}))
        }
        Some(ToolChoice::Tool(name)) => Some(json!({"tool": {"name": safe_name(name)}})),
        Some(ToolChoice::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Converse,
                "tool_choice",
                "Converse cannot force a tool that another vendor's servers run: \
                 name one of your own, or \"auto\"",
            ));
        }
    })
}
