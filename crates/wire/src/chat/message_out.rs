//! Writes Chat messages: one turn becomes as many messages as the dialect requires.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::alternation::alternate;
use super::call_turns::join_calls;
use super::extra_content;
use super::mistral_order::follow_mistral_order;
use super::part_out::ChatPartWriter;
use super::reasoning_out::{NO_THOUGHTS_BACK, ThoughtWriter};
use super::tools::{merge, tool_type};
use crate::Dialect;
use crate::arguments;
use crate::blank_messages::remove_blank_messages;
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::generated_images;
use crate::json_path::{JsonPath, MESSAGES, SYSTEM};
use crate::model_text::{SEE_ATTACHMENTS, output_of};
use crate::neutral::{Block, Content, Map, Message, Request, Role, expand_server_calls};
use crate::plain_text::{ToolText, drop_text_marks, system_texts, tool_text};
use crate::tool_names::{nine_character_id, safe_id, safe_name};

/// Why a cache mark is dropped.
const CACHES_BY_ITSELF: &str = "the server caches prompts by itself";

pub(super) fn write_messages(
    request: &Request,
    options: &WriteOptions,
    drops: &mut Drops,
) -> Result<Vec<Value>, WireError> {
    let messages = join_calls(expand_server_calls(&request.messages, drops));
    let mut writer = MessageWriter {
        request,
        options,
        parts: ChatPartWriter {
            own: request.origin == Dialect::Chat,
            breakpoints: options.cache_breakpoints,
            document_urls: options.mistral_fields,
            drops,
        },
        out: Vec::with_capacity(messages.len() + 1),
    };
    writer.system()?;
    for (i, message) in messages.iter().enumerate() {
        let path = &MESSAGES.message(i, message);
        match message.role {
            Role::System => writer.plain(message, "system", path)?,
            Role::User => writer.user(message, path)?,
            Role::Assistant => writer.assistant(message, path)?,
        }
    }
    let (own, mut out) = (writer.parts.own, writer.out);
    remove_blank_messages(&mut out, str::is_empty, own);
    if options.mistral_rules {
        follow_mistral_order(&mut out);
    }
    if options.alternating_roles && !own {
        alternate(&mut out);
    }
    Ok(out)
}

struct MessageWriter<'a> {
    request: &'a Request,
    options: &'a WriteOptions,
    parts: ChatPartWriter<'a>,
    out: Vec<Value>,
}

impl MessageWriter<'_> {
    /// The id of a call, the same in the call and in its result.
    fn call_id<'i>(&self, id: &'i str) -> Cow<'i, str> {
        if self.options.mistral_rules {
            nine_character_id(id)
        } else {
            safe_id(id)
        }
    }

    /// Instructions of a Chat client remain separate messages; others become one text, which
    /// every server accepts, unless there are cache marks.
    fn system(&mut self) -> Result<(), WireError> {
        let system = &self.request.system;
        if self.parts.own || self.parts.breakpoints {
            for (i, block) in system.iter().enumerate() {
                let content = self.content(std::slice::from_ref(block), i, &SYSTEM)?;
                self.out.push(json!({"role": "system", "content": content}));
            }
            return Ok(());
        }
        for (i, block) in system.iter().enumerate() {
            if block.cache_control.is_some() {
                let path = SYSTEM.block(i, block);
                let path = path.key("cache_control");
                self.parts.drops.add(path, CACHES_BY_ITSELF);
            }
        }
        let texts = system_texts(system, self.parts.drops);
        if !texts.is_empty() {
            let text = texts.join("\n\n");
            self.out.push(json!({"role": "system", "content": text}));
        }
        Ok(())
    }

    /// A string for a single plain text, otherwise parts. `skipped` blocks come before
    /// these.
    fn content(
        &mut self,
        blocks: &[Block],
        skipped: usize,
        path: &JsonPath<'_>,
    ) -> Result<Value, WireError> {
        if let [block] = blocks
            && block.rest.is_empty()
            && (block.cache_control.is_none() || !self.parts.breakpoints)
            && let Content::Text(text) = &block.content
        {
            if block.cache_control.is_some() {
                let path = path.block(skipped, block);
                let path = path.key("cache_control");
                self.parts.drops.add(path, CACHES_BY_ITSELF);
            }
            return Ok(Value::String(text.clone()));
        }
        let mut parts = Vec::with_capacity(blocks.len());
        for (i, block) in blocks.iter().enumerate() {
            self.parts
                .write(block, &path.block(skipped + i, block), &mut parts)?;
        }
        Ok(Value::Array(parts))
    }

    fn push(&mut self, mut map: Map, message: &Message, path: &JsonPath<'_>) {
        if self.parts.own {
            map.extend(message.rest.clone());
        } else {
            self.parts.drops.rest(path, &message.rest);
        }
        self.out.push(Value::Object(map));
    }

    fn plain(
        &mut self,
        message: &Message,
        role: &str,
        path: &JsonPath<'_>,
    ) -> Result<(), WireError> {
        let content = self.content(&message.content, 0, &path.key("content"))?;
        let map = Map::from_iter([
            ("role".to_owned(), role.into()),
            ("content".to_owned(), content),
        ]);
        self.push(map, message, path);
        Ok(())
    }

    /// Results first, one message each, directly after the call; then the user's text, with the
    /// images of the results.
    fn user(&mut self, message: &Message, path: &JsonPath<'_>) -> Result<(), WireError> {
        let mut parts = Vec::new();
        let path_content = path.key("content");
        let mut others = Vec::new();
        for (i, block) in message.content.iter().enumerate() {
            let path = &path_content.block(i, block);
            match &block.content {
                Content::ToolResult { .. } => self.result(block, path, &mut parts)?,
                _ => others.push((i, block)),
            }
        }
        if parts.is_empty() && others.len() == message.content.len() {
            return self.plain(message, "user", path);
        }
        if let ([], [(i, block)]) = (parts.as_slice(), others.as_slice()) {
            let content = self.content(std::slice::from_ref(*block), *i, &path_content)?;
            let map = Map::from_iter([
                ("role".to_owned(), "user".into()),
                ("content".to_owned(), content),
            ]);
            self.push(map, message, path);
            return Ok(());
        }
        for (i, block) in others {
            self.parts
                .write(block, &path_content.block(i, block), &mut parts)?;
        }
        if !parts.is_empty() {
            let map = Map::from_iter([
                ("role".to_owned(), "user".into()),
                ("content".to_owned(), parts.into()),
            ]);
            self.push(map, message, path);
        }
        Ok(())
    }

    fn result(
        &mut self,
        block: &Block,
        path: &JsonPath<'_>,
        media_parts: &mut Vec<Value>,
    ) -> Result<(), WireError> {
        let Content::ToolResult {
            tool_use_id,
            content,
            is_error,
        } = &block.content
        else {
            return Ok(());
        };
        let id = self.call_id(tool_use_id);
        let ToolText { mut text, media } = tool_text(content, *is_error);
        drop_text_marks(content, &media, path, self.parts.drops);
        if !media.is_empty() {
            let note = output_of(&id);
            media_parts.push(json!({"type": "text", "text": note}));
            if text.is_empty() {
                text = SEE_ATTACHMENTS.to_owned();
            }
        }
        for (i, inner) in media {
            let path = path.key("content");
            self.parts
                .write(inner, &path.block(i, inner), media_parts)?;
        }
        if block.cache_control.is_some() {
            self.parts
                .drops
                .add(path.key("cache_control"), CACHES_BY_ITSELF);
        }
        let mut map = Map::from_iter([
            ("role".to_owned(), "tool".into()),
            ("tool_call_id".to_owned(), id.into()),
            ("content".to_owned(), text.into()),
        ]);
        if self.parts.own {
            map.extend(block.rest.clone());
        } else {
            self.parts.drops.rest(path, &block.rest);
        }
        self.out.push(Value::Object(map));
        Ok(())
    }

    fn assistant(&mut self, message: &Message, path: &JsonPath<'_>) -> Result<(), WireError> {
        let has_calls = message
            .content
            .iter()
            .any(|block| matches!(block.content, Content::ToolUse { .. }));
        let mut assistant = AssistantParts {
            text: None,
            thoughts: ThoughtWriter::new(self.options, has_calls),
            calls: Vec::new(),
            images: Vec::new(),
        };
        for (i, block) in message.content.iter().enumerate() {
            let path = path.key("content");
            self.write_assistant_block(block, &path.block(i, block), &mut assistant)?;
        }
        let mut map = Map::from_iter([("role".to_owned(), "assistant".into())]);
        let content = match (assistant.text, assistant.calls.is_empty()) {
            (Some(text), _) => Value::String(text),
            (None, true) if !assistant.images.is_empty() => Value::Null,
            (None, true) => "".into(),
            (None, false) => Value::Null,
        };
        map.insert("content".to_owned(), content);
        assistant.thoughts.write(&mut map, &assistant.calls);
        if !assistant.images.is_empty() {
            map.insert("images".to_owned(), assistant.images.into());
        }
        if !assistant.calls.is_empty() {
            map.insert("tool_calls".to_owned(), assistant.calls.into());
        }
        self.push(map, message, path);
        Ok(())
    }

    fn write_assistant_block(
        &mut self,
        block: &Block,
        path: &JsonPath<'_>,
        assistant: &mut AssistantParts<'_>,
    ) -> Result<(), WireError> {
        match &block.content {
            Content::Text(text) => {
                assistant.thoughts.before_text();
                assistant.text.get_or_insert_default().push_str(text);
            }
            Content::Thinking {
                thinking,
                signature,
            } if assistant.thoughts.add(thinking, signature) => {}
            Content::Thinking { .. } | Content::RedactedThinking { .. } => {
                self.parts.drops.add(path, NO_THOUGHTS_BACK);
                return Ok(());
            }
            Content::ToolUse { id, name, input } => {
                let kind = tool_type(self.request, name);
                let mut call = write_call(&self.call_id(id), name, input, kind);
                let extra = assistant.thoughts.extra_of_call(assistant.calls.is_empty());
                if let Some(map) = call.as_object_mut() {
                    put(map, extra_content::FIELD, extra);
                    if self.parts.own {
                        merge(map, &block.rest);
                    }
                }
                assistant.calls.push(call);
            }
            Content::Image(source) if self.parts.own => {
                let image = generated_images::write_chat_image(source, assistant.images.len());
                assistant.images.extend(image);
            }
            Content::Image(_) | Content::Document { .. } => {
                self.parts.drops.add(path, generated_images::NO_IMAGES_BACK);
                let label = generated_images::describe_media(&block.content).unwrap_or_default();
                let text = assistant.text.get_or_insert_default();
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&label);
                return Ok(());
            }
            _ => {
                return Err(WireError::unsupported_part(
                    Dialect::Chat,
                    path,
                    block.content.kind(),
                ));
            }
        }
        if block.cache_control.is_some() {
            self.parts
                .drops
                .add(path.key("cache_control"), CACHES_BY_ITSELF);
        }
        // Texts become one string, which cannot carry other fields.
        if !self.parts.own || block.as_text().is_some() {
            self.parts.drops.rest(path, &block.rest);
        }
        Ok(())
    }
}

struct AssistantParts<'a> {
    text: Option<String>,
    thoughts: ThoughtWriter<'a>,
    calls: Vec<Value>,
    images: Vec<Value>,
}

fn write_call(id: &str, name: &str, input: &Value, kind: &str) -> Value {
    let name = safe_name(name);
    if kind == "custom" {
        let text = input.get("input").and_then(Value::as_str);
        let text = text.map_or_else(|| arguments::write(input), str::to_owned);
        return json!({"id": id, "type": "custom", "custom": {"name": name, "input": text}});
    }
    let arguments = arguments::write(input);
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}
