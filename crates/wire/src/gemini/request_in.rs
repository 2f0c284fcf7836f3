//! Reads a generateContent request. The model and the stream flag are part of the path;
//! the code that has the path sets both.

use serde_json::Value;

use super::contents_in::{read_contents, read_system};
use super::fields_in::{fields, items};
use super::settings_in::read_settings;
use super::tools_in::{read_choice, read_tools};
use crate::error::WireError;
use crate::fields::JsonFields;
use crate::json_path::JsonPath;
use crate::neutral::Request;
use crate::{ClientDialect, Dialect};

pub(crate) fn read_request(body: Value) -> Result<Request, WireError> {
    let root = JsonPath::Body(ClientDialect::Gemini);
    let mut body = fields(body, &root)?;
    // In a request to count tokens, the request to be counted may be nested.
    match body.take("generateContentRequest") {
        Some(inner) => read_fields(fields(inner, &root.key("generateContentRequest"))?),
        None => read_fields(body),
    }
}

fn read_fields(mut body: JsonFields<'_>) -> Result<Request, WireError> {
    let path = body.path();
    let model = body.opt_string("model")?.unwrap_or_default();
    let model = model.strip_prefix("models/").unwrap_or(&model);
    let mut request = Request::new(Dialect::Gemini, model);
    if let Some(system) = body.take("systemInstruction") {
        request.system = read_system(system, &path.key("systemInstruction"))?;
    }
    let contents = items(body.require("contents")?);
    read_contents(contents, &path.key("contents"), &mut request)?;
    if let Some(tools) = body.take("tools") {
        read_tools(tools, &path.key("tools"), &mut request)?;
    }
    request.container = body.take("container");
    let mut unread = Vec::new();
    if let Some(config) = body.take("toolConfig") {
        let rest = read_choice(config, &path.key("toolConfig"), &mut request)?;
        unread.push(("toolConfig", rest));
    }
    if let Some(config) = body.take("generationConfig") {
        let rest = read_settings(config, &path.key("generationConfig"), &mut request)?;
        unread.push(("generationConfig", rest));
    }
    request.rest = body.rest();
    for (key, rest) in unread {
        if !rest.is_empty() {
            request.rest.insert(key.to_owned(), rest.into());
        }
    }
    Ok(request)
}
