//! A Messages request, read.

use serde_json::Value;

use super::block_in::read_content;
use super::tools::{read_choice, read_tool};
use crate::error::WireError;
use crate::fields::{JsonFields, string, wrong_value};
use crate::json_path::JsonPath;
use crate::neutral::{Message, Request, ResponseFormat, Role, Thinking, ThinkingMode};
use crate::{ClientDialect, Dialect, tool_results};

pub(crate) fn read_request(body: Value) -> Result<Request, WireError> {
    let root = JsonPath::Body(ClientDialect::Messages);
    let mut fields = JsonFields::from_value(body, &root)?;
    let mut request = Request::new(Dialect::Messages, fields.string("model")?);
    request.max_tokens = fields.opt_u64("max_tokens")?;
    if let Some(system) = fields.take("system") {
        request.system = read_content(system, &root.key("system"))?;
    }
    let messages = fields.list("messages")?;
    request.messages = each(messages, &root.key("messages"), read_message)?;
    tool_results::check(&request)?;
    let tools = fields.opt_list("tools")?.unwrap_or_default();
    request.tools = each(tools, &root.key("tools"), read_tool)?;
    if let Some(choice) = fields.take("tool_choice") {
        let (choice, parallel) = read_choice(choice, &root.key("tool_choice"))?;
        request.tool_choice = Some(choice);
        request.parallel_tool_calls = parallel;
    }
    request.stream = fields.opt_bool("stream")?.unwrap_or(false);
    let stops = fields.opt_list("stop_sequences")?.unwrap_or_default();
    request.stop_sequences = each(stops, &root.key("stop_sequences"), string)?;
    request.temperature = fields.opt_number("temperature")?;
    request.top_p = fields.opt_number("top_p")?;
    request.top_k = fields.opt_u64("top_k")?;
    if let Some(thinking) = fields.take("thinking") {
        request.thinking = Some(read_thinking(thinking, &root.key("thinking"))?);
    }
    read_output_config(&mut fields, &mut request)?;
    read_metadata(&mut fields, &mut request)?;
    request.container = fields.take("container");
    request.cache_control = fields.take("cache_control");
    request.rest.extend(fields.rest());
    Ok(request)
}

pub(crate) fn each<T>(
    items: Vec<Value>,
    path: &JsonPath<'_>,
    read: impl Fn(Value, &JsonPath<'_>) -> Result<T, WireError>,
) -> Result<Vec<T>, WireError> {
    items
        .into_iter()
        .enumerate()
        .map(|(i, item)| read(item, &path.index(i)))
        .collect()
}

fn read_message(value: Value, path: &JsonPath<'_>) -> Result<Message, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let role = fields.require("role")?;
    let role = match role.as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => {
            let expected = "\"user\", \"assistant\" or \"system\"";
            return Err(wrong_value(&path.key("role"), expected, &role));
        }
    };
    Ok(Message {
        role,
        content: read_content(fields.require("content")?, &path.key("content"))?,
        rest: fields.rest(),
        client_path: path.client_path(),
    })
}

fn read_thinking(value: Value, path: &JsonPath<'_>) -> Result<Thinking, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = fields.string("type")?;
    let mode = match kind.as_str() {
        "enabled" => ThinkingMode::Enabled {
            budget_tokens: fields
                .opt_u64("budget_tokens")?
                .ok_or_else(|| WireError::Missing {
                    field: path.key("budget_tokens").to_string(),
                })?,
        },
        "adaptive" => ThinkingMode::Adaptive,
        "disabled" => ThinkingMode::Disabled,
        _ => ThinkingMode::Other(kind),
    };
    Ok(Thinking {
        mode,
        rest: fields.rest(),
    })
}

/// `output_config` of today, and the `output_format` of the beta before it.
fn read_output_config(fields: &mut JsonFields<'_>, request: &mut Request) -> Result<(), WireError> {
    let root = JsonPath::Root;
    if let Some(format) = fields.take("output_format") {
        request.format = Some(read_format(format, &root.key("output_format"))?);
    }
    let Some(config) = fields.take("output_config") else {
        return Ok(());
    };
    let path = root.key("output_config");
    let mut config = JsonFields::from_value(config, &path)?;
    request.effort = config.opt_string("effort")?;
    if let Some(format) = config.take("format") {
        request.format = Some(read_format(format, &path.key("format"))?);
    }
    keep(request, "output_config", config);
    Ok(())
}

fn read_format(value: Value, path: &JsonPath<'_>) -> Result<ResponseFormat, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = fields.string("type")?;
    if kind == "json_schema" {
        return Ok(ResponseFormat::JsonSchema {
            schema: fields.require("schema")?,
            name: None,
            description: None,
            strict: None,
        });
    }
    let mut map = fields.rest();
    map.insert("type".to_owned(), kind.into());
    Ok(ResponseFormat::Other(map))
}

fn read_metadata(fields: &mut JsonFields<'_>, request: &mut Request) -> Result<(), WireError> {
    let Some(metadata) = fields.take("metadata") else {
        return Ok(());
    };
    let path = JsonPath::Root.key("metadata");
    let mut metadata = JsonFields::from_value(metadata, &path)?;
    request.user = metadata.opt_string("user_id")?;
    keep(request, "metadata", metadata);
    Ok(())
}

/// Unknown fields of a nested object stay where they were.
fn keep(request: &mut Request, key: &str, fields: JsonFields<'_>) {
    let rest = fields.rest();
    if !rest.is_empty() {
        request.rest.insert(key.to_owned(), Value::Object(rest));
    }
}
