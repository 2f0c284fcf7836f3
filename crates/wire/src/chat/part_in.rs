//! Parts of a chat message, read.

use serde_json::Value;

use crate::error::WireError;
use crate::fields::{Fields, Path, wrong};
use crate::neutral::{Block, Content, Source};
use crate::openai::read_breakpoint;
use crate::plain::{document_source, image_source};

/// Content that is a string or a list of parts.
pub(super) fn read_parts(value: Value, path: &Path<'_>) -> Result<Vec<Block>, WireError> {
    match value {
        Value::String(text) => Ok(vec![Block::text(text)]),
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(i, item)| read_part(item, &path.index(i)))
            .collect(),
        other => Err(wrong(path, "a string or a list of parts", &other)),
    }
}

fn read_part(value: Value, path: &Path<'_>) -> Result<Block, WireError> {
    let mut fields = Fields::of(value, path)?;
    let kind = fields.string("type")?;
    let cache_control = fields
        .take("prompt_cache_breakpoint")
        .map(|mark| read_breakpoint(&mark))
        // Clients used to gateways put Anthropic's own mark here.
        .or_else(|| fields.take("cache_control"));
    let content = match kind.as_str() {
        "text" => Content::Text(fields.string("text")?),
        "refusal" => Content::Text(fields.string("refusal")?),
        "image_url" => read_image(&mut fields)?,
        "file" => read_file(&mut fields)?,
        _ => Content::Other { kind },
    };
    Ok(Block {
        content,
        cache_control,
        rest: fields.rest(),
    })
}

fn read_image(fields: &mut Fields<'_>) -> Result<Content, WireError> {
    let path = &fields.path().key("image_url");
    let url = match fields.need("image_url")? {
        Value::String(url) => url,
        object => {
            let mut inner = Fields::of(object, path)?;
            let url = inner.string("url")?;
            fields.put_all(inner.rest());
            url
        }
    };
    Ok(Content::Image(image_source(url)))
}

fn read_file(fields: &mut Fields<'_>) -> Result<Content, WireError> {
    let path = &fields.path().key("file");
    let mut file = Fields::of(fields.need("file")?, path)?;
    let title = file.opt_string("filename")?;
    let source = match (file.opt_string("file_data")?, file.opt_string("file_id")?) {
        (Some(data), _) => document_source(data),
        (None, Some(id)) => Source::File(id),
        (None, None) => {
            return Err(WireError::Missing {
                field: path.key("file_data").to_string(),
            });
        }
    };
    fields.put_all(file.rest());
    Ok(Content::Document { source, title })
}
