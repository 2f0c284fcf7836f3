//! Parts of a chat message, written.

use serde_json::{Value, json};

use crate::Dialect;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::{Path, put};
use crate::neutral::{Block, Content, Map, Source};
use crate::openai::write_breakpoint;
use crate::plain::{data_url, document_text};

/// Writes parts of user messages.
pub(super) struct Parts<'d> {
    /// Whether the blocks were read from this dialect.
    pub(super) own: bool,
    /// Whether the server takes cache breakpoints.
    pub(super) breakpoints: bool,
    pub(super) drops: &'d mut Drops,
}

impl Parts<'_> {
    /// The parts of a block; a document made of blocks gives several.
    pub(super) fn write(
        &mut self,
        block: &Block,
        path: &Path<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), WireError> {
        let mut part = match &block.content {
            Content::Text(text) => json!({"type": "text", "text": text}),
            Content::Image(source) => self.image(source, path)?,
            Content::Document {
                source: Source::Blocks(blocks),
                ..
            } => {
                for (i, inner) in blocks.iter().enumerate() {
                    self.write(inner, &path.key("source").key("content").index(i), out)?;
                }
                return Ok(());
            }
            Content::Document { source, title } => self.document(source, title.as_deref(), path)?,
            Content::Other { kind } if self.own => json!({"type": kind}),
            other => return Err(no_part(other, path)),
        };
        if let Some(map) = part.as_object_mut() {
            self.marks(block, map, path);
        }
        out.push(part);
        Ok(())
    }

    fn marks(&mut self, block: &Block, map: &mut Map, path: &Path<'_>) {
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
            self.drops.rest(path, &block.rest);
            return;
        }
        for (key, value) in &block.rest {
            // What was read from inside `image_url` or `file` goes back there.
            let inner = ["image_url", "file"]
                .into_iter()
                .find(|name| map.contains_key(*name));
            match inner.and_then(|name| map.get_mut(name)) {
                Some(Value::Object(inner)) => inner.insert(key.clone(), value.clone()),
                _ => map.insert(key.clone(), value.clone()),
            };
        }
    }

    fn image(&mut self, source: &Source, path: &Path<'_>) -> Result<Value, WireError> {
        let url = match source {
            Source::Base64 { media_type, data } => data_url(media_type, data),
            Source::Url(url) => url.clone(),
            _ => {
                return Err(WireError::unsupported(
                    Dialect::Chat,
                    path.key("source"),
                    "Chat Completions takes images as base64 or URL only",
                ));
            }
        };
        Ok(json!({"type": "image_url", "image_url": {"url": url}}))
    }

    fn document(
        &mut self,
        source: &Source,
        title: Option<&str>,
        path: &Path<'_>,
    ) -> Result<Value, WireError> {
        match source {
            Source::Base64 { media_type, data } => {
                let name = title.unwrap_or("document.pdf");
                let data = data_url(media_type, data);
                Ok(json!({"type": "file", "file": {"filename": name, "file_data": data}}))
            }
            Source::Text { data, .. } => {
                Ok(json!({"type": "text", "text": document_text(title, data)}))
            }
            Source::File(id) if self.own => {
                let mut file = Map::from_iter([("file_id".to_owned(), id.as_str().into())]);
                put(&mut file, "filename", title);
                Ok(json!({"type": "file", "file": file}))
            }
            _ => Err(WireError::unsupported(
                Dialect::Chat,
                path.key("source"),
                "Chat Completions takes documents as base64 or text only",
            )),
        }
    }
}

fn no_part(content: &Content, path: &Path<'_>) -> WireError {
    let kind = content.kind();
    WireError::unsupported(
        Dialect::Chat,
        path,
        format!("Chat Completions has no place for a block of type {kind:?} here"),
    )
}
