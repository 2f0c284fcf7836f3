//! Converse's content blocks, written.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::Dialect;
use crate::arguments;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::Path;
use crate::names::{safe_id, safe_name};
use crate::neutral::{Block, Content, Source, tagged_system};
use crate::sealed::{Sealed, open};

/// Writes the blocks of one turn.
pub(super) struct Blocks<'d> {
    drops: &'d mut Drops,
    out: Vec<Value>,
}

impl<'d> Blocks<'d> {
    pub(super) fn new(drops: &'d mut Drops) -> Self {
        Blocks {
            drops,
            out: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Vec<Value> {
        self.out
    }

    /// Writes a block, and its cache mark as a point after it.
    pub(super) fn write(
        &mut self,
        block: &Block,
        is_system: bool,
        path: &Path<'_>,
    ) -> Result<(), WireError> {
        self.drops.rest(path, &block.rest);
        let Some(value) = self.block(block, is_system, path)? else {
            return Ok(());
        };
        self.out.push(value);
        if let Some(mark) = &block.cache_control {
            self.out.push(cache_point(mark));
        }
        Ok(())
    }

    fn block(
        &mut self,
        block: &Block,
        is_system: bool,
        path: &Path<'_>,
    ) -> Result<Option<Value>, WireError> {
        Ok(Some(match &block.content {
            Content::Text(text) if is_system => json!({"text": tagged_system(text)}),
            Content::Text(text) if text.trim().is_empty() => {
                self.drops.add(path, "blank text, which Converse refuses");
                return Ok(None);
            }
            Content::Text(text) => json!({"text": text}),
            Content::ToolUse { id, name, input } => {
                let input = arguments::object(input, path, self.drops);
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
            } => match open(signature) {
                Sealed::Anthropic(signature) => json!({"reasoningContent": {
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
            Content::Image(source) => image(source, path)?,
            Content::Document { source, title } => document(source, title.as_deref(), path)?,
            _ => {
                return Err(WireError::unsupported(
                    Dialect::Converse,
                    path,
                    format!(
                        "Converse has no place for a block of type {:?}",
                        block.content.kind()
                    ),
                ));
            }
        }))
    }

    fn result(
        &mut self,
        id: &str,
        content: &[Block],
        is_error: bool,
        path: &Path<'_>,
    ) -> Result<Value, WireError> {
        let mut out = Vec::with_capacity(content.len());
        for (i, block) in content.iter().enumerate() {
            let path = path.key("content");
            let path = &path.index(i);
            self.drops.rest(path, &block.rest);
            if block.cache_control.is_some() {
                let why = "no cache point may stand inside a tool result";
                self.drops.add(path.key("cache_control"), why);
            }
            out.extend(self.block(block, false, path)?);
        }
        if out.is_empty() {
            out.push(json!({"text": "(no output)"}));
        }
        let status = if is_error { "error" } else { "success" };
        Ok(json!({"toolResult": {
            "toolUseId": safe_id(id),
            "content": out,
            "status": status,
        }}))
    }
}

/// Anthropic's cache mark as a cache point.
pub(super) fn cache_point(mark: &Value) -> Value {
    match mark.get("ttl").and_then(Value::as_str) {
        Some(ttl) => json!({"cachePoint": {"type": "default", "ttl": ttl}}),
        None => json!({"cachePoint": {"type": "default"}}),
    }
}

fn image(source: &Source, path: &Path<'_>) -> Result<Value, WireError> {
    let Source::Base64 { media_type, data } = source else {
        return Err(needs_bytes("images", path));
    };
    let format = match media_type.as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpeg",
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

fn document(source: &Source, title: Option<&str>, path: &Path<'_>) -> Result<Value, WireError> {
    let (format, source) = match source {
        Source::Base64 { media_type, data } => {
            let format = document_format(media_type).ok_or_else(|| {
                WireError::unsupported(
                    Dialect::Converse,
                    path.key("source").key("media_type"),
                    format!("Converse takes no documents of type {media_type}"),
                )
            })?;
            (format, json!({"bytes": data}))
        }
        Source::Text { data, .. } => ("txt", json!({"bytes": STANDARD.encode(data)})),
        Source::Blocks(blocks) => {
            let texts: Option<Vec<&str>> = blocks.iter().map(Block::as_text).collect();
            let texts = texts.ok_or_else(|| needs_bytes("documents made of images", path))?;
            let content: Vec<_> = texts.iter().map(|text| json!({"text": text})).collect();
            ("txt", json!({"content": content}))
        }
        _ => return Err(needs_bytes("documents", path)),
    };
    let name = document_name(title.unwrap_or_default());
    Ok(json!({"document": {"format": format, "name": name, "source": source}}))
}

fn needs_bytes(what: &str, path: &Path<'_>) -> WireError {
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
        _ => None,
    }
}

/// Converse allows letters, digits, single spaces, hyphens and brackets in a name.
fn document_name(title: &str) -> String {
    let kept: String = title
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || "-()[]".contains(c) => c,
            _ => ' ',
        })
        .collect();
    let words: Vec<&str> = kept.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(200).collect();
    if name.is_empty() {
        "document".to_owned()
    } else {
        name
    }
}
