//! Anthropic's content blocks, read.

use serde_json::Value;

use crate::error::WireError;
use crate::fields::{JsonFields, list, wrong_value};
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, MediaSource};

/// Content that is a string or a list of blocks.
pub(crate) fn read_content(value: Value, path: &JsonPath<'_>) -> Result<Vec<Block>, WireError> {
    match value {
        Value::String(text) => Ok(vec![Block::text(text).with_path(path)]),
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(i, item)| read_block(item, &path.index(i)))
            .collect(),
        other => Err(wrong_value(path, "a string or a list of blocks", &other)),
    }
}

/// One block; a type no codec understands is retained as it is.
pub(crate) fn read_block(value: Value, path: &JsonPath<'_>) -> Result<Block, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = fields.string("type")?;
    let cache_control = fields.take("cache_control");
    let content = match kind.as_str() {
        // The form in which our responses carry generated images.
        "text" if fields.peek("source").is_some_and(is_media) => {
            fields.take("text");
            read_media(fields.require("source")?, &path.key("source"))?
        }
        "text" => Content::Text(fields.string("text")?),
        "image" => Content::Image(read_source(fields.require("source")?, &path.key("source"))?),
        "document" => Content::Document {
            source: read_source(fields.require("source")?, &path.key("source"))?,
            title: fields.opt_string("title")?,
        },
        "tool_use" => Content::ToolUse {
            id: fields.string("id")?,
            name: fields.string("name")?,
            input: fields.require("input")?,
        },
        "tool_result" => read_tool_result(&mut fields)?,
        "thinking" => Content::Thinking {
            thinking: fields.string("thinking")?,
            signature: fields.opt_string("signature")?.unwrap_or_default(),
        },
        "redacted_thinking" => Content::RedactedThinking {
            data: fields.string("data")?,
        },
        "server_tool_use" => Content::ServerToolUse {
            id: fields.string("id")?,
            name: fields.string("name")?,
            input: fields.require("input")?,
        },
        kind if kind.ends_with("_tool_result") => Content::ServerToolResult {
            kind: kind.to_owned(),
            tool_use_id: fields.string("tool_use_id")?,
            content: fields.take("content").unwrap_or(Value::Null),
        },
        _ => Content::Other { kind },
    };
    Ok(Block {
        content,
        cache_control,
        rest: fields.rest(),
        client_path: path.client_path(),
    })
}

fn is_media(source: &Value) -> bool {
    let kind = source.get("type").and_then(Value::as_str);
    matches!(kind, Some("base64" | "url"))
}

/// An image, or a file of another kind.
fn read_media(source: Value, path: &JsonPath<'_>) -> Result<Content, WireError> {
    let media_type = source.get("media_type").and_then(Value::as_str);
    let picture = media_type.is_none_or(|kind| kind.starts_with("image/"));
    let source = read_source(source, path)?;
    Ok(if picture {
        Content::Image(source)
    } else {
        Content::Document {
            source,
            title: None,
        }
    })
}

fn read_tool_result(fields: &mut JsonFields<'_>) -> Result<Content, WireError> {
    let path = fields.path();
    let content = match fields.take("content") {
        None => Vec::new(),
        Some(value) => read_content(value, &path.key("content"))?,
    };
    Ok(Content::ToolResult {
        tool_use_id: fields.string("tool_use_id")?,
        content,
        is_error: fields.opt_bool("is_error")?.unwrap_or(false),
    })
}

fn read_source(value: Value, path: &JsonPath<'_>) -> Result<MediaSource, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = fields.string("type")?;
    Ok(match kind.as_str() {
        "base64" => MediaSource::Base64 {
            media_type: fields.string("media_type")?,
            data: fields.string("data")?,
        },
        "text" => MediaSource::Text {
            media_type: fields.string("media_type")?,
            data: fields.string("data")?,
        },
        "url" => MediaSource::Url(fields.string("url")?),
        "file" => MediaSource::File(fields.string("file_id")?),
        "content" => MediaSource::Blocks(match fields.require("content")? {
            Value::String(text) => vec![Block::text(text).with_path(&path.key("content"))],
            items => list(items, &path.key("content"))?
                .into_iter()
                .enumerate()
                .map(|(i, item)| read_block(item, &path.key("content").index(i)))
                .collect::<Result<_, _>>()?,
        }),
        _ => {
            let mut map = fields.rest();
            map.insert("type".to_owned(), kind.into());
            MediaSource::Other(map)
        }
    })
}
