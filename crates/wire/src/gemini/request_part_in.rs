//! One part of a Gemini content, read.

use serde_json::{Value, json};

use super::code_execution;
use super::fields_in::{fields, items};
use super::signature::{decode_base64, to_standard_base64};
use crate::error::WireError;
use crate::fields::{JsonFields, wrong_value};
use crate::json_path::JsonPath;
use crate::media_types::media_type_for_name;
use crate::neutral::{Block, Content, Map, MediaSource};

/// A part: its content, and its other fields.
pub(super) struct RequestPart {
    pub(super) signature: Option<String>,
    pub(super) content: RequestPartContent,
    pub(super) rest: Map,
}

/// What a part holds.
pub(super) enum RequestPartContent {
    Text(String),
    Thought(String),
    Call {
        id: Option<String>,
        name: String,
        args: Value,
    },
    Result {
        id: Option<String>,
        name: String,
        content: Vec<Block>,
        is_error: bool,
    },
    /// Code that a server ran, and its result.
    Code(Value),
    Outcome(Value),
    Block(Block),
}

pub(super) fn read_request_part(
    part: Value,
    path: &JsonPath<'_>,
) -> Result<RequestPart, WireError> {
    let mut part = fields(part, path)?;
    let signature = part.opt_string("thoughtSignature")?;
    let thought = part.opt_bool("thought")?.unwrap_or(false);
    let piece = if let Some(text) = part.opt_string("text")? {
        if thought {
            RequestPartContent::Thought(text)
        } else {
            RequestPartContent::Text(text)
        }
    } else if let Some(call) = part.take("functionCall") {
        read_call(call, &path.key("functionCall"), &mut part)?
    } else if let Some(result) = part.take("functionResponse") {
        read_result(result, &path.key("functionResponse"), &mut part)?
    } else if let Some(data) = part.take("inlineData") {
        RequestPartContent::Block(read_bytes(data, &path.key("inlineData"))?)
    } else if part.peek("fileData").is_some_and(is_stored) {
        // Only Google's models can read it.
        let rest = part.rest();
        let kind = "fileData".to_owned();
        return Ok(RequestPart {
            signature,
            content: RequestPartContent::Block(Block::new(Content::Other { kind })),
            rest,
        });
    } else if let Some(file) = part.take("fileData") {
        RequestPartContent::Block(read_file(file, &path.key("fileData"))?)
    } else if let Some(code) = part.take("executableCode") {
        RequestPartContent::Code(code)
    } else if let Some(outcome) = part.take("codeExecutionResult") {
        RequestPartContent::Outcome(outcome)
    } else {
        return Ok(RequestPart {
            signature,
            content: unknown(part.rest()),
            rest: Map::new(),
        });
    };
    Ok(RequestPart {
        signature,
        content: piece,
        rest: part.rest(),
    })
}

/// A part specific to Google's servers, such as `toolCall`, retained as it is.
fn unknown(rest: Map) -> RequestPartContent {
    match rest.keys().next().cloned() {
        Some(kind) => RequestPartContent::Block(Block {
            rest,
            ..Block::new(Content::Other { kind })
        }),
        None => RequestPartContent::Text(String::new()),
    }
}

fn read_call(
    value: Value,
    path: &JsonPath<'_>,
    part: &mut JsonFields<'_>,
) -> Result<RequestPartContent, WireError> {
    let mut call = fields(value, path)?;
    let name = call.string("name")?;
    let id = read_id(&mut call, &name)?;
    let args = call.take("args").unwrap_or_else(|| json!({}));
    keep(part, "functionCall", call.rest());
    Ok(RequestPartContent::Call { id, name, args })
}

/// The id of a call. Gemini CLI writes the tool's name before it.
fn read_id(call: &mut JsonFields<'_>, name: &str) -> Result<Option<String>, WireError> {
    let id = call.opt_string("id")?.filter(|id| !id.is_empty());
    Ok(id.map(|id| {
        let named = id
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix("__"));
        named.map(str::to_owned).unwrap_or(id)
    }))
}

fn read_result(
    value: Value,
    path: &JsonPath<'_>,
    part: &mut JsonFields<'_>,
) -> Result<RequestPartContent, WireError> {
    let mut result = fields(value, path)?;
    let name = result.opt_string("name")?.unwrap_or_default();
    let id = read_id(&mut result, &name)?;
    let (text, is_error) = outcome(result.take("response"));
    let mut content = vec![Block::text(text).with_path(&path.key("response"))];
    let parts = result.take("parts").map(items).unwrap_or_default();
    let parts_path = path.key("parts");
    for (i, part) in parts.into_iter().enumerate() {
        let path = &parts_path.index(i);
        let read = read_request_part(part, path)?;
        match read.content {
            RequestPartContent::Block(mut block) => {
                block.rest.extend(read.rest);
                content.push(block.with_path(path));
            }
            RequestPartContent::Text(text) | RequestPartContent::Thought(text) => {
                content.push(Block::text(text).with_path(path))
            }
            _ => {
                return Err(wrong_value(
                    path,
                    "text or a file",
                    &"a call or its result".into(),
                ));
            }
        }
    }
    keep(part, "functionResponse", result.rest());
    Ok(RequestPartContent::Result {
        id,
        name,
        content,
        is_error,
    })
}

/// The text of a result, and whether it is an error: Google's servers accept `output` or
/// `error`, and its SDKs write `result`; otherwise it is the whole object.
fn outcome(response: Option<Value>) -> (String, bool) {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match &response {
        None => (String::new(), false),
        Some(Value::Object(map)) if map.len() == 1 => {
            let output = map.get("output").or_else(|| map.get("result"));
            match (output, map.get("error")) {
                (Some(output), _) => (text(output), false),
                (_, Some(error)) => (text(error), true),
                _ => (Value::from(map.clone()).to_string(), false),
            }
        }
        Some(other) => (text(other), false),
    }
}

/// Unread fields of an object inside a part are retained in an object of its name.
fn keep(part: &mut JsonFields<'_>, key: &str, rest: Map) {
    if !rest.is_empty() {
        part.put(key, rest.into());
    }
}

fn read_bytes(value: Value, path: &JsonPath<'_>) -> Result<Block, WireError> {
    let mut blob = fields(value, path)?;
    let media_type = blob.opt_string("mimeType")?.unwrap_or_default();
    let data = blob.string("data")?;
    let plain = media_type
        .starts_with("text/")
        .then(|| decode_base64(&data));
    let plain = plain
        .flatten()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let image = media_type.starts_with("image/");
    let source = match plain {
        Some(data) => MediaSource::Text { media_type, data },
        None => MediaSource::Base64 {
            media_type,
            data: to_standard_base64(data),
        },
    };
    media(source, image, blob)
}

fn read_file(value: Value, path: &JsonPath<'_>) -> Result<Block, WireError> {
    let mut file = fields(value, path)?;
    let uri = file.string("fileUri")?;
    let stated = file.opt_string("mimeType")?;
    let by_name = media_type_for_name(&uri);
    let kind = stated.as_deref().or(by_name).unwrap_or_default();
    let image = kind.starts_with("image/");
    // The type follows from the name, or is retained next to it.
    if let Some(stated) = stated.filter(|stated| Some(stated.as_str()) != by_name) {
        file.put("mimeType", stated.into());
    }
    let source = match code_execution::file_id(&uri) {
        Some(id) => MediaSource::File(id.to_owned()),
        None => MediaSource::Url(uri),
    };
    media(source, image, file)
}

/// Whether a file is in a store of Google's, not in this server's.
fn is_stored(file: &Value) -> bool {
    const STORES: [&str; 3] = [
        "https://generativelanguage.googleapis.com/",
        "gs://",
        "files/",
    ];
    let uri = file.get("fileUri").or_else(|| file.get("file_uri"));
    let uri = uri.and_then(Value::as_str).unwrap_or_default();
    STORES.iter().any(|store| uri.starts_with(store)) && code_execution::file_id(uri).is_none()
}

fn media(source: MediaSource, image: bool, mut fields: JsonFields<'_>) -> Result<Block, WireError> {
    let content = if image {
        Content::Image(source)
    } else {
        Content::Document {
            source,
            title: fields.opt_string("displayName")?,
        }
    };
    Ok(Block {
        rest: fields.rest(),
        ..Block::new(content)
    })
}
