//! Blocks as plain text, where a dialect accepts nothing else.

use crate::drops::Drops;
use crate::json_path::{JsonPath, SYSTEM};
use crate::media_types::{PDF, image_type, media_type_for_name};
use crate::model_text::{document_text, error};
use crate::neutral::{Block, Content, MediaSource};

/// The text of a tool's result, and what of it is not text.
pub(crate) struct ToolText<'a> {
    pub(crate) text: String,
    pub(crate) media: Vec<(usize, &'a Block)>,
}

/// Splits a tool's result into text and the rest. A failure is part of the text where
/// the dialect has no other field for it.
pub(crate) fn tool_text(content: &[Block], mark_error: bool) -> ToolText<'_> {
    let mut lines: Vec<String> = Vec::new();
    let mut media = Vec::new();
    for (i, block) in content.iter().enumerate() {
        match &block.content {
            Content::Text(text) => lines.push(text.clone()),
            Content::Document {
                source: MediaSource::Text { data, .. },
                title,
            } => lines.push(document_text(title.as_deref(), data)),
            Content::Document {
                source: MediaSource::Blocks(blocks),
                title,
            } if blocks.iter().all(|block| block.as_text().is_some()) => {
                let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
                lines.push(document_text(title.as_deref(), &texts.join("\n")));
            }
            _ => media.push((i, block)),
        }
    }
    let text = lines.join("\n");
    ToolText {
        text: if mark_error { error(&text) } else { text },
        media,
    }
}

/// Reports the marks and fields of a tool result's texts as dropped.
pub(crate) fn drop_text_marks(
    content: &[Block],
    media: &[(usize, &Block)],
    path: &JsonPath<'_>,
    drops: &mut Drops,
) {
    let content_path = path.key("content");
    for (i, block) in content.iter().enumerate() {
        if media.iter().any(|(at, _)| *at == i) {
            continue;
        }
        let path = &content_path.block(i, block);
        if block.cache_control.is_some() {
            let why = "cache marks are not allowed inside tool results";
            drops.add(path.key("cache_control"), why);
        }
        drops.rest(path, &block.rest);
        if let Content::Document {
            source: MediaSource::Blocks(blocks),
            ..
        } = &block.content
        {
            drop_text_marks(blocks, &[], &path.key("source"), drops);
        }
    }
}

/// The instructions as one text each, and a note for every mark they carry.
pub(crate) fn system_texts<'a>(system: &'a [Block], drops: &mut Drops) -> Vec<&'a str> {
    let mut texts = Vec::with_capacity(system.len());
    for (i, block) in system.iter().enumerate() {
        let path = &SYSTEM.block(i, block);
        match block.as_text() {
            Some("") => {}
            Some(text) => texts.push(text),
            None => drops.add(path, "instructions are text only"),
        }
        drops.rest(path, &block.rest);
    }
    texts
}

/// `data:` URL of base64 bytes.
pub(crate) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// The media type and base64 bytes of a `data:` URL.
pub(crate) fn split_data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    Some((media_type.split(';').next().unwrap_or(media_type), data))
}

/// Bytes of a `data:` URL, or the address of the image.
pub(crate) fn image_source(url: String) -> MediaSource {
    match split_data_url(&url) {
        Some((media_type, data)) => MediaSource::Base64 {
            media_type: image_type(media_type).to_owned(),
            data: data.to_owned(),
        },
        None => MediaSource::Url(url),
    }
}

/// File data is a `data:` URL, with gateways also an address, or, from older clients,
/// bare base64 of the type that the file name implies, mostly a PDF.
pub(crate) fn document_source(data: String, name: Option<&str>) -> MediaSource {
    match split_data_url(&data) {
        Some((media_type, data)) => MediaSource::Base64 {
            media_type: media_type.to_owned(),
            data: data.to_owned(),
        },
        // Base64 has no colon.
        None if data.contains("://") => MediaSource::Url(data),
        None => MediaSource::Base64 {
            media_type: name.and_then(media_type_for_name).unwrap_or(PDF).to_owned(),
            data,
        },
    }
}
