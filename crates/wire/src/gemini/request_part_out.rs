//! Gemini's parts, written.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{code_execution, media_out};
use crate::Dialect;
use crate::arguments;
use crate::drops::Drops;
use crate::error::WireError;
use crate::json_path::JsonPath;
use crate::media_types::media_type_for_name;
use crate::model_text::{SEE_ATTACHMENTS, document_text, output_of, tagged_system};
use crate::neutral::{Block, Content, DIALECT_FIELDS, Map, MediaSource};
use crate::plain_text::{ToolText, drop_text_marks, tool_text};
use crate::signature_envelope::{SignatureEnvelope, decode_envelope};
use crate::tool_names::{safe_id, safe_name};

/// Writes the parts of one turn.
pub(super) struct GeminiPartWriter<'a> {
    /// Whether the request is a Gemini client's, so that what it alone understands can go
    /// back.
    pub(super) own: bool,
    /// Names of the tools by the ids of their calls.
    pub(super) names: &'a HashMap<&'a str, &'a str>,
    pub(super) drops: &'a mut Drops,
    /// A thought signature that belongs on the next part.
    pub(super) signature: Option<String>,
    /// Replaces the signature of the first call when none is known.
    pub(super) stand_in: Option<&'static str>,
    /// Whether results may contain media.
    pub(super) media_in_results: bool,
    /// The results, which are a content of their own.
    pub(super) results: Vec<Value>,
    /// All other parts.
    pub(super) out: Vec<Value>,
}

/// The parts of one turn.
pub(super) struct GeminiTurnParts {
    pub(super) results: Vec<Value>,
    pub(super) others: Vec<Value>,
}

impl GeminiPartWriter<'_> {
    pub(super) fn write(
        &mut self,
        block: &Block,
        is_system: bool,
        path: &JsonPath<'_>,
    ) -> Result<(), WireError> {
        self.note(block, path);
        let before = self.out.len();
        let is_result = matches!(block.content, Content::ToolResult { .. });
        match &block.content {
            Content::Text(text) if is_system => self.push(json!({"text": tagged_system(text)})),
            Content::Text(text) if text.is_empty() => self.drops.add(path, "empty text"),
            Content::Text(text) => self.push(json!({"text": text})),
            Content::Thinking {
                thinking,
                signature,
            } => self.thought(thinking, signature, path),
            Content::RedactedThinking { .. } => {
                self.drops.add(path, "a thought only Anthropic can read");
            }
            Content::ServerToolUse { id, name, input } if code_execution::is_from_google(id) => {
                self.push(code_execution::write_call(id, name, input));
            }
            Content::ServerToolResult {
                tool_use_id: id,
                content,
                ..
            } if code_execution::is_from_google(id) => {
                for part in code_execution::write_result(id, content) {
                    self.push(part);
                }
            }
            Content::Other { kind } if self.is_own(block) && block.rest.contains_key(kind) => {
                self.push(code_execution::without_added_id(block.rest.clone()));
            }
            Content::ToolUse { id, name, input } => {
                let args = arguments::to_object(input, path, self.drops);
                let (id, name) = (safe_id(id), safe_name(name));
                let stand_in = self.stand_in.take().map(str::to_owned);
                self.signature = self.signature.take().or(stand_in);
                self.push(json!({"functionCall": {"id": id, "name": name, "args": args}}));
            }
            Content::ToolResult {
                tool_use_id,
                content,
                is_error,
            } => self.result(tool_use_id, content, *is_error, path)?,
            _ => {
                let part = media(block, self.own, path, self.drops)?;
                self.push(part);
            }
        }
        if self.is_own(block) {
            let written = if is_result {
                self.results.last_mut()
            } else {
                self.out.get_mut(before..).and_then(<[Value]>::last_mut)
            };
            if let Some(part) = written.and_then(Value::as_object_mut) {
                restore_own(part, block);
            }
        }
        Ok(())
    }

    /// The parts; a signature that nothing follows is put on an empty text, as Gemini
    /// itself sends it.
    pub(super) fn finish(mut self) -> GeminiTurnParts {
        if self.signature.is_some() {
            self.push(json!({"text": ""}));
        }
        GeminiTurnParts {
            results: self.results,
            others: self.out,
        }
    }

    fn push(&mut self, mut part: Value) {
        if let (Some(signature), Some(map)) = (self.signature.take(), part.as_object_mut()) {
            map.insert("thoughtSignature".to_owned(), signature.into());
        }
        self.out.push(part);
    }

    /// Whether the other fields of a block are Gemini's: in a run, another dialect's model may
    /// have responded to a Gemini client.
    fn is_own(&self, block: &Block) -> bool {
        self.own && !block.rest.contains_key(DIALECT_FIELDS)
    }

    fn note(&mut self, block: &Block, path: &JsonPath<'_>) {
        if block.cache_control.is_some() {
            self.drops
                .add(path.key("cache_control"), "Gemini caches prompts by itself");
        }
        if self.is_own(block) {
            return;
        }
        match media_out::field(block) {
            Some(_) => self.drops.rest(path, &media_out::rest(block)),
            None => self.drops.rest(path, &block.rest),
        }
    }

    fn thought(&mut self, thinking: &str, signature: &str, path: &JsonPath<'_>) {
        let SignatureEnvelope::Gemini(signature) = decode_envelope(signature) else {
            self.drops.add(path, "a thought without Gemini's signature");
            return;
        };
        if !thinking.is_empty() {
            self.out.push(json!({"text": thinking, "thought": true}));
        }
        self.signature = Some(signature.to_owned());
    }

    fn result(
        &mut self,
        id: &str,
        content: &[Block],
        is_error: bool,
        path: &JsonPath<'_>,
    ) -> Result<(), WireError> {
        let name = self.names.get(id).ok_or_else(|| {
            WireError::unsupported(
                Dialect::Gemini,
                path.key("tool_use_id"),
                "no tool call before it has this id, and Gemini wants to know the tool's name: \
                 send the call too",
            )
        })?;
        let ToolText {
            mut text,
            media: files,
        } = tool_text(content, false);
        if text.is_empty() && !files.is_empty() && !self.media_in_results {
            text = SEE_ATTACHMENTS.to_owned();
        }
        drop_text_marks(content, &files, path, self.drops);
        let key = if is_error { "error" } else { "output" };
        // A result that a Gemini client sent as an object was read as the object's text.
        let object = serde_json::from_str::<Map>(&text).ok();
        let response = match object.filter(|_| self.own && !is_error) {
            Some(object) => Value::Object(object),
            None => json!({key: text}),
        };
        let mut response = json!({
            "id": safe_id(id),
            "name": safe_name(name),
            "response": response,
        });
        let mut parts = Vec::new();
        for (i, block) in files {
            let path = path.key("content");
            let path = &path.block(i, block);
            self.note(block, path);
            parts.push(media(block, self.own, path, self.drops)?);
        }
        match response.as_object_mut() {
            _ if parts.is_empty() => {}
            Some(map) if self.media_in_results => {
                map.insert("parts".to_owned(), parts.into());
            }
            _ => {
                self.out.push(json!({"text": output_of(&safe_id(id))}));
                self.out.append(&mut parts);
            }
        }
        self.results.push(json!({"functionResponse": response}));
        Ok(())
    }
}

/// An image, a document or a recording.
fn media(
    block: &Block,
    own: bool,
    path: &JsonPath<'_>,
    drops: &mut Drops,
) -> Result<Value, WireError> {
    if let Some(part) = media_out::part(block) {
        return Ok(part);
    }
    let (source, title) = match &block.content {
        Content::Image(source) => (source, None),
        Content::Document { source, title } => (source, title.as_deref()),
        other => return Err(unsupported(path, other.kind())),
    };
    if let (false, Some(_), MediaSource::Base64 { .. } | MediaSource::Url(_)) = (own, title, source)
    {
        drops.add(path.key("title"), "Gemini's files have no name");
    }
    let name = title.filter(|_| own);
    Ok(match source {
        MediaSource::Base64 { media_type, data } => {
            json!({"inlineData": named(json!({"mimeType": media_type, "data": data}), name)})
        }
        MediaSource::Url(url) => {
            let file = match media_type_for_name(url) {
                Some(mime) => json!({"fileUri": url, "mimeType": mime}),
                None => json!({"fileUri": url}),
            };
            json!({"fileData": named(file, name)})
        }
        MediaSource::Text { data, .. } => json!({"text": document_text(title, data)}),
        MediaSource::Blocks(blocks) => {
            let texts: Option<Vec<&str>> = blocks.iter().map(Block::as_text).collect();
            let texts = texts.ok_or_else(|| unsupported(path, "document with images"))?;
            json!({"text": document_text(title, &texts.join("\n"))})
        }
        MediaSource::File(_) | MediaSource::Other(_) => {
            return Err(WireError::unsupported(
                Dialect::Gemini,
                path.key("source"),
                "Gemini cannot read another vendor's file store: send the bytes",
            ));
        }
    })
}

fn named(mut file: Value, name: Option<&str>) -> Value {
    if let (Some(name), Some(map)) = (name, file.as_object_mut()) {
        map.insert("displayName".to_owned(), name.into());
    }
    file
}

fn unsupported(path: &JsonPath<'_>, what: &str) -> WireError {
    WireError::unsupported_part(Dialect::Gemini, path, what)
}

/// Restores the other fields of a part.
fn restore_own(part: &mut Map, block: &Block) {
    if !matches!(block.content, Content::Other { .. }) {
        restore_fields(part, &block.rest);
    }
}

/// Puts fields back where a reader found them: those of a file belong inside it.
fn restore_fields(part: &mut Map, rest: &Map) {
    for (key, value) in rest {
        let holder = match key.as_str() {
            "mimeType" | "displayName" if part.contains_key("fileData") => "fileData",
            "mimeType" | "displayName" if part.contains_key("inlineData") => "inlineData",
            key => key,
        };
        match (part.get_mut(holder).and_then(Value::as_object_mut), value) {
            (Some(inner), _) if holder != key => {
                inner.insert(key.clone(), value.clone());
            }
            (Some(inner), Value::Object(more)) => inner.extend(more.clone()),
            _ => {
                part.insert(key.clone(), value.clone());
            }
        }
    }
}
