//! Items of a Responses stream that are whole: what deltas did not tell of them is told.

use serde_json::Value;

use super::item_in::{Ids, read_block, read_item};
use super::namespace::called;
use super::sealed;
use super::spoken_item::SpokenThought;
use super::stream_in::ResponsesReader;
use crate::blocks::Open;
use crate::calls::Fragment;
use crate::chat::escaped;
use crate::error::WireError;
use crate::fields::{Fields, Path};
use crate::neutral::{Block, Content, StreamEvent};

impl ResponsesReader {
    /// An item is whole: what deltas did not tell is told now.
    pub(super) fn item_done(
        &mut self,
        fields: &mut Fields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let index = fields.opt_u64("output_index")?;
        let root = Path::Root;
        let path = root.key("item");
        let value = fields.need("item")?;
        let mut item = Fields::of(value.clone(), &path)?;
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
                self.blocks.whole(read_block(kind, item, Ids::Kept)?, out);
            }
        }
        self.grown = false;
        Ok(())
    }

    fn message_done(
        &mut self,
        item: Value,
        path: &Path<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let begun = self.message.take();
        if self.grown {
            if let Some(message) = begun {
                message.end(&item, &mut self.blocks, out);
            }
        } else {
            self.end_calls(out);
            self.blocks.close(out);
            for mut block in read_item(item, path, Ids::Kept)?.blocks {
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
        if self.blocks.open() == Open::Text {
            self.blocks.close(out);
        }
        Ok(())
    }

    fn reasoning_done(
        &mut self,
        whole: &Value,
        item: &mut Fields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let id = item.opt_string("id")?.unwrap_or_default();
        let encrypted = item.opt_string("encrypted_content")?;
        self.thought = SpokenThought::new(whole);
        let thinking = match self.grown {
            true => String::new(),
            false => SpokenThought::text(whole),
        };
        let thought = match &encrypted {
            Some(encrypted) => sealed::thought(&id, String::new(), Some(encrypted)),
            None => sealed::thought(&id, String::new(), None),
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
        if self.blocks.open() == Open::Thinking {
            self.blocks.rest(self.thought.end(whole), out);
            self.blocks.close(out);
        }
        self.thought = SpokenThought::default();
        Ok(())
    }

    fn call_done(
        &mut self,
        kind: &str,
        index: Option<u64>,
        item: &mut Fields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let freeform = kind == "custom_tool_call";
        let key = if freeform { "input" } else { "arguments" };
        let text = item.opt_string(key)?.unwrap_or_default();
        let fragment = Fragment {
            index,
            id: item.opt_string("call_id")?,
            name: called(|key| item.peek(key), &self.context.names),
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
