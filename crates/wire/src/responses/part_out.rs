//! Parts of Responses items, written.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::source_item;
use crate::Dialect;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::json_path::JsonPath;
use crate::media_content::by_media_type;
use crate::media_types::{default_file_name, image_type, is_audio_or_video, is_image};
use crate::model_text::document_text;
use crate::neutral::{Block, Content, Map, MediaSource, without_dialect_fields};
use crate::openai::{take_detail, write_breakpoint};
use crate::plain_text::data_url;

/// Why the title of a document is dropped.
const UNTITLED: &str = "a document of several parts cannot have a title here";

/// Writes parts of input items.
pub(super) struct ResponsesPartWriter<'d> {
    /// Whether the blocks were read from this dialect.
    pub(super) own: bool,
    /// Whether the server supports cache breakpoints.
    pub(super) breakpoints: bool,
    pub(super) drops: &'d mut Drops,
}

impl ResponsesPartWriter<'_> {
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
            Content::Text(text) => json!({"type": "input_text", "text": text}),
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
                    self.marks(block, last, path);
                }
                return Ok(());
            }
            Content::Document { source, title } => self.document(source, title.as_deref(), path)?,
            Content::Other { kind } if self.own => json!({"type": kind}),
            _ => {
                let kind = block.content.kind();
                return Err(WireError::unsupported_part(Dialect::Responses, path, kind));
            }
        };
        let is_own = self.own || source_item::is_own(block);
        if let Some(map) = part.as_object_mut() {
            let image = map.get("type") == Some(&"input_image".into());
            let (detail, rest) = match image && !is_own {
                true => take_detail(block),
                false => (None, block.rest.clone()),
            };
            put(map, "detail", detail);
            self.marks_and_rest(block, &rest, map, path);
        }
        out.push(part);
        Ok(())
    }

    /// Cache marks and unknown fields.
    pub(super) fn marks(&mut self, block: &Block, map: &mut Map, path: &JsonPath<'_>) {
        self.marks_and_rest(block, &block.rest, map, path);
    }

    /// The same, with these of the block's unknown fields.
    fn marks_and_rest(&mut self, block: &Block, rest: &Map, map: &mut Map, path: &JsonPath<'_>) {
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
        if self.own || source_item::is_own(block) {
            map.extend(without_dialect_fields(rest));
        } else {
            self.drops.rest(path, rest);
        }
    }

    fn image(&mut self, source: &MediaSource, path: &JsonPath<'_>) -> Result<Value, WireError> {
        match source {
            MediaSource::Base64 { media_type, data } => {
                let url = data_url(image_type(media_type), data);
                Ok(json!({"type": "input_image", "image_url": url}))
            }
            MediaSource::Url(url) => Ok(json!({"type": "input_image", "image_url": url})),
            MediaSource::File(id) if self.own => Ok(json!({"type": "input_image", "file_id": id})),
            _ => Err(WireError::unsupported(
                Dialect::Responses,
                path.key("source"),
                "Responses accepts images as base64 or by URL only",
            )),
        }
    }

    fn document(
        &mut self,
        source: &MediaSource,
        title: Option<&str>,
        path: &JsonPath<'_>,
    ) -> Result<Value, WireError> {
        let mut map = Map::from_iter([("type".to_owned(), "input_file".into())]);
        match source {
            MediaSource::Base64 { media_type, .. } if !self.own && is_image(media_type) => {
                if title.is_some() {
                    self.drops
                        .add(path.key("title"), "images have no name here");
                }
                return self.image(source, path);
            }
            MediaSource::Base64 { media_type, .. }
                if !self.own && is_audio_or_video(media_type) =>
            {
                let why = format!(
                    "Responses does not accept {media_type}: use a model whose API accepts \
                     audio and video"
                );
                let source = path.key("source");
                return Err(WireError::unsupported(Dialect::Responses, source, why));
            }
            MediaSource::Base64 { media_type, data } => {
                let name = title.map_or_else(|| default_file_name(media_type), str::to_owned);
                put(&mut map, "filename", Some(name));
                put(&mut map, "file_data", Some(data_url(media_type, data)));
            }
            MediaSource::Url(url) => put(&mut map, "file_url", Some(url.as_str())),
            MediaSource::File(id) if self.own => put(&mut map, "file_id", Some(id.as_str())),
            MediaSource::Text { data, .. } => {
                return Ok(json!({"type": "input_text", "text": document_text(title, data)}));
            }
            _ => {
                return Err(WireError::unsupported(
                    Dialect::Responses,
                    path.key("source"),
                    "Responses accepts documents as base64, text or by URL only",
                ));
            }
        }
        Ok(Value::Object(map))
    }
}
