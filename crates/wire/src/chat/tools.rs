//! Chat's tools and tool choice, both ways.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::Dialect;
use crate::anthropic::freeform_schema;
use crate::argument_schemas::{argument_schema, no_parameters};
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::{JsonFields, object, put, wrong_value};
use crate::json_path::{JsonPath, TOOLS};
use crate::neutral::{Map, Request, Tool, ToolChoice, ToolKind};
use crate::openai::strict_function;
use crate::tool_names::safe_name;

pub(super) fn read_tool(value: Value, path: &JsonPath<'_>) -> Result<Tool, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    // Mistral's SDK leaves the type out: a function is the only kind it has.
    let kind = match fields.opt_string("type")? {
        None if fields.peek("function").is_some() => "function".to_owned(),
        None => {
            return Err(WireError::Missing {
                field: path.key("type").to_string(),
            });
        }
        Some(kind) => kind,
    };
    let cache_control = fields.take("cache_control");
    let (name, kind) = match kind.as_str() {
        "function" => read_function(&mut fields)?,
        "custom" => read_custom(&mut fields)?,
        _ => (String::new(), ToolKind::Server { kind }),
    };
    Ok(Tool {
        name,
        kind,
        cache_control,
        rest: fields.rest(),
        client_path: path.client_path(),
    })
}

fn read_function(fields: &mut JsonFields<'_>) -> Result<(String, ToolKind), WireError> {
    let path = &fields.path().key("function");
    let mut inner = JsonFields::from_value(fields.require("function")?, path)?;
    let name = inner.string("name")?;
    let kind = ToolKind::Function {
        description: inner.opt_string("description")?,
        input_schema: inner.take("parameters").unwrap_or_else(no_parameters),
        strict: inner.opt_bool("strict")?,
    };
    fields.keep("function", inner);
    Ok((name, kind))
}

fn read_custom(fields: &mut JsonFields<'_>) -> Result<(String, ToolKind), WireError> {
    let path = &fields.path().key("custom");
    let mut inner = JsonFields::from_value(fields.require("custom")?, path)?;
    let name = inner.string("name")?;
    let description = inner.opt_string("description")?;
    fields.keep("custom", inner);
    Ok((name, ToolKind::Freeform { description }))
}

pub(super) fn read_choice(value: Value, path: &JsonPath<'_>) -> Result<ToolChoice, WireError> {
    let map = match value {
        Value::String(word) => return read_word(word, path),
        other => object(other, path)?,
    };
    let kind = map.get("type").and_then(Value::as_str);
    let kind = kind.unwrap_or("function");
    let name = map
        .get(kind)
        .and_then(|inner| inner.get("name"))
        .and_then(Value::as_str);
    match (kind, name) {
        ("function" | "custom", Some(name)) => Ok(ToolChoice::Tool(name.to_owned())),
        ("allowed_tools", _) => read_allowed(map.get("allowed_tools"), path),
        _ => Ok(ToolChoice::Other(map)),
    }
}

pub(crate) fn read_word(word: String, path: &JsonPath<'_>) -> Result<ToolChoice, WireError> {
    match word.as_str() {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        // Also used by Mistral and Anthropic.
        "required" | "any" => Ok(ToolChoice::Any),
        _ => {
            let expected = "\"auto\", \"none\", \"required\" or an object";
            Err(wrong_value(path, expected, &Value::String(word)))
        }
    }
}

fn read_allowed(allowed: Option<&Value>, path: &JsonPath<'_>) -> Result<ToolChoice, WireError> {
    let allowed = allowed.ok_or_else(|| WireError::Missing {
        field: path.key("allowed_tools").to_string(),
    })?;
    let tools = allowed.get("tools").and_then(Value::as_array);
    let names = tools.into_iter().flatten().filter_map(|tool| {
        let kind = tool.get("type")?.as_str()?;
        Some(tool.get(kind)?.get("name")?.as_str()?.to_owned())
    });
    Ok(ToolChoice::Allowed {
        names: names.collect(),
        required: allowed.get("mode").and_then(Value::as_str) == Some("required"),
    })
}

/// The request for a server without free-form tools. Its own clients get its error.
pub(super) fn with_supported_tools<'r>(
    request: &'r Request,
    options: &WriteOptions,
) -> Cow<'r, Request> {
    let is_freeform = |tool: &Tool| matches!(tool.kind, ToolKind::Freeform { .. });
    let own = request.origin == Dialect::Chat;
    if own || options.custom_tools || !request.tools.iter().any(is_freeform) {
        return Cow::Borrowed(request);
    }
    let mut request = request.clone();
    for tool in &mut request.tools {
        if let ToolKind::Freeform { description } = &mut tool.kind {
            tool.kind = ToolKind::Function {
                description: description.take(),
                input_schema: freeform_schema(),
                strict: None,
            };
        }
    }
    Cow::Owned(request)
}

/// Why a function is not strict where the client demands it.
const PARTLY_STRICT: &str = "the server accepts strict functions only if all are, and some are not";

pub(super) fn write_tools(
    request: &Request,
    options: &WriteOptions,
    drops: &mut Drops,
) -> Vec<Value> {
    let own = request.origin == Dialect::Chat;
    let drops_strict = options.uniform_strict && is_partly_strict(request);
    let mut out = Vec::with_capacity(request.tools.len());
    for (i, tool) in request.tools.iter().enumerate() {
        let path = &TOOLS.tool(i, tool);
        if !own && request.hides_tool(&tool.name) {
            continue;
        }
        let mut strict = strict_function(request.origin, tool, path, drops);
        if drops_strict && strict.take() == Some(true) {
            drops.add(path.key("strict"), PARTLY_STRICT);
        }
        let Some(mut map) = write_tool(tool, strict, own) else {
            drops.add(path, "a tool that only its vendor's servers run");
            continue;
        };
        if tool.cache_control.is_some() {
            drops.add(
                path.key("cache_control"),
                "Chat Completions does not support cache marks on tools",
            );
        }
        if own {
            merge(&mut map, &tool.rest);
        } else {
            drops.rest(path, &tool.rest);
        }
        out.push(Value::Object(map));
    }
    out
}

/// Whether some functions would be strict and others not, such as a client's beside those of a
/// run.
fn is_partly_strict(request: &Request) -> bool {
    // What is dropped is reported when the tools are written.
    let mut unused = Drops::default();
    let offered = request.tools.iter().filter(|tool| {
        let is_hidden = request.origin != Dialect::Chat && request.hides_tool(&tool.name);
        matches!(tool.kind, ToolKind::Function { .. }) && !is_hidden
    });
    let mut is_strict = offered
        .map(|tool| strict_function(request.origin, tool, &TOOLS, &mut unused) == Some(true));
    match is_strict.next() {
        Some(first) => is_strict.any(|other| other != first),
        None => false,
    }
}

/// Unknown fields go back into their original inner object.
pub(super) fn merge(map: &mut Map, rest: &Map) {
    for (key, value) in rest {
        match (map.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
            _ => {
                map.insert(key.clone(), value.clone());
            }
        }
    }
}

fn write_tool(tool: &Tool, strict: Option<bool>, own: bool) -> Option<Map> {
    let mut inner = Map::from_iter([("name".to_owned(), safe_name(&tool.name).into())]);
    let kind = match &tool.kind {
        ToolKind::Function {
            description,
            input_schema,
            ..
        } => {
            put(&mut inner, "description", description.clone());
            let schema = argument_schema(input_schema, own);
            inner.insert("parameters".to_owned(), schema);
            put(&mut inner, "strict", strict);
            "function"
        }
        ToolKind::Freeform { description } => {
            put(&mut inner, "description", description.clone());
            "custom"
        }
        ToolKind::Server { kind } if own => {
            return Some(Map::from_iter([("type".to_owned(), kind.as_str().into())]));
        }
        ToolKind::Server { .. } => return None,
    };
    Some(Map::from_iter([
        ("type".to_owned(), kind.into()),
        (kind.to_owned(), inner.into()),
    ]))
}

pub(super) fn write_choice(request: &Request) -> Result<Option<Value>, WireError> {
    let named = |name: &str| {
        let kind = tool_type(request, name);
        json!({"type": kind, kind: {"name": safe_name(name)}})
    };
    let translated = request.origin != Dialect::Chat;
    Ok(Some(match &request.tool_choice {
        None => return Ok(None),
        Some(ToolChoice::Auto) => "auto".into(),
        Some(ToolChoice::Any) => "required".into(),
        Some(ToolChoice::None) => "none".into(),
        Some(ToolChoice::Tool(name)) => named(name),
        // Few compatible servers can restrict the choice.
        Some(ToolChoice::Allowed { required: true, .. }) if translated => "required".into(),
        Some(ToolChoice::Allowed { .. }) if translated => "auto".into(),
        Some(ToolChoice::Allowed { names, required }) => json!({
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": if *required { "required" } else { "auto" },
                "tools": names.iter().map(|name| named(name)).collect::<Vec<_>>(),
            },
        }),
        Some(ToolChoice::Other(map)) if request.origin == Dialect::Chat => map.clone().into(),
        Some(ToolChoice::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Chat,
                "tool_choice",
                "Chat Completions cannot force a tool that another vendor's servers run: \
                 name one of your own, or \"auto\"",
            ));
        }
    }))
}

/// Whether a tool is a function or accepts free text.
pub(crate) fn tool_type(request: &Request, name: &str) -> &'static str {
    let tool = request.tools.iter().find(|tool| tool.name == name);
    match tool.map(|tool| &tool.kind) {
        Some(ToolKind::Freeform { .. }) => "custom",
        _ => "function",
    }
}
