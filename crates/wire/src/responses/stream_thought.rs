//! A reasoning item of a Responses stream while it is written.

use serde_json::{Value, json};

use super::item_event::ItemEvent;
use super::item_in::texts;
use super::response_out::reasoning;
use super::source_item;
use crate::neutral::{Block, Content, Delta, merge};

/// The open thought.
#[derive(Debug)]
pub(super) struct ThoughtItem {
    pub(super) id: String,
    block: Block,
    /// Whether the text is the thought itself and not its summary.
    is_content: bool,
    /// The open part, if there is one.
    part: Option<String>,
    /// The parts that are whole.
    parts: Vec<String>,
    /// Whether the next delta only separates two texts, which are separate parts here.
    skips: bool,
}

impl ThoughtItem {
    pub(super) fn new(id: String, block: &Block) -> Self {
        ThoughtItem {
            id,
            block: block.clone(),
            is_content: false,
            part: None,
            parts: Vec::new(),
            skips: false,
        }
    }

    pub(super) fn start(&self) -> Vec<ItemEvent> {
        let mut empty = Block::text("");
        if let Some(item) = source_item::item(&self.block) {
            let item = source_item::without(item, &["summary", "content"]);
            source_item::mark_item(&mut empty, item);
        }
        let item = reasoning(&self.id, "", &empty);
        vec![("response.output_item.added", json!({"item": item}))]
    }

    pub(super) fn grow(&mut self, delta: &Delta) -> Vec<ItemEvent> {
        match delta {
            Delta::Thinking(_) if std::mem::take(&mut self.skips) => Vec::new(),
            Delta::Thinking(text) if !text.is_empty() => match self.known_parts(text) {
                Some(parts) => self.think_parts(&parts),
                None => self.think(text),
            },
            Delta::Signature(whole) => {
                if let Content::Thinking { signature, .. } = &mut self.block.content {
                    whole.clone_into(signature);
                }
                Vec::new()
            }
            Delta::Rest(more) => {
                merge(&mut self.block.rest, more.clone());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// The parts of a text that is sent at once, where they are known from the start.
    fn known_parts(&self, text: &str) -> Option<Vec<String>> {
        let item = source_item::item(&self.block)?;
        let key = if texts(item.get("summary")).is_empty() {
            "content"
        } else {
            "summary"
        };
        let parts = item.get(key)?.as_array()?.iter();
        let parts: Vec<&str> = parts
            .filter_map(|part| part.get("text")?.as_str())
            .collect();
        let is_all = parts.join("\n\n") == text && self.parts.is_empty() && self.part.is_none();
        is_all.then(|| parts.into_iter().map(str::to_owned).collect())
    }

    fn think_parts(&mut self, parts: &[String]) -> Vec<ItemEvent> {
        let item = source_item::item(&self.block);
        let is_content = item.is_some_and(|item| texts(item.get("summary")).is_empty());
        self.is_content = is_content;
        let mut events = Vec::new();
        for part in parts {
            events.extend(self.think(part));
            events.extend(self.stop_part());
        }
        events
    }

    /// What follows is the thought itself, which servers of open models send.
    pub(super) fn switch_to_content(&mut self) {
        self.is_content = self.is_content || (self.part.is_none() && self.parts.is_empty());
    }

    /// What follows is a new part; the separator between the two is not sent.
    pub(super) fn next_part(&mut self) -> Vec<ItemEvent> {
        self.skips = true;
        self.stop_part()
    }

    fn think(&mut self, text: &str) -> Vec<ItemEvent> {
        let mut events = Vec::new();
        let at = self.parts.len();
        if self.part.is_none() {
            events.push(self.part_event("added", at, ""));
        }
        self.part.get_or_insert_default().push_str(text);
        let mut fields = self.place(at);
        put(&mut fields, "delta", text.into());
        let name = if self.is_content {
            "response.reasoning_text.delta"
        } else {
            "response.reasoning_summary_text.delta"
        };
        events.push((name, fields));
        events
    }

    fn stop_part(&mut self) -> Vec<ItemEvent> {
        let Some(text) = self.part.take() else {
            return Vec::new();
        };
        let at = self.parts.len();
        let mut fields = self.place(at);
        put(&mut fields, "text", text.as_str().into());
        let name = if self.is_content {
            "response.reasoning_text.done"
        } else {
            "response.reasoning_summary_text.done"
        };
        let mut events = vec![(name, fields)];
        events.push(self.part_event("done", at, &text));
        self.parts.push(text);
        events
    }

    fn part_event(&self, what: &str, at: usize, text: &str) -> ItemEvent {
        let name = match (self.is_content, what) {
            (false, "added") => "response.reasoning_summary_part.added",
            (false, _) => "response.reasoning_summary_part.done",
            (true, "added") => "response.content_part.added",
            (true, _) => "response.content_part.done",
        };
        let mut fields = self.place(at);
        put(&mut fields, "part", self.part_of(text));
        (name, fields)
    }

    fn part_of(&self, text: &str) -> Value {
        let kind = if self.is_content {
            "reasoning_text"
        } else {
            "summary_text"
        };
        json!({"type": kind, "text": text})
    }

    fn place(&self, at: usize) -> Value {
        if self.is_content {
            json!({"item_id": self.id, "content_index": at})
        } else {
            json!({"item_id": self.id, "summary_index": at})
        }
    }

    /// The last events of the item, and the item itself.
    pub(super) fn stop(mut self) -> (Vec<ItemEvent>, Value) {
        let mut events = self.stop_part();
        let parts: Vec<Value> = self.parts.iter().map(|text| self.part_of(text)).collect();
        let mut item = reasoning(&self.id, "", &self.block);
        let key = if self.is_content {
            "content"
        } else {
            "summary"
        };
        let own = source_item::item(&self.block).and_then(|own| own.get(key)?.as_array());
        if own.is_none_or(Vec::is_empty) && !parts.is_empty() {
            put(&mut item, key, parts.into());
        }
        events.push(("response.output_item.done", json!({"item": item})));
        (events, item)
    }
}

fn put(fields: &mut Value, key: &str, value: Value) {
    if let Some(map) = fields.as_object_mut() {
        map.insert(key.to_owned(), value);
    }
}
