//! Anthropic's tools and tool choice, both ways.

use serde_json::{Value, json};

use crate::Dialect;
use crate::argument_schemas::argument_schema;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::{JsonFields, put};
use crate::json_path::{JsonPath, TOOLS};
use crate::neutral::{Map, Request, Tool, ToolChoice, ToolKind};
use crate::tool_names::safe_name;

pub(crate) fn read_tool(value: Value, path: &JsonPath<'_>) -> Result<Tool, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = fields.opt_string("type")?;
    let cache_control = fields.take("cache_control");
    let (name, kind) = match kind.as_deref() {
        None | Some("custom") => (
            fields.string("name")?,
            ToolKind::Function {
                description: fields.opt_string("description")?,
                input_schema: fields.require("input_schema")?,
                strict: fields.opt_bool("strict")?,
            },
        ),
        Some(kind) => (
            fields.opt_string("name")?.unwrap_or_default(),
            ToolKind::Server {
                kind: kind.to_owned(),
            },
        ),
    };
    Ok(Tool {
        name,
        kind,
        cache_control,
        rest: fields.rest(),
        client_path: path.client_path(),
    })
}

/// The choice, and whether calls may run in parallel.
pub(super) fn read_choice(
    value: Value,
    path: &JsonPath<'_>,
) -> Result<(ToolChoice, Option<bool>), WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = fields.string("type")?;
    let parallel = fields
        .opt_bool("disable_parallel_tool_use")?
        .map(|disable| !disable);
    let choice = match kind.as_str() {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Any,
        "none" => ToolChoice::None,
        "tool" => ToolChoice::Tool(fields.string("name")?),
        _ => {
            let mut map = fields.rest();
            map.insert("type".to_owned(), kind.into());
            ToolChoice::Other(map)
        }
    };
    Ok((choice, parallel))
}

pub(super) fn write_tools(request: &Request, drops: &mut Drops) -> Vec<Value> {
    let own = request.origin == Dialect::Messages;
    let by_client = request.client_dialect() == Dialect::Messages;
    let mut out = Vec::with_capacity(request.tools.len());
    for (i, tool) in request.tools.iter().enumerate() {
        let path = &TOOLS.tool(i, tool);
        if request.hides_tool(&tool.name) {
            continue;
        }
        let Some(mut map) = write_tool(tool, own, by_client) else {
            drops.add(path, "a tool of another vendor's servers");
            continue;
        };
        if !by_client {
            drop_strict(&tool.kind, path, drops);
        }
        put(&mut map, "cache_control", tool.cache_control.clone());
        if own {
            map.extend(tool.rest.clone());
        } else {
            drops.rest(path, &tool.rest);
        }
        out.push(Value::Object(map));
    }
    out
}

/// `own`: it is in Anthropic's form. `by_client`: its client wrote that form.
fn write_tool(tool: &Tool, own: bool, by_client: bool) -> Option<Map> {
    let mut map = Map::new();
    match &tool.kind {
        ToolKind::Function {
            description,
            input_schema,
            strict,
        } => {
            map.insert("name".to_owned(), safe_name(&tool.name).into());
            put(&mut map, "description", description.clone());
            let schema = argument_schema(input_schema, by_client);
            map.insert("input_schema".to_owned(), schema);
            put(&mut map, "strict", strict.filter(|_| by_client));
        }
        ToolKind::Freeform { description } => {
            map.insert("name".to_owned(), safe_name(&tool.name).into());
            put(&mut map, "description", description.clone());
            map.insert("input_schema".to_owned(), freeform_schema());
        }
        ToolKind::Server { kind } => {
            if !own {
                return None;
            }
            map.insert("type".to_owned(), kind.as_str().into());
            if !tool.name.is_empty() {
                map.insert("name".to_owned(), tool.name.as_str().into());
            }
        }
    }
    Some(map)
}

/// Reports that a tool is not strict. Claude's strict tools are few per request, with few
/// keywords and optional arguments, and some hosts refuse all, while clients of other dialects
/// make every tool strict. The model is given the schema in any case.
pub(crate) fn drop_strict(tool: &ToolKind, path: &JsonPath<'_>, drops: &mut Drops) {
    if let ToolKind::Function {
        strict: Some(true), ..
    } = tool
    {
        let why = "not every host, model and schema allows it";
        drops.add(path.key("strict"), why);
    }
}

/// A free-form tool as a function of one text.
pub(crate) fn freeform_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
        "additionalProperties": false,
    })
}

pub(super) fn write_choice(request: &Request) -> Result<Option<Value>, WireError> {
    // Responses with several calls would lose all but one of them.
    let parallel = request
        .parallel_tool_calls
        .or(request.function_calls.then_some(false));
    let mut map = match &request.tool_choice {
        None if parallel == Some(false) => simple("auto"),
        None => return Ok(None),
        Some(ToolChoice::Auto) => simple("auto"),
        Some(ToolChoice::Any) => simple("any"),
        Some(ToolChoice::None) => return Ok(Some(json!({"type": "none"}))),
        Some(ToolChoice::Allowed { required, .. }) => {
            simple(if *required { "any" } else { "auto" })
        }
        Some(ToolChoice::Tool(name)) => {
            let mut map = simple("tool");
            map.insert("name".to_owned(), safe_name(name).into());
            map
        }
        Some(ToolChoice::Other(map)) if request.origin == Dialect::Messages => map.clone(),
        Some(ToolChoice::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Messages,
                "tool_choice",
                "Anthropic Messages cannot force a tool of another vendor's servers: \
                 name one of your own, or \"auto\"",
            ));
        }
    };
    let disable = parallel.map(|parallel| !parallel);
    put(
        &mut map,
        "disable_parallel_tool_use",
        disable.filter(|disable| *disable),
    );
    Ok(Some(Value::Object(map)))
}

fn simple(kind: &str) -> Map {
    Map::from_iter([("type".to_owned(), kind.into())])
}
