//! Anthropic's content blocks, read.

use serde_json::Value;

use crate::error::WireError;
use crate::fields::{Fields, Path, list, wrong};
use crate::neutral::{Block, Content, Source};

/// Content that is a string or a list of blocks.
pub(crate) fn read_content(value: Value, path: &Path<'_>) -> Result<Vec<Block>, WireError> {
    match value {
        Value::String(text) => Ok(vec![Block::text(text)]),
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(i, item)| read_block(item, &path.index(i)))
            .collect(),
        other => Err(wrong(path, "a string or a list of blocks", &other)),
    }
}

/// One block; a type no road understands is kept whole.
pub(crate) fn read_block(value: Value, path: &Path<'_>) -> Result<Block, WireError> {
    let mut fields = Fields::of(value, path)?;
    let kind = fields.string("type")?;
    let cache_control = fields.take("cache_control");
    let content = match kind.as_str() {
        "text" => Content::Text(fields.string("text")?),
        "image" => Content::Image(read_source(fields.need("source")?, &path.key("source"))?),
        "document" => Content::Document {
            source: read_source(fields.need("source")?, &path.key("source"))?,
            title: fields.opt_string("title")?,
        },
        "tool_use" => Content::ToolUse {
            id: fields.string("id")?,
            name: fields.string("name")?,
            input: fields.need("input")?,
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
            input: fields.need("input")?,
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
    })
}

fn read_tool_result(fields: &mut Fields<'_>) -> Result<Content, WireError> {
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

fn read_source(value: Value, path: &Path<'_>) -> Result<Source, WireError> {
    let mut fields = Fields::of(value, path)?;
    let kind = fields.string("type")?;
    Ok(match kind.as_str() {
        "base64" => Source::Base64 {
            media_type: fields.string("media_type")?,
            data: fields.string("data")?,
        },
        "text" => Source::Text {
            media_type: fields.string("media_type")?,
            data: fields.string("data")?,
        },
        "url" => Source::Url(fields.string("url")?),
        "file" => Source::File(fields.string("file_id")?),
        "content" => Source::Blocks(match fields.need("content")? {
            Value::String(text) => vec![Block::text(text)],
            items => list(items, &path.key("content"))?
                .into_iter()
                .enumerate()
                .map(|(i, item)| read_block(item, &path.key("content").index(i)))
                .collect::<Result<_, _>>()?,
        }),
        _ => {
            let mut map = fields.rest();
            map.insert("type".to_owned(), kind.into());
            Source::Other(map)
        }
    })
}
