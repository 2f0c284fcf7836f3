//! A Chat Completions request, read.

use serde_json::Value;

use super::former_functions::read_functions;
use super::message_in::read_messages;
use super::tools::{read_choice, read_tool};
use crate::error::WireError;
use crate::fields::{JsonFields, string, wrong_value};
use crate::json_path::JsonPath;
use crate::neutral::{Request, ResponseFormat};
use crate::{ClientDialect, Dialect, tool_results};

pub(crate) fn read_request(body: Value) -> Result<Request, WireError> {
    let root = JsonPath::Body(ClientDialect::Chat);
    let mut fields = JsonFields::from_value(body, &root)?;
    let mut request = Request::new(Dialect::Chat, fields.string("model")?);
    refuse_choices(&mut fields)?;
    let messages = fields.list("messages")?;
    read_messages(messages, &root.key("messages"), &mut request)?;
    tool_results::check(&request)?;
    let old_limit = fields.opt_u64("max_tokens")?;
    request.max_tokens = fields.opt_u64("max_completion_tokens")?.or(old_limit);
    for (i, tool) in fields
        .opt_list("tools")?
        .unwrap_or_default()
        .into_iter()
        .enumerate()
    {
        request
            .tools
            .push(read_tool(tool, &root.key("tools").index(i))?);
    }
    read_functions(&mut fields, &mut request)?;
    if let Some(choice) = fields.take("tool_choice") {
        request.tool_choice = Some(read_choice(choice, &root.key("tool_choice"))?);
    }
    request.parallel_tool_calls = fields.opt_bool("parallel_tool_calls")?;
    request.stream = fields.opt_bool("stream")?.unwrap_or(false);
    request.stop_sequences = read_stop(fields.take("stop"))?;
    request.temperature = fields.opt_number("temperature")?;
    request.top_p = fields.opt_number("top_p")?;
    request.top_k = fields.opt_u64("top_k")?;
    request.effort = fields.opt_string("reasoning_effort")?;
    if let Some(format) = fields.take("response_format") {
        request.format = read_format(format, &root.key("response_format"))?;
    }
    request.user = fields.opt_string("user")?;
    request.container = fields.take("container");
    request.rest = fields.rest();
    Ok(request)
}

/// No other dialect has several choices.
fn refuse_choices(fields: &mut JsonFields<'_>) -> Result<(), WireError> {
    match fields.opt_u64("n")? {
        None | Some(1) => Ok(()),
        Some(_) => Err(WireError::unsupported(
            Dialect::Chat,
            "n",
            "only one choice is supported: omit n or set it to 1",
        )),
    }
}

fn read_stop(value: Option<Value>) -> Result<Vec<String>, WireError> {
    let path = JsonPath::Root.key("stop");
    match value {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text]),
        Some(Value::Array(items)) => items
            .into_iter()
            .enumerate()
            .map(|(i, item)| string(item, &path.index(i)))
            .collect(),
        Some(other) => Err(wrong_value(&path, "a string or a list of strings", &other)),
    }
}

fn read_format(value: Value, path: &JsonPath<'_>) -> Result<Option<ResponseFormat>, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = fields.string("type")?;
    Ok(match kind.as_str() {
        "text" => None,
        "json_object" => Some(ResponseFormat::JsonObject),
        "json_schema" => {
            let path = &path.key("json_schema");
            let mut inner = JsonFields::from_value(fields.require("json_schema")?, path)?;
            Some(read_schema(&mut inner)?)
        }
        _ => {
            let mut map = fields.rest();
            map.insert("type".to_owned(), kind.into());
            Some(ResponseFormat::Other(map))
        }
    })
}

/// Name, description, schema and strictness, which Responses has one level higher.
pub(crate) fn read_schema(fields: &mut JsonFields<'_>) -> Result<ResponseFormat, WireError> {
    Ok(ResponseFormat::JsonSchema {
        name: fields.opt_string("name")?,
        description: fields.opt_string("description")?,
        strict: fields.opt_bool("strict")?,
        schema: fields
            .take("schema")
            .unwrap_or_else(|| Value::Object(Default::default())),
    })
}
