//! Parts of a chat message, read.

use serde_json::Value;

use super::content_in::{REASONING, reasoning_texts, thought_texts};
use crate::error::WireError;
use crate::fields::{JsonFields, wrong_value};
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, MediaSource};
use crate::openai::read_breakpoint;
use crate::plain_text::{document_source, image_source};

/// Content that is a string or a list of parts.
pub(super) fn read_parts(value: Value, path: &JsonPath<'_>) -> Result<Vec<Block>, WireError> {
    match value {
        Value::String(text) => Ok(vec![Block::text(text).with_path(path)]),
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(i, item)| read_part(item, &path.index(i)))
            .collect(),
        other => Err(wrong_value(path, "a string or a list of parts", &other)),
    }
}

fn read_part(value: Value, path: &JsonPath<'_>) -> Result<Block, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = fields.string("type")?;
    let breakpoint = fields.take("prompt_cache_breakpoint");
    let client_path = path.client_path().with_breakpoint(breakpoint.is_some());
    let cache_control = breakpoint
        .map(|mark| read_breakpoint(&mark))
        // Clients used to gateways put Anthropic's own mark here.
        .or_else(|| fields.take("cache_control"));
    let content = match kind.as_str() {
        "text" => Content::Text(fields.string("text")?),
        "refusal" => Content::Text(fields.string("refusal")?),
        // Mistral's thoughts, which its clients send back unchanged.
        "thinking" => read_thinking(&mut fields)?,
        REASONING => read_reasoning(&mut fields),
        "image_url" => read_image(&mut fields)?,
        "file" => read_file(&mut fields)?,
        // Mistral's documents.
        "document_url" => read_document(&mut fields)?,
        _ => Content::Other { kind },
    };
    Ok(Block {
        content,
        cache_control,
        rest: fields.rest(),
        client_path,
    })
}

/// A thought. Mistral sends it as a list, with a signature that only Mistral can read.
fn read_thinking(fields: &mut JsonFields<'_>) -> Result<Content, WireError> {
    let thinking = fields.require("thinking")?;
    let signature = fields.opt_string("signature")?;
    fields.take("closed");
    Ok(Content::Thinking {
        thinking: thought_texts(&thinking).concat(),
        signature: signature
            .filter(|_| thinking.is_string())
            .unwrap_or_default(),
    })
}

/// A thought by Databricks, with signatures that only its models can read.
fn read_reasoning(fields: &mut JsonFields<'_>) -> Content {
    let (summary, text) = (fields.take("summary"), fields.take("text"));
    Content::Thinking {
        thinking: reasoning_texts(summary.as_ref(), text.as_ref()).concat(),
        signature: String::new(),
    }
}

fn read_image(fields: &mut JsonFields<'_>) -> Result<Content, WireError> {
    Ok(Content::Image(image_source(read_url(fields, "image_url")?)))
}

fn read_document(fields: &mut JsonFields<'_>) -> Result<Content, WireError> {
    let url = read_url(fields, "document_url")?;
    let title = fields.opt_string("document_name")?;
    let source = document_source(url, title.as_deref());
    Ok(Content::Document { source, title })
}

/// An address, or an object with one.
fn read_url(fields: &mut JsonFields<'_>, key: &str) -> Result<String, WireError> {
    let path = &fields.path().key(key);
    Ok(match fields.require(key)? {
        Value::String(url) => url,
        object => {
            let mut inner = JsonFields::from_value(object, path)?;
            let url = inner.string("url")?;
            fields.keep(key, inner);
            url
        }
    })
}

fn read_file(fields: &mut JsonFields<'_>) -> Result<Content, WireError> {
    let path = &fields.path().key("file");
    let mut file = JsonFields::from_value(fields.require("file")?, path)?;
    let title = file.opt_string("filename")?;
    let source = match (file.opt_string("file_data")?, file.opt_string("file_id")?) {
        (Some(data), _) => document_source(data, title.as_deref()),
        (None, Some(id)) => MediaSource::File(id),
        (None, None) => {
            return Err(WireError::Missing {
                field: path.key("file_data").to_string(),
            });
        }
    };
    fields.keep("file", file);
    Ok(Content::Document { source, title })
}
