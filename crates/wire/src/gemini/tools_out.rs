//! Gemini's function declarations and calling modes, written.

use serde_json::{Value, json};

use crate::Dialect;
use crate::anthropic::freeform_schema;
use crate::argument_schemas::argument_schema;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::json_path::TOOLS;
use crate::neutral::{Map, Request, ToolChoice, ToolKind};
use crate::tool_names::safe_name;

pub(super) fn write_tools(request: &Request, drops: &mut Drops) -> Vec<Value> {
    let mut out = Vec::with_capacity(request.tools.len());
    for (i, tool) in request.tools.iter().enumerate() {
        let path = &TOOLS.tool(i, tool);
        let (description, schema) = match &tool.kind {
            ToolKind::Function {
                description,
                input_schema,
                strict,
            } => {
                if *strict == Some(true) {
                    drops.add(path.key("strict"), "Gemini has no strict functions");
                }
                let own = request.origin == Dialect::Gemini;
                (description, argument_schema(input_schema, own))
            }
            ToolKind::Freeform { description } => (description, freeform_schema()),
            ToolKind::Server { .. } if request.origin == Dialect::Gemini => continue,
            ToolKind::Server { .. } => {
                drops.add(path, "a tool that only its vendor's servers run");
                continue;
            }
        };
        if tool.cache_control.is_some() {
            drops.add(path.key("cache_control"), "Gemini caches prompts by itself");
        }
        let mut map = Map::from_iter([("name".to_owned(), safe_name(&tool.name).into())]);
        put(&mut map, "description", description.clone());
        map.insert("parametersJsonSchema".to_owned(), schema);
        if request.origin == Dialect::Gemini {
            map.extend(tool.rest.clone());
        } else {
            drops.rest(path, &tool.rest);
        }
        out.push(Value::Object(map));
    }
    out
}

/// The tools of Google's servers in a Gemini client's request.
pub(super) fn server_tools(request: &Request) -> Vec<Value> {
    let own = request.origin == Dialect::Gemini;
    let tools = request.tools.iter().filter(|_| own);
    let tools = tools.filter_map(|tool| match &tool.kind {
        ToolKind::Server { kind } => Some(json!({kind: tool.rest})),
        _ => None,
    });
    tools.collect()
}

pub(super) fn write_choice(request: &Request) -> Result<Option<Value>, WireError> {
    let names =
        |names: &[String]| -> Vec<Value> { names.iter().map(|n| safe_name(n).into()).collect() };
    let config = match &request.tool_choice {
        None => return Ok(None),
        Some(ToolChoice::Auto) => json!({"mode": "AUTO"}),
        Some(ToolChoice::Any) => json!({"mode": "ANY"}),
        Some(ToolChoice::None) => json!({"mode": "NONE"}),
        Some(ToolChoice::Tool(name)) => {
            json!({"mode": "ANY", "allowedFunctionNames": [safe_name(name)]})
        }
        Some(ToolChoice::Allowed {
            names: allowed,
            required,
        }) => {
            // AUTO does not allow a list of names; VALIDATED is AUTO with one.
            let mode = if *required { "ANY" } else { "VALIDATED" };
            json!({"mode": mode, "allowedFunctionNames": names(allowed)})
        }
        Some(ToolChoice::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Gemini,
                "tool_choice",
                "Gemini cannot force a tool that another vendor's servers run: \
                 name one of your own, or \"auto\"",
            ));
        }
    };
    Ok(Some(json!({"functionCallingConfig": config})))
}
