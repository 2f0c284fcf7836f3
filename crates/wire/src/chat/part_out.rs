//! Parts of a chat message, written.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::tools::merge;
use crate::Dialect;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::json_path::JsonPath;
use crate::media_content::by_media_type;
use crate::media_types::{
    audio_format, default_file_name, image_type, is_audio_or_video, is_image,
};
use crate::model_text::document_text;
use crate::neutral::{Block, Content, Map, MediaSource, without_dialect_fields};
use crate::openai::{take_detail, write_breakpoint};
use crate::plain_text::data_url;

/// Why the title of a document is dropped.
const UNTITLED: &str = "a document of several parts cannot have a title here";

/// Writes parts of user messages.
pub(super) struct ChatPartWriter<'d> {
    /// Whether the blocks were read from this dialect.
    pub(super) own: bool,
    /// Whether the server supports cache breakpoints.
    pub(super) breakpoints: bool,
    /// Whether the server takes documents by their address only, as Mistral's does.
    pub(super) document_urls: bool,
    pub(super) drops: &'d mut Drops,
}

impl ChatPartWriter<'_> {
    /// The parts of a block; a document of blocks gives several.
    pub(super) fn write(
        &mut self,
        block: &Block,
        path: &JsonPath<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), WireError> {
        let content = match self.own {
            true => Cow::Borrowed(&block.content),
            false => by_media_type(&block.content),
        };
        let mut part = match content.as_ref() {
            Content::Text(text) => json!({"type": "text", "text": text}),
            Content::Image(source) => self.image(source, path)?,
            Content::Document {
                source: MediaSource::Blocks(blocks),
                title,
            } => {
                if title.is_some() {
                    self.drops.add(path.key("title"), UNTITLED);
                }
                let source = path.key("source");
                for (i, inner) in blocks.iter().enumerate() {
                    self.write(inner, &source.key("content").block(i, inner), out)?;
                }
                if let Some(Value::Object(last)) = out.last_mut() {
                    self.marks(block, &block.rest, last, path);
                }
                return Ok(());
            }
            Content::Document { source, title } => self.document(source, title.as_deref(), path)?,
            Content::Other { kind } if self.own => json!({"type": kind}),
            other => {
                return Err(WireError::unsupported_part(
                    Dialect::Chat,
                    path,
                    other.kind(),
                ));
            }
        };
        let is_image = part.get("image_url").is_some();
        let (detail, rest) = match is_image && !self.own {
            true => take_detail(block),
            false => (None, block.rest.clone()),
        };
        if let (Some(detail), Some(image)) = (detail, part.get_mut("image_url")) {
            put_into(image, "detail", detail);
        }
        if let Some(map) = part.as_object_mut() {
            self.marks(block, &rest, map, path);
        }
        out.push(part);
        Ok(())
    }

    /// Adds the cache mark, and the other fields of the block.
    fn marks(&mut self, block: &Block, rest: &Map, map: &mut Map, path: &JsonPath<'_>) {
        match &block.cache_control {
            Some(mark) if self.breakpoints => {
                put(map, "prompt_cache_breakpoint", Some(write_breakpoint(mark)));
            }
            Some(_) => self.drops.add(
                path.key("cache_control"),
                "the server caches prompts by itself",
            ),
            None => {}
        }
        if !self.own {
            self.drops.rest(path, rest);
            return;
        }
        merge(map, &without_dialect_fields(rest));
    }

    fn image(&mut self, source: &MediaSource, path: &JsonPath<'_>) -> Result<Value, WireError> {
        let url = match source {
            MediaSource::Base64 { media_type, data } => data_url(image_type(media_type), data),
            MediaSource::Url(url) => url.clone(),
            _ => {
                return Err(WireError::unsupported(
                    Dialect::Chat,
                    path.key("source"),
                    "Chat Completions accepts images as base64 or by URL only",
                ));
            }
        };
        Ok(json!({"type": "image_url", "image_url": {"url": url}}))
    }

    fn drop_title(&mut self, title: Option<&str>, path: &JsonPath<'_>) {
        if title.is_some() {
            let why = "images and recordings have no name here";
            self.drops.add(path.key("title"), why);
        }
    }

    fn document(
        &mut self,
        source: &MediaSource,
        title: Option<&str>,
        path: &JsonPath<'_>,
    ) -> Result<Value, WireError> {
        match source {
            MediaSource::Base64 { media_type, .. } if !self.own && is_image(media_type) => {
                self.drop_title(title, path);
                self.image(source, path)
            }
            MediaSource::Base64 { media_type, data }
                if !self.own && is_audio_or_video(media_type) =>
            {
                self.drop_title(title, path);
                recording(media_type, data, path)
            }
            MediaSource::Base64 { media_type, data } if self.document_urls => {
                Ok(document_url(&data_url(media_type, data), title))
            }
            MediaSource::Url(url) if self.document_urls => Ok(document_url(url, title)),
            MediaSource::Base64 { media_type, data } => {
                let name = title.map_or_else(|| default_file_name(media_type), str::to_owned);
                let data = data_url(media_type, data);
                Ok(json!({"type": "file", "file": {"filename": name, "file_data": data}}))
            }
            MediaSource::Text { data, .. } => {
                Ok(json!({"type": "text", "text": document_text(title, data)}))
            }
            // Gateways fetch it; only their clients write it there.
            MediaSource::Url(url) if self.own => {
                let mut file = Map::from_iter([("file_data".to_owned(), url.as_str().into())]);
                put(&mut file, "filename", title);
                Ok(json!({"type": "file", "file": file}))
            }
            MediaSource::File(id) if self.own => {
                let mut file = Map::from_iter([("file_id".to_owned(), id.as_str().into())]);
                put(&mut file, "filename", title);
                Ok(json!({"type": "file", "file": file}))
            }
            _ => Err(WireError::unsupported(
                Dialect::Chat,
                path.key("source"),
                "Chat Completions accepts documents as base64 or text only",
            )),
        }
    }
}

/// A document in Mistral's form.
fn document_url(url: &str, title: Option<&str>) -> Value {
    let mut part = Map::from_iter([
        ("type".to_owned(), "document_url".into()),
        ("document_url".to_owned(), url.into()),
    ]);
    put(&mut part, "document_name", title);
    Value::Object(part)
}

fn put_into(object: &mut Value, key: &str, value: Value) {
    if let Some(map) = object.as_object_mut() {
        map.insert(key.to_owned(), value);
    }
}

/// A recording, in the form that servers with models for them accept.
fn recording(media_type: &str, data: &str, path: &JsonPath<'_>) -> Result<Value, WireError> {
    match audio_format(media_type) {
        Some(format) => {
            Ok(json!({"type": "input_audio", "input_audio": {"data": data, "format": format}}))
        }
        None => {
            let why = format!(
                "Chat Completions does not accept {media_type}: send audio as WAV or MP3, or use a \
                 model whose API accepts it"
            );
            Err(WireError::unsupported(
                Dialect::Chat,
                path.key("source"),
                why,
            ))
        }
    }
}
