//! Messages and thoughts of a Responses stream while they are read: what is known of
//! their items at the beginning, and what only at the end.

use serde_json::{Value, json};

use super::item_in::texts;
use super::source_item;
use crate::blocks::{BlockEmitter, OpenBlockKind};
use crate::neutral::{Block, DIALECT_FIELDS, Map, StreamEvent};
use crate::openai::mark_refusal;

/// More of a message's text.
pub(super) struct TextDelta {
    pub(super) text: String,
    /// Whether it is of a refusal.
    pub(super) refused: bool,
    pub(super) logprobs: Option<Value>,
}

/// The open message.
#[derive(Debug)]
pub(super) struct MessageItemReader {
    item: Map,
    /// The open part, by the server's index, and how many have started.
    place: u64,
    started_parts: usize,
    /// The final form of the part.
    part: Option<Value>,
}

impl MessageItemReader {
    pub(super) fn new(item: &Value) -> Self {
        let item = item.as_object().map(message_fields).unwrap_or_default();
        MessageItemReader {
            item: source_item::without(&item, &["status"]),
            place: 0,
            started_parts: 0,
            part: None,
        }
    }

    /// More text, of the part at this place.
    pub(super) fn grow(
        &mut self,
        place: Option<u64>,
        delta: TextDelta,
        blocks: &mut BlockEmitter,
        out: &mut Vec<StreamEvent>,
    ) {
        if let Some(place) = place.filter(|place| *place != self.place) {
            if self.started_parts > 0 && blocks.open() == OpenBlockKind::Text {
                let rest = self.part.take().map(|part| part_fields(&part));
                blocks.rest(rest.unwrap_or_default(), out);
                blocks.close(out);
            }
            self.place = place;
        }
        let is_new = blocks.open() != OpenBlockKind::Text;
        let (part, item) = (self.started_parts, &self.item);
        let block = || {
            let mut block = Block::text("");
            source_item::mark_part(&mut block, part, false, item);
            if delta.refused {
                mark_refusal(&mut block);
            }
            block
        };
        let logprobs = delta.logprobs;
        let some = logprobs.filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
        if let Some(logprobs) = some {
            blocks.begin_text(block, out);
            out.push(StreamEvent::Other {
                name: "response.output_text.delta".to_owned(),
                data: Map::from_iter([("logprobs".to_owned(), logprobs)]),
            });
        }
        blocks.text_in(block, delta.text, out);
        self.started_parts += usize::from(is_new);
    }

    /// A part is whole.
    pub(super) fn end_part(&mut self, part: Value) {
        self.part = Some(part);
    }

    /// The message is whole.
    pub(super) fn end(self, item: &Value, blocks: &mut BlockEmitter, out: &mut Vec<StreamEvent>) {
        if blocks.open() != OpenBlockKind::Text {
            return;
        }
        let place = usize::try_from(self.place).unwrap_or_default();
        let part = item.get("content").and_then(|parts| parts.get(place));
        let part = part.or(self.part.as_ref());
        let mut rest = part.map(part_fields).unwrap_or_default();
        let fields = item.as_object().map(message_fields).unwrap_or_default();
        rest.extend(source_item::end_of_message(&fields));
        blocks.rest(rest, out);
        blocks.close(out);
    }
}

/// The fields of a message other than its parts.
fn message_fields(item: &Map) -> Map {
    source_item::without(item, &["type", "role", "content"])
}

/// The fields of a part other than its text; empty lists are left out.
fn part_fields(part: &Value) -> Map {
    let fields = part.as_object().into_iter().flatten();
    let set = fields.filter(|(key, value)| {
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        !is_empty && !["type", "text", "refusal"].contains(&key.as_str())
    });
    set.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The open thought.
#[derive(Debug, Default)]
pub(super) struct ReasoningItemReader {
    item: Map,
}

impl ReasoningItemReader {
    pub(super) fn new(item: &Value) -> Self {
        let item = item.as_object().map(|item| {
            let late = ["type", "summary", "content", "encrypted_content", "status"];
            source_item::without(item, &late)
        });
        ReasoningItemReader {
            item: item.unwrap_or_default(),
        }
    }

    /// What a block of the thought begins with.
    pub(super) fn rest(&self) -> Map {
        if self.item.is_empty() {
            Map::new()
        } else {
            own(&self.item)
        }
    }

    /// What is known at its end.
    pub(super) fn end(&self, item: &Value) -> Map {
        let item = item.as_object().map(|item| {
            let elsewhere = ["type", "encrypted_content", "status"];
            source_item::without(item, &elsewhere)
        });
        item.map(|item| own(&item)).unwrap_or_default()
    }

    /// Its text.
    pub(super) fn text(item: &Value) -> String {
        let summary = texts(item.get("summary"));
        if summary.is_empty() {
            texts(item.get("content"))
        } else {
            summary
        }
    }
}

fn own(item: &Map) -> Map {
    Map::from_iter([(DIALECT_FIELDS.to_owned(), json!({ "item": item }))])
}
