//! Responses items, written: the conversation as input.

use serde_json::{Value, json};

use super::part_out::ResponsesPartWriter;
use super::{image_item, namespace, source_item};
use crate::Dialect;
use crate::arguments;
use crate::chat::{freeform_text, tool_type};
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::generated_images;
use crate::json_path::{JsonPath, MESSAGES};
use crate::model_text;
use crate::neutral::{
    Block, Content, Map, MediaSource, Message, Request, Role, expand_server_calls_for_responses,
};
use crate::plain_text::{ToolText, drop_text_marks, tool_text};
use crate::signature_envelope::{SignatureEnvelope, decode_envelope};
use crate::tool_names::{safe_id, safe_name};

pub(super) fn write_items(
    request: &Request,
    options: &WriteOptions,
    drops: &mut Drops,
) -> Result<Vec<Value>, WireError> {
    let own = request.origin == Dialect::Responses;
    let expanded;
    let messages = if own {
        request.messages.as_slice()
    } else {
        expanded = expand_server_calls_for_responses(&request.messages, drops);
        expanded.as_ref()
    };
    let mut writer = ItemWriter {
        request,
        parts: ResponsesPartWriter {
            own,
            breakpoints: options.cache_breakpoints,
            drops,
        },
        out: Vec::with_capacity(messages.len()),
    };
    for (i, message) in messages.iter().enumerate() {
        let path = &MESSAGES.message(i, message);
        match message.role {
            Role::System => writer.write_input_message(message, "developer", path)?,
            Role::User => writer.write_input_message(message, "user", path)?,
            Role::Assistant => writer.write_assistant_message(message, path)?,
        }
    }
    Ok(writer.out)
}

struct ItemWriter<'a> {
    request: &'a Request,
    parts: ResponsesPartWriter<'a>,
    out: Vec<Value>,
}

impl ItemWriter<'_> {
    /// A message to the model: results first, then the rest as one message.
    fn write_input_message(
        &mut self,
        message: &Message,
        role: &str,
        path: &JsonPath<'_>,
    ) -> Result<(), WireError> {
        let mut parts = Vec::new();
        let mut last = None;
        for (i, block) in message.content.iter().enumerate() {
            let path = path.key("content");
            let path = &path.block(i, block);
            match &block.content {
                Content::ToolResult { .. } => self.result(block, path)?,
                _ => {
                    self.parts.write(block, path, &mut parts)?;
                    last = Some(block);
                }
            }
        }
        if let ([part], Some(block)) = (parts.as_slice(), last)
            && block.is_plain()
            && let Some(text) = block.as_text()
            && part.get("type").and_then(Value::as_str) == Some("input_text")
        {
            self.message(role, text.into(), message, path);
        } else if !parts.is_empty() {
            self.message(role, parts.into(), message, path);
        } else {
            self.note_rest(message, path);
        }
        Ok(())
    }

    fn message(&mut self, role: &str, content: Value, message: &Message, path: &JsonPath<'_>) {
        let mut map = Map::from_iter([
            ("type".to_owned(), "message".into()),
            ("role".to_owned(), role.into()),
            ("content".to_owned(), content),
        ]);
        if self.parts.own {
            map.extend(message.rest.clone());
        } else {
            self.note_rest(message, path);
        }
        self.out.push(Value::Object(map));
    }

    fn note_rest(&mut self, message: &Message, path: &JsonPath<'_>) {
        self.parts.drops.rest(path, &message.rest);
    }

    fn result(&mut self, block: &Block, path: &JsonPath<'_>) -> Result<(), WireError> {
        let Content::ToolResult {
            tool_use_id,
            content,
            is_error,
        } = &block.content
        else {
            return Ok(());
        };
        let ToolText { text, media } = tool_text(content, *is_error);
        drop_text_marks(content, &media, path, self.parts.drops);
        let output = if media.is_empty() {
            Value::String(text)
        } else {
            let mut parts = self.result_parts(content, media, path)?;
            if *is_error {
                mark_error(&mut parts);
            }
            parts.into()
        };
        let kind = if self.is_freeform(tool_use_id) {
            "custom_tool_call_output"
        } else {
            "function_call_output"
        };
        let item = json!({"type": kind, "call_id": safe_id(tool_use_id), "output": output});
        self.push(item, block, path);
        Ok(())
    }

    /// The texts and the media of a result in their order: a text may be about the image after
    /// it.
    fn result_parts(
        &mut self,
        content: &[Block],
        media: Vec<(usize, &Block)>,
        path: &JsonPath<'_>,
    ) -> Result<Vec<Value>, WireError> {
        let path = path.key("content");
        let mut parts = Vec::new();
        let mut next = 0;
        for (i, block) in media {
            add_texts(content.get(next..i), &mut parts);
            self.parts.write(block, &path.block(i, block), &mut parts)?;
            next = i + 1;
        }
        add_texts(content.get(next..), &mut parts);
        Ok(parts)
    }

    /// Whether a result belongs to a call of a free-form tool.
    fn is_freeform(&self, call: &str) -> bool {
        let blocks = self.request.messages.iter().flat_map(|m| &m.content);
        blocks.into_iter().any(|block| match &block.content {
            Content::ToolUse { id, name, .. } => {
                id == call && tool_type(self.request, name) == "custom"
            }
            _ => false,
        })
    }

    fn push(&mut self, item: Value, block: &Block, path: &JsonPath<'_>) {
        let mut item = item;
        if let Some(map) = item.as_object_mut() {
            self.parts.marks(block, map, path);
            // Breakpoints belong to parts, never to items.
            map.remove("prompt_cache_breakpoint");
        }
        self.out.push(item);
    }

    /// The model's texts and calls, item by item.
    fn write_assistant_message(
        &mut self,
        message: &Message,
        path: &JsonPath<'_>,
    ) -> Result<(), WireError> {
        let mut texts: Vec<Value> = Vec::new();
        // The blocks of the open message, which hold its own fields.
        let mut own: Vec<&Block> = Vec::new();
        for (i, block) in message.content.iter().enumerate() {
            let path_content = path.key("content");
            let block_path = &path_content.block(i, block);
            if source_item::part(block) == Some(0) {
                self.flush(&mut texts, &mut own, message, path);
            }
            if let Content::Text(text) = &block.content {
                own.push(block);
                let mut part = json!({"type": "output_text", "text": text});
                if let Some(map) = part.as_object_mut() {
                    self.parts.marks(block, map, block_path);
                    map.remove("prompt_cache_breakpoint");
                }
                texts.push(part);
                continue;
            }
            let media = matches!(block.content, Content::Image(_) | Content::Document { .. });
            if media && !source_item::is_own(block) {
                let why = generated_images::NO_IMAGES_BACK;
                self.parts.drops.add(block_path, why);
                let text = generated_images::describe_media(&block.content);
                texts.push(json!({"type": "output_text", "text": text}));
                continue;
            }
            if let (Content::Other { kind }, Some(_)) = (&block.content, source_item::part(block)) {
                own.push(block);
                texts.push(source_item::whole(kind, block));
                continue;
            }
            self.flush(&mut texts, &mut own, message, path);
            if let Some(item) = self.item(block, block_path)? {
                self.push(item, block, block_path);
            }
        }
        self.flush(&mut texts, &mut own, message, path);
        Ok(())
    }

    fn flush(
        &mut self,
        texts: &mut Vec<Value>,
        own: &mut Vec<&Block>,
        message: &Message,
        path: &JsonPath<'_>,
    ) {
        if texts.is_empty() {
            return;
        }
        let parts = std::mem::take(texts);
        self.message("assistant", parts.into(), message, path);
        let fields = own.drain(..).filter_map(source_item::item);
        if let Some(Value::Object(written)) = self.out.last_mut() {
            // In a stream some of them come only at the end.
            written.extend(fields.flat_map(|item| item.clone()));
            if !is_stored(self.request) {
                written.shift_remove("id");
                written.shift_remove("status");
            }
        }
    }

    fn item(&mut self, block: &Block, path: &JsonPath<'_>) -> Result<Option<Value>, WireError> {
        Ok(Some(match &block.content {
            Content::ToolUse { id, name, input } => {
                let call = self.call(id, name, input);
                namespace::restored(call, &self.request.client_tools)
            }
            Content::Thinking {
                thinking,
                signature,
            } => match decode_envelope(signature) {
                SignatureEnvelope::OpenAi { id, encrypted } => {
                    reasoning(&id, thinking, Some(&encrypted), block)
                }
                // Without encrypted content it is sent back only to the server that stores it.
                SignatureEnvelope::None if self.is_stored_upstream(block) => reasoning(
                    source_item::id(block).unwrap_or_default(),
                    thinking,
                    None,
                    block,
                ),
                _ => {
                    let why = "a thought without OpenAI's encrypted content";
                    self.parts.drops.add(path, why);
                    return Ok(None);
                }
            },
            Content::RedactedThinking { .. } => {
                self.parts
                    .drops
                    .add(path, "a thought only Anthropic can read");
                return Ok(None);
            }
            // Their whole item is in `rest`.
            Content::ServerToolUse { .. } if self.is_own(block) => json!({"type": "shell_call"}),
            Content::ServerToolResult { .. } if self.is_own(block) => {
                json!({"type": "shell_call_output"})
            }
            Content::Image(MediaSource::Base64 { data, .. }) if self.is_own(block) => {
                json!({"type": image_item::IMAGE_CALL, "result": data})
            }
            Content::Other { kind } if self.is_own(block) => json!({"type": kind}),
            _ => {
                let kind = block.content.kind();
                return Err(WireError::unsupported_part(Dialect::Responses, path, kind));
            }
        }))
    }

    fn is_own(&self, block: &Block) -> bool {
        self.parts.own || source_item::is_own(block)
    }

    /// Whether the upstream may have stored a thought under its id: one of its own, unless
    /// storing is off.
    fn is_stored_upstream(&self, block: &Block) -> bool {
        let id = source_item::id(block).filter(|id| !source_item::is_generated_id(id));
        id.is_some() && is_stored(self.request)
    }

    fn call(&self, id: &str, name: &str, input: &Value) -> Value {
        let call_id = safe_id(id);
        let sent = safe_name(name);
        if tool_type(self.request, name) == "custom" {
            let input = freeform_text(input);
            return json!({"type": "custom_tool_call", "call_id": call_id, "name": sent, "input": input});
        }
        let arguments = arguments::write(input);
        json!({"type": "function_call", "call_id": call_id, "name": sent, "arguments": arguments})
    }
}

/// Adds texts of a result as one part.
fn add_texts(texts: Option<&[Block]>, parts: &mut Vec<Value>) {
    let ToolText { text, .. } = tool_text(texts.unwrap_or_default(), false);
    if !text.is_empty() {
        parts.push(json!({"type": "input_text", "text": text}));
    }
}

/// Says in the first text of a result that it is an error.
fn mark_error(parts: &mut Vec<Value>) {
    let texts = parts.iter_mut().filter_map(|part| part.get_mut("text"));
    for text in texts {
        if let Value::String(text) = text {
            *text = model_text::error(text);
            return;
        }
    }
    parts.insert(
        0,
        json!({"type": "input_text", "text": model_text::error("")}),
    );
}

/// Whether the upstream stores its responses: on by default for clients of its dialect, off
/// by default for others.
fn is_stored(request: &Request) -> bool {
    match request.rest.get("store") {
        Some(Value::Bool(stores)) => *stores,
        _ => request.origin == Dialect::Responses,
    }
}

/// A thought in its original form, where that is known.
fn reasoning(id: &str, thinking: &str, encrypted: Option<&str>, block: &Block) -> Value {
    let summary = match thinking {
        "" => json!([]),
        text => json!([{"type": "summary_text", "text": text}]),
    };
    let mut item = json!({"type": "reasoning", "id": id, "summary": summary});
    if let Some(map) = item.as_object_mut() {
        let own = source_item::item(block).into_iter().flatten();
        let set = own.filter(|(key, value)| *key != "id" && !value.is_null());
        map.extend(set.map(|(key, value)| (key.clone(), value.clone())));
        put(map, "encrypted_content", encrypted);
    }
    item
}
