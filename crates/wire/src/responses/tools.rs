//! Responses' tools and tool choice, both ways.

use serde_json::{Value, json};

use super::namespace::{self, NamespaceGroups};
use crate::Dialect;
use crate::argument_schemas::{argument_schema, no_parameters};
use crate::chat::{read_choice_word, tool_type};
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::{JsonFields, object, put};
use crate::json_path::{JsonPath, TOOLS};
use crate::neutral::{ClientToolKind, ClientTools, Map, Request, Tool, ToolChoice, ToolKind};
use crate::openai::strict_function;
use crate::tool_names::safe_name;

pub(super) fn read_tool(value: Value, path: &JsonPath<'_>) -> Result<Tool, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = match fields.opt_string("type")? {
        None if fields.peek("name").is_some() => "function".to_owned(),
        None => {
            return Err(WireError::Missing {
                field: path.key("type").to_string(),
            });
        }
        Some(kind) => kind,
    };
    let (name, kind) = match kind.as_str() {
        "function" => (
            fields.string("name")?,
            ToolKind::Function {
                description: fields.opt_string("description")?,
                input_schema: fields.take("parameters").unwrap_or_else(no_parameters),
                strict: fields.opt_bool("strict")?,
            },
        ),
        "custom" => (
            fields.string("name")?,
            ToolKind::Freeform {
                description: fields.opt_string("description")?,
            },
        ),
        _ => (String::new(), ToolKind::Server { kind }),
    };
    Ok(Tool {
        name,
        kind,
        cache_control: None,
        rest: fields.rest(),
        client_path: path.client_path(),
    })
}

/// The choice, in plain names.
pub(super) fn read_choice(
    value: Value,
    path: &JsonPath<'_>,
    table: &ClientTools,
) -> Result<ToolChoice, WireError> {
    let map = match value {
        Value::String(word) => return read_choice_word(word, path),
        other => object(other, path)?,
    };
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    match (text("type"), text("name")) {
        (Some("function" | "custom"), Some(name)) => {
            Ok(ToolChoice::Tool(plain_name(&map, name, table)))
        }
        (Some("allowed_tools"), _) => {
            let tools = map.get("tools").and_then(Value::as_array);
            let tools = tools.into_iter().flatten().filter_map(Value::as_object);
            Ok(ToolChoice::Allowed {
                names: tools.flat_map(|tool| allowed_names(tool, table)).collect(),
                required: text("mode") == Some("required"),
            })
        }
        _ => Ok(ToolChoice::Other(map)),
    }
}

fn plain_name(tool: &Map, name: &str, table: &ClientTools) -> String {
    let namespace = tool.get("namespace").and_then(Value::as_str);
    let member = namespace.and_then(|namespace| table.member(namespace, name));
    member.unwrap_or(name).to_owned()
}

/// The plain names of what one entry allows: a tool, a namespace, or a tool that the client
/// runs.
fn allowed_names(tool: &Map, table: &ClientTools) -> Vec<String> {
    let text = |key: &str| tool.get(key).and_then(Value::as_str);
    match (text("type"), text("name")) {
        (Some("namespace"), Some(name)) => table.members_of(name).map(str::to_owned).collect(),
        (_, Some(name)) => vec![plain_name(tool, name, table)],
        (Some(kind), None) => {
            let runner = kind_for_choice(kind).and_then(|runner| table.name_for_kind(runner));
            runner.map(str::to_owned).into_iter().collect()
        }
        (None, None) => Vec::new(),
    }
}

/// The client's own tool that a choice names by its kind.
pub(crate) fn kind_for_choice(kind: &str) -> Option<ClientToolKind> {
    let all = [
        ClientToolKind::LocalShell,
        ClientToolKind::Shell,
        ClientToolKind::ApplyPatch,
        ClientToolKind::ToolSearch,
    ];
    all.into_iter().find(|runner| runner.as_str() == kind)
}

pub(super) fn write_tools(request: &Request, drops: &mut Drops) -> Vec<Value> {
    let own = request.origin == Dialect::Responses;
    let mut out = Vec::with_capacity(request.tools.len());
    let mut groups = NamespaceGroups::default();
    for (i, tool) in request.tools.iter().enumerate() {
        let path = &TOOLS.tool(i, tool);
        let strict = strict_function(request.origin, tool, path, drops);
        let Some(mut map) = write_tool(tool, strict, own) else {
            drops.add(path, "a tool that only its vendor's servers run");
            continue;
        };
        if tool.cache_control.is_some() {
            drops.add(
                path.key("cache_control"),
                "Responses does not support cache marks on tools",
            );
        }
        if own {
            map.extend(tool.rest.clone());
        } else {
            drops.rest(path, &tool.rest);
        }
        if own {
            groups.push(map, &tool.name, &request.client_tools, &mut out)
        } else {
            out.push(Value::Object(map))
        }
    }
    out
}

fn write_tool(tool: &Tool, strict: Option<bool>, own: bool) -> Option<Map> {
    let mut map = Map::new();
    let name = safe_name(&tool.name);
    match &tool.kind {
        ToolKind::Function {
            description,
            input_schema,
            ..
        } => {
            map.insert("type".to_owned(), "function".into());
            map.insert("name".to_owned(), name.into());
            put(&mut map, "description", description.clone());
            let schema = argument_schema(input_schema, own);
            map.insert("parameters".to_owned(), schema);
            // Here, and nowhere else, a function is strict by default. Those of a run are not the
            // client's, and have optional arguments.
            let is_clients = own && tool.client_path.get().is_some();
            let strict = strict.or((!is_clients).then_some(false));
            put(&mut map, "strict", strict);
        }
        ToolKind::Freeform { description } => {
            map.insert("type".to_owned(), "custom".into());
            map.insert("name".to_owned(), name.into());
            put(&mut map, "description", description.clone());
        }
        ToolKind::Server { kind } if own => {
            map.insert("type".to_owned(), kind.as_str().into());
        }
        ToolKind::Server { .. } => return None,
    }
    Some(map)
}

pub(super) fn write_choice(request: &Request) -> Result<Option<Value>, WireError> {
    let named = |name: &str| match request.client_tools.client_run_kind(name) {
        Some(runner) if request.origin == Dialect::Responses => json!({"type": runner.as_str()}),
        _ => {
            let tool = json!({"type": tool_type(request, name), "name": safe_name(name)});
            namespace::restored(tool, &request.client_tools)
        }
    };
    Ok(Some(match &request.tool_choice {
        None => return Ok(None),
        Some(ToolChoice::Auto) => "auto".into(),
        Some(ToolChoice::Any) => "required".into(),
        Some(ToolChoice::None) => "none".into(),
        Some(ToolChoice::Tool(name)) => named(name),
        Some(ToolChoice::Allowed { names, required }) => json!({
            "type": "allowed_tools",
            "mode": if *required { "required" } else { "auto" },
            "tools": names.iter().map(|name| named(name)).collect::<Vec<_>>(),
        }),
        Some(ToolChoice::Other(map)) if request.origin == Dialect::Responses => map.clone().into(),
        Some(ToolChoice::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Responses,
                "tool_choice",
                "Responses cannot force a tool that another vendor's servers run: \
                 name one of your own, or \"auto\"",
            ));
        }
    }))
}
