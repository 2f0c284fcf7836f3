//! Converse's content blocks, written.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::citations::CITATIONS;
use super::document_out::{DocumentNames, add_text};
use crate::Dialect;
use crate::arguments;
use crate::drops::Drops;
use crate::error::WireError;
use crate::generated_images;
use crate::json_path::JsonPath;
use crate::media_content::by_media_type;
use crate::media_types::{document_type, image_type, is_text_type};
use crate::model_text::{self, tagged_system};
use crate::models::{CachePoints, Capabilities, Family};
use crate::neutral::{Block, Content, Map, MediaSource};
use crate::signature_envelope::{SignatureEnvelope, decode_envelope};
use crate::tool_names::{safe_id, safe_name};

/// Writes the blocks of one turn.
pub(super) struct ConverseBlockWriter<'d> {
    drops: &'d mut Drops,
    documents: &'d mut DocumentNames,
    /// Whether the turn is the model's, which cannot hold media.
    from_model: bool,
    accepted: AcceptedFields,
    out: Vec<Value>,
}

/// What a model accepts besides the content of blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct AcceptedFields {
    /// Whether cache points, and how long they hold.
    cache_points: bool,
    cache_times: bool,
    /// Whether the status of results.
    result_status: bool,
    /// Whether the settings of a document's citations.
    citations: bool,
}

impl AcceptedFields {
    /// What a model accepts in instructions, or elsewhere.
    pub(super) fn of_model(capabilities: &Capabilities, in_system: bool) -> Self {
        AcceptedFields {
            cache_points: match capabilities.cache_points {
                CachePoints::Everywhere => true,
                CachePoints::System => in_system,
                CachePoints::Nowhere => false,
            },
            cache_times: capabilities.cache_points == CachePoints::Everywhere,
            result_status: !capabilities.no_result_status,
            citations: capabilities.family == Family::Claude,
        }
    }

    /// Anthropic's cache mark as a cache point; `None` where the model refuses it.
    pub(super) fn cache_point(self, mark: &Value) -> Option<Value> {
        let ttl = mark.get("ttl").and_then(Value::as_str);
        self.cache_points
            .then(|| match ttl.filter(|_| self.cache_times) {
                Some(ttl) => json!({"cachePoint": {"type": "default", "ttl": ttl}}),
                None => json!({"cachePoint": {"type": "default"}}),
            })
    }
}

/// Why a cache mark is dropped.
pub(super) const NO_CACHE_POINTS: &str = "the model does not support cache points here";

impl<'d> ConverseBlockWriter<'d> {
    pub(super) fn new(
        drops: &'d mut Drops,
        documents: &'d mut DocumentNames,
        from_model: bool,
        accepted: AcceptedFields,
    ) -> Self {
        ConverseBlockWriter {
            drops,
            documents,
            from_model,
            accepted,
            out: Vec::new(),
        }
    }

    pub(super) fn finish(mut self) -> Vec<Value> {
        add_text(&mut self.out);
        self.out
    }

    /// Writes a block, and its cache mark as a point after it.
    pub(super) fn write(
        &mut self,
        block: &Block,
        is_system: bool,
        path: &JsonPath<'_>,
    ) -> Result<(), WireError> {
        let (settings, rest) = self.divide_fields(block);
        self.drops.rest(path, &rest);
        let Some(mut value) = self.block(block, is_system, path)? else {
            return Ok(());
        };
        let document = value.get_mut("document").and_then(Value::as_object_mut);
        match document.filter(|document| has_citations(document)) {
            Some(document) => document.extend(settings),
            None => self.drops.rest(path, &settings),
        }
        self.out.push(value);
        if let Some(mark) = &block.cache_control {
            match self.accepted.cache_point(mark) {
                Some(point) => self.out.push(point),
                None => self.drops.add(path.key("cache_control"), NO_CACHE_POINTS),
            }
        }
        Ok(())
    }

    /// The fields of a block that a document has here too, and the others.
    fn divide_fields(&self, block: &Block) -> (Map, Map) {
        let is_document = matches!(block.content, Content::Document { .. });
        let is_known = |key: &str, value: &Value| match key {
            CITATIONS => value.get("enabled").is_some_and(Value::is_boolean),
            "context" => value.is_string(),
            _ => false,
        };
        let takes = self.accepted.citations && is_document;
        let fields = block.rest.clone().into_iter();
        fields.partition(|(key, value)| takes && is_known(key, value))
    }

    fn block(
        &mut self,
        block: &Block,
        is_system: bool,
        path: &JsonPath<'_>,
    ) -> Result<Option<Value>, WireError> {
        Ok(Some(match by_media_type(&block.content).as_ref() {
            Content::Text(text) if is_system => json!({"text": tagged_system(text)}),
            Content::Text(text) if text.trim().is_empty() => {
                self.drops.add(path, "blank text, which Converse refuses");
                return Ok(None);
            }
            Content::Text(text) => json!({"text": text}),
            Content::ToolUse { id, name, input } => {
                let input = arguments::to_object(input, path, self.drops);
                let (id, name) = (safe_id(id), safe_name(name));
                json!({"toolUse": {"toolUseId": id, "name": name, "input": input}})
            }
            Content::ToolResult {
                tool_use_id,
                content,
                is_error,
            } => self.result(tool_use_id, content, *is_error, path)?,
            Content::Thinking {
                thinking,
                signature,
            } => match decode_envelope(signature) {
                SignatureEnvelope::Anthropic(signature) => json!({"reasoningContent": {
                    "reasoningText": {"text": thinking, "signature": signature},
                }}),
                _ => {
                    self.drops
                        .add(path, "a thought without Anthropic's signature");
                    return Ok(None);
                }
            },
            Content::RedactedThinking { data } => {
                json!({"reasoningContent": {"redactedContent": data}})
            }
            Content::Image(_) | Content::Document { .. } if self.from_model => {
                self.drops.add(path, generated_images::NO_IMAGES_BACK);
                json!({"text": generated_images::describe_media(&block.content)})
            }
            Content::Image(source) => image(source, path)?,
            Content::Document { source, title } => self.document(source, title.as_deref(), path)?,
            _ => {
                let kind = block.content.kind();
                return Err(WireError::unsupported_part(Dialect::Converse, path, kind));
            }
        }))
    }

    fn result(
        &mut self,
        id: &str,
        content: &[Block],
        is_error: bool,
        path: &JsonPath<'_>,
    ) -> Result<Value, WireError> {
        let mut out = Vec::with_capacity(content.len());
        for (i, block) in content.iter().enumerate() {
            let path = path.key("content");
            let path = &path.block(i, block);
            self.drops.rest(path, &block.rest);
            if block.cache_control.is_some() {
                let why = "cache points are not allowed inside tool results";
                self.drops.add(path.key("cache_control"), why);
            }
            out.extend(self.block(block, false, path)?);
        }
        add_text(&mut out);
        if out.is_empty() {
            out.push(json!({"text": "(no output)"}));
        }
        if is_error && !self.accepted.result_status {
            mark_error(&mut out);
        }
        let mut result = json!({"toolUseId": safe_id(id), "content": out});
        if let (true, Some(map)) = (self.accepted.result_status, result.as_object_mut()) {
            let status = if is_error { "error" } else { "success" };
            map.insert("status".to_owned(), status.into());
        }
        Ok(json!({"toolResult": result}))
    }

    fn document(
        &mut self,
        source: &MediaSource,
        title: Option<&str>,
        path: &JsonPath<'_>,
    ) -> Result<Value, WireError> {
        let (format, source) = match source {
            // An image that was sent as a file.
            MediaSource::Base64 { media_type, .. } if media_type.starts_with("image/") => {
                return image(source, path);
            }
            MediaSource::Base64 { media_type, data } => {
                let kind = document_type(media_type, title);
                let format = document_format(&kind).ok_or_else(|| {
                    let why = format!(
                        "Converse takes no documents of type {media_type}: send it as PDF or text"
                    );
                    let path = path.key("source");
                    WireError::unsupported(Dialect::Converse, path.key("media_type"), why)
                })?;
                (format, json!({"bytes": data}))
            }
            MediaSource::Text { data, .. } => ("txt", json!({"bytes": STANDARD.encode(data)})),
            MediaSource::Blocks(blocks) => {
                let texts: Option<Vec<&str>> = blocks.iter().map(Block::as_text).collect();
                let texts = texts.ok_or_else(|| needs_bytes("documents made of images", path))?;
                let content: Vec<_> = texts.iter().map(|text| json!({"text": text})).collect();
                ("txt", json!({"content": content}))
            }
            _ => return Err(needs_bytes("documents", path)),
        };
        let name = self.documents.name(title);
        Ok(json!({"document": {"format": format, "name": name, "source": source}}))
    }
}

/// Whether Claude can cite a document: not one that Bedrock has to convert.
fn has_citations(document: &Map) -> bool {
    let format = document.get("format").and_then(Value::as_str);
    matches!(format, Some("pdf" | "txt"))
}

/// Says in the text of a result that it is an error.
fn mark_error(content: &mut Vec<Value>) {
    let text = content.first_mut().and_then(|first| first.get_mut("text"));
    match text {
        Some(Value::String(text)) => *text = model_text::error(text),
        _ => content.insert(0, json!({"text": model_text::error("")})),
    }
}

fn image(source: &MediaSource, path: &JsonPath<'_>) -> Result<Value, WireError> {
    let MediaSource::Base64 { media_type, data } = source else {
        return Err(needs_bytes("images", path));
    };
    let format = match image_type(media_type) {
        "image/png" => "png",
        "image/jpeg" => "jpeg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => {
            return Err(WireError::unsupported(
                Dialect::Converse,
                path.key("source").key("media_type"),
                format!("Converse takes PNG, JPEG, GIF and WebP, not {media_type}"),
            ));
        }
    };
    Ok(json!({"image": {"format": format, "source": {"bytes": data}}}))
}

fn needs_bytes(what: &str, path: &JsonPath<'_>) -> WireError {
    WireError::unsupported(
        Dialect::Converse,
        path.key("source"),
        format!("Converse takes {what} as bytes only: send them as base64"),
    )
}

fn document_format(media_type: &str) -> Option<&'static str> {
    match media_type {
        "application/pdf" => Some("pdf"),
        "text/csv" => Some("csv"),
        "application/msword" => Some("doc"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => Some("docx"),
        "application/vnd.ms-excel" => Some("xls"),
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => Some("xlsx"),
        "text/html" => Some("html"),
        "text/plain" => Some("txt"),
        "text/markdown" => Some("md"),
        text if is_text_type(text) => Some("txt"),
        _ => None,
    }
}
