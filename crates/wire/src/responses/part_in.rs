//! Parts of Responses items, read.

use serde_json::Value;

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
    let cache_control = fields
        .take("prompt_cache_breakpoint")
        .map(|mark| read_breakpoint(&mark));
    let content = match kind.as_str() {
        "input_text" | "text" => Content::Text(fields.string("text")?),
        "output_text" => {
            drop_empty(&mut fields, &["annotations", "logprobs"]);
            Content::Text(fields.string("text")?)
        }
        "refusal" => Content::Text(fields.string("refusal")?),
        "input_image" => Content::Image(read_image(&mut fields)?),
        "input_file" => read_file(&mut fields)?,
        _ => Content::Other { kind },
    };
    Ok(Block {
        content,
        cache_control,
        rest: fields.rest(),
        client_path: path.client_path(),
    })
}

/// Drops empty lists, which every response carries.
fn drop_empty(fields: &mut JsonFields<'_>, keys: &[&str]) {
    for key in keys {
        if fields
            .peek(key)
            .and_then(Value::as_array)
            .is_some_and(Vec::is_empty)
        {
            fields.take(key);
        }
    }
}

fn read_image(fields: &mut JsonFields<'_>) -> Result<MediaSource, WireError> {
    match (
        fields.opt_string("image_url")?,
        fields.opt_string("file_id")?,
    ) {
        (Some(url), _) => Ok(image_source(url)),
        (None, Some(id)) => Ok(MediaSource::File(id)),
        (None, None) => Err(missing(fields, "image_url")),
    }
}

fn read_file(fields: &mut JsonFields<'_>) -> Result<Content, WireError> {
    let title = fields.opt_string("filename")?;
    let data = fields.opt_string("file_data")?;
    let url = fields.opt_string("file_url")?;
    let id = fields.opt_string("file_id")?;
    let source = match (data, url, id) {
        (Some(data), _, _) => document_source(data, title.as_deref()),
        (None, Some(url), _) => MediaSource::Url(url),
        (None, None, Some(id)) => MediaSource::File(id),
        (None, None, None) => return Err(missing(fields, "file_data")),
    };
    Ok(Content::Document { source, title })
}

fn missing(fields: &JsonFields<'_>, key: &str) -> WireError {
    WireError::Missing {
        field: fields.path().key(key).to_string(),
    }
}
