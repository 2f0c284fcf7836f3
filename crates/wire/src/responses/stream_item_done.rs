//! Complete items of a Responses stream: emits what deltas did not contain.

use serde_json::{Value, json};

use super::grown_items::{GrowingItemKind, ItemGrowth, ItemKey};
use super::item_in::{IdPolicy, read_block, read_item};
use super::namespace::called_name;
use super::price_details::is_web_search;
use super::reasoning_signature;
use super::response_in::refusal_in;
use super::stream_in::ResponsesReader;
use super::stream_item_in::ReasoningItemReader;
use crate::blocks::OpenBlockKind;
use crate::calls::CallFragment;
use crate::chat::escaped;
use crate::error::WireError;
use crate::fields::JsonFields;
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, StreamEvent};
use crate::openai::mark_refusal;

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
        self.web_searches += u64::from(is_web_search(&value));
        let mut item = JsonFields::from_value(value.clone(), &path)?;
        let kind = item.string("type")?;
        if self.hosted.is_open(index) {
            self.hosted.end();
        }
        let key = ItemKey::from_item(&value, index);
        match kind.as_str() {
            "message" => {
                let growth = self.grown.end(GrowingItemKind::Message, &key);
                self.message_done(value, growth, &path, out)
            }
            "reasoning" => {
                let growth = self.grown.end(GrowingItemKind::Reasoning, &key);
                self.reasoning_done(&value, growth, &mut item, out)
            }
            "function_call" | "custom_tool_call" => {
                let growth = self.grown.end(GrowingItemKind::Call, &key);
                self.call_done(&kind, index, growth, &mut item, out)
            }
            _ => {
                self.end_calls(out);
                self.blocks
                    .whole(read_block(kind, item, IdPolicy::Keep)?, out);
                Ok(())
            }
        }
    }

    /// The items of a response of which nothing was streamed: some servers send nothing but
    /// the end.
    pub(super) fn unstreamed_items(
        &mut self,
        response: &Value,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        if !self.blocks.is_empty() || !self.calls.is_empty() {
            return Ok(());
        }
        let items = response.get("output").and_then(Value::as_array);
        for (index, item) in items.into_iter().flatten().enumerate() {
            let event = json!({"output_index": index, "item": item});
            let mut fields = JsonFields::from_value(event, &JsonPath::Root)?;
            self.item_done(&mut fields, out)?;
        }
        Ok(())
    }

    fn message_done(
        &mut self,
        item: Value,
        growth: ItemGrowth,
        path: &JsonPath<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        if growth == ItemGrowth::Earlier {
            // Its block has ended with the beginning of the next.
            return Ok(());
        }
        let started = self.message.take();
        if growth == ItemGrowth::Latest {
            if let Some(message) = started {
                message.end(&item, &mut self.blocks, out);
            }
        } else {
            self.end_calls(out);
            self.blocks.close(out);
            let refusal = refusal_in(&item).unwrap_or_default().to_owned();
            self.refusal.push_str(&refusal);
            for mut block in read_item(item, path, IdPolicy::Keep)?.blocks {
                if !refusal.is_empty() && block.as_text() == Some(refusal.as_str()) {
                    mark_refusal(&mut block);
                }
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
        self.close_block(OpenBlockKind::Text, out);
        Ok(())
    }

    fn reasoning_done(
        &mut self,
        whole: &Value,
        growth: ItemGrowth,
        item: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let is_open = self.blocks.open() == OpenBlockKind::Thinking;
        match growth {
            ItemGrowth::Nothing => {}
            ItemGrowth::Latest if is_open => {}
            // Its block has ended with the beginning of the next, so that not even its
            // signature can be added.
            ItemGrowth::Latest | ItemGrowth::Earlier => return Ok(()),
        }
        let id = item.opt_string("id")?.unwrap_or_default();
        let encrypted = item.opt_string("encrypted_content")?;
        self.thought = ReasoningItemReader::new(whole);
        let thinking = match growth {
            ItemGrowth::Nothing => ReasoningItemReader::text(whole),
            ItemGrowth::Latest | ItemGrowth::Earlier => String::new(),
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
        growth: ItemGrowth,
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
            arguments: match (growth, freeform) {
                (ItemGrowth::Nothing, true) => escaped(&text),
                (ItemGrowth::Nothing, false) => text,
                (ItemGrowth::Latest | ItemGrowth::Earlier, _) => String::new(),
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
