//! Complete items of a Responses stream: emits what deltas did not contain.

use serde_json::Value;

use super::item_in::{IdPolicy, read_block, read_item};
use super::namespace::called_name;
use super::reasoning_signature;
use super::stream_in::ResponsesReader;
use super::stream_item_in::ReasoningItemReader;
use crate::blocks::OpenBlockKind;
use crate::calls::CallFragment;
use crate::chat::escaped;
use crate::error::WireError;
use crate::fields::JsonFields;
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, StreamEvent};

impl ResponsesReader {
    /// An item is complete: emits what deltas did not contain.
    pub(super) fn item_done(
        &mut self,
        fields: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let index = fields.opt_u64("output_index")?;
        let root = JsonPath::Root;
        let path = root.key("item");
        let value = fields.require("item")?;
        let mut item = JsonFields::from_value(value.clone(), &path)?;
        let kind = item.string("type")?;
        if self.hosted.is_open(index) {
            self.hosted.end();
        }
        match kind.as_str() {
            "message" => self.message_done(value, &path, out)?,
            "reasoning" => self.reasoning_done(&value, &mut item, out)?,
            "function_call" | "custom_tool_call" => self.call_done(&kind, index, &mut item, out)?,
            _ => {
                self.end_calls(out);
                self.blocks
                    .whole(read_block(kind, item, IdPolicy::Keep)?, out);
            }
        }
        self.grown = false;
        Ok(())
    }

    fn message_done(
        &mut self,
        item: Value,
        path: &JsonPath<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let started = self.message.take();
        if self.grown {
            if let Some(message) = started {
                message.end(&item, &mut self.blocks, out);
            }
        } else {
            self.end_calls(out);
            self.blocks.close(out);
            for mut block in read_item(item, path, IdPolicy::Keep)?.blocks {
                match std::mem::replace(&mut block.content, Content::Text(String::new())) {
                    Content::Text(text) if !text.is_empty() => {
                        self.blocks.text_in(|| block, text, out);
                        self.blocks.close(out);
                    }
                    Content::Text(_) => {}
                    content => self.blocks.whole(Block { content, ..block }, out),
                }
            }
        }
        if self.blocks.open() == OpenBlockKind::Text {
            self.blocks.close(out);
        }
        Ok(())
    }

    fn reasoning_done(
        &mut self,
        whole: &Value,
        item: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let id = item.opt_string("id")?.unwrap_or_default();
        let encrypted = item.opt_string("encrypted_content")?;
        self.thought = ReasoningItemReader::new(whole);
        let thinking = if self.grown {
            String::new()
        } else {
            ReasoningItemReader::text(whole)
        };
        let thought = match &encrypted {
            Some(encrypted) => {
                reasoning_signature::read_thought(&id, String::new(), Some(encrypted))
            }
            None => reasoning_signature::read_thought(&id, String::new(), None),
        };
        let Content::Thinking { signature, .. } = thought else {
            self.end_calls(out);
            self.blocks.whole(Block::new(thought), out);
            return Ok(());
        };
        if !thinking.is_empty() || !signature.is_empty() || !id.is_empty() {
            self.end_calls(out);
            let thought = &self.thought;
            self.blocks.begin_thought(|| thought.rest(), out);
        }
        if !thinking.is_empty() {
            self.blocks.thinking(thinking, out);
        }
        if !signature.is_empty() {
            self.blocks.signature(signature, out);
        }
        if self.blocks.open() == OpenBlockKind::Thinking {
            self.blocks.rest(self.thought.end(whole), out);
            self.blocks.close(out);
        }
        self.thought = ReasoningItemReader::default();
        Ok(())
    }

    fn call_done(
        &mut self,
        kind: &str,
        index: Option<u64>,
        item: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let freeform = kind == "custom_tool_call";
        let key = if freeform { "input" } else { "arguments" };
        let text = item.opt_string(key)?.unwrap_or_default();
        let fragment = CallFragment {
            index,
            id: item.opt_string("call_id")?,
            name: called_name(|key| item.peek(key), &self.context.names),
            arguments: match (self.grown, freeform) {
                (true, _) => String::new(),
                (false, true) => escaped(&text),
                (false, false) => text,
            },
            freeform,
            signature: None,
        };
        self.fragment(fragment, out);
        if self.calls.all_complete() {
            self.end_calls(out);
        }
        Ok(())
    }
}
