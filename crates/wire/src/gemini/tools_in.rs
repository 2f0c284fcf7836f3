//! Gemini's tools and calling modes, read.

use serde_json::Value;

use super::fields_in::{fields, items};
use super::schema_in::json_schema;
use crate::argument_schemas::no_parameters;
use crate::dropped::Dropped;
use crate::error::WireError;
use crate::fields::{object, string, wrong_value};
use crate::json_path::JsonPath;
use crate::neutral::{Map, Request, Tool, ToolChoice, ToolKind};

/// A tool of Gemini's is a list of functions, or one that Google's servers run, or both.
pub(super) fn read_tools(
    value: Value,
    path: &JsonPath<'_>,
    request: &mut Request,
) -> Result<(), WireError> {
    for (i, tool) in items(value).into_iter().enumerate() {
        let path = &path.index(i);
        let mut tool = fields(tool, path)?;
        if let Some(functions) = tool.take("functionDeclarations") {
            let path = path.key("functionDeclarations");
            for (f, function) in items(functions).into_iter().enumerate() {
                request.tools.push(read_function(function, &path.index(f))?);
            }
        }
        for (kind, options) in tool.rest() {
            if options.is_null() {
                continue;
            }
            let rest = object(options, &path.key(&kind))?;
            request.tools.push(Tool {
                name: String::new(),
                client_path: path.key(&kind).client_path(),
                kind: ToolKind::Server { kind },
                cache_control: None,
                rest,
            });
        }
    }
    Ok(())
}

fn read_function(value: Value, path: &JsonPath<'_>) -> Result<Tool, WireError> {
    let mut function = fields(value, path)?;
    let own = function.take("parameters").map(json_schema);
    let kind = ToolKind::Function {
        description: function.opt_string("description")?,
        input_schema: function
            .take("parametersJsonSchema")
            .or(own)
            .unwrap_or_else(no_parameters),
        strict: None,
    };
    Ok(Tool {
        name: function.string("name")?,
        kind,
        cache_control: None,
        client_path: path.client_path(),
        rest: function.rest(),
    })
}

/// The setting by which the arguments of a call come in parts.
const STREAMED_ARGUMENTS: &str = "streamFunctionCallArguments";

/// Reads the calling mode; returns what no other dialect has.
pub(super) fn read_choice(
    value: Value,
    path: &JsonPath<'_>,
    request: &mut Request,
) -> Result<Map, WireError> {
    let mut config = fields(value, path)?;
    let Some(calling) = config.take("functionCallingConfig") else {
        return Ok(config.rest());
    };
    let path = &path.key("functionCallingConfig");
    let mut calling = fields(calling, path)?;
    let mode = calling.opt_string("mode")?.unwrap_or_default();
    let values = calling.take("allowedFunctionNames").map(items);
    let values = values.unwrap_or_default().into_iter().enumerate();
    let at = path.key("allowedFunctionNames");
    let names = values.map(|(i, name)| string(name, &at.index(i)));
    let names: Vec<String> = names.collect::<Result<_, _>>()?;
    request.tool_choice = choice(&mode, names, path)?;
    // A stream of parts has a form of its own. Without the setting, calls are whole there too.
    if calling.take(STREAMED_ARGUMENTS) == Some(Value::Bool(true)) {
        request.dropped.push(Dropped {
            field: path.key(STREAMED_ARGUMENTS).to_string(),
            why: "calls come whole",
        });
    }
    let mut rest = config.rest();
    let unread = calling.rest();
    if !unread.is_empty() {
        rest.insert("functionCallingConfig".to_owned(), unread.into());
    }
    Ok(rest)
}

fn choice(
    mode: &str,
    mut names: Vec<String>,
    path: &JsonPath<'_>,
) -> Result<Option<ToolChoice>, WireError> {
    let allowed = |names, required| Some(ToolChoice::Allowed { names, required });
    Ok(match (mode.to_ascii_uppercase().as_str(), names.len()) {
        ("" | "MODE_UNSPECIFIED", 0) => None,
        ("AUTO" | "VALIDATED", 0) => Some(ToolChoice::Auto),
        ("" | "MODE_UNSPECIFIED" | "AUTO" | "VALIDATED", _) => allowed(names, false),
        ("ANY", 0) => Some(ToolChoice::Any),
        ("ANY", 1) => names.pop().map(ToolChoice::Tool),
        ("ANY", _) => allowed(names, true),
        ("NONE", _) => Some(ToolChoice::None),
        _ => {
            let expected = "\"AUTO\", \"ANY\", \"NONE\" or \"VALIDATED\"";
            return Err(wrong_value(&path.key("mode"), expected, &mode.into()));
        }
    })
}
