//! A message of a Responses stream while it is written: its parts, one after the other.

use serde_json::{Value, json};

use super::item_event::ItemEvent;
use super::response_out::{message, refusal_part, text_part};
use super::source_item;
use crate::neutral::{ANNOTATIONS, Block, Delta, add_annotations, merge};
use crate::openai::is_refusal;

/// The open message.
#[derive(Debug)]
pub(super) struct MessageItem {
    pub(super) id: String,
    /// The open part, with what is known of the whole message.
    block: Block,
    text: String,
    /// The parts that are whole.
    parts: Vec<Value>,
    /// Whether a part is open.
    open: bool,
    /// The log probabilities of the next text delta, where the upstream sent them.
    logprobs: Option<Value>,
    /// Annotations of the open part that are known only from their events.
    announced: Vec<Value>,
}

impl MessageItem {
    pub(super) fn new(id: String, block: &Block) -> Self {
        MessageItem {
            id,
            block: block.clone(),
            text: String::new(),
            parts: Vec::new(),
            open: true,
            logprobs: None,
            announced: Vec::new(),
        }
    }

    pub(super) fn start(&self) -> Vec<ItemEvent> {
        let mut item = message(&self.id, "in_progress", json!([]), &self.block);
        if let Some(map) = item.as_object_mut() {
            map.insert("status".to_owned(), "in_progress".into());
        }
        let added = ("response.output_item.added", json!({"item": item}));
        vec![added, self.part_added()]
    }

    fn part_added(&self) -> ItemEvent {
        let part = if is_refusal(&self.block) {
            refusal_part("")
        } else {
            text_part("", &Block::text(""))
        };
        let fields = json!({"item_id": self.id, "content_index": self.parts.len(), "part": part});
        ("response.content_part.added", fields)
    }

    /// Begins the next part.
    pub(super) fn next_part(&mut self, block: &Block) -> Vec<ItemEvent> {
        self.block = block.clone();
        self.text.clear();
        self.open = true;
        vec![self.part_added()]
    }

    /// Stores the log probabilities of the next text.
    pub(super) fn expect_logprobs(&mut self, logprobs: Value) {
        self.logprobs = Some(logprobs);
    }

    pub(super) fn grow(&mut self, delta: &Delta) -> Vec<ItemEvent> {
        match delta {
            Delta::Text(text) if is_refusal(&self.block) => {
                self.text.push_str(text);
                let fields = json!({"item_id": self.id, "content_index": self.parts.len(),
                    "delta": text});
                vec![("response.refusal.delta", fields)]
            }
            Delta::Text(text) => {
                self.text.push_str(text);
                let logprobs = self.logprobs.take().unwrap_or_else(|| json!([]));
                let fields = json!({"item_id": self.id, "content_index": self.parts.len(),
                    "delta": text, "logprobs": logprobs});
                vec![("response.output_text.delta", fields)]
            }
            Delta::Rest(more) => {
                if more.contains_key(ANNOTATIONS) {
                    self.announced.clear();
                }
                merge(&mut self.block.rest, more.clone());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Records an annotation of the open part, and sets the indexes of its event. A Chat
    /// server's has no number yet.
    pub(super) fn annotate(&mut self, fields: &mut Value) {
        if let Some(map) = fields.as_object_mut() {
            let known = self.block.rest.get(ANNOTATIONS).and_then(Value::as_array);
            let number = known.map_or(0, Vec::len) + self.announced.len();
            map.entry("annotation_index").or_insert(number.into());
            self.announced.extend(map.get("annotation").cloned());
            map.insert("item_id".to_owned(), self.id.as_str().into());
            map.insert("content_index".to_owned(), self.parts.len().into());
        }
    }

    /// Closes the open part; returns whether the message ends with it.
    pub(super) fn stop_part(&mut self) -> (Vec<ItemEvent>, bool) {
        if !std::mem::take(&mut self.open) {
            return (Vec::new(), true);
        }
        add_annotations(&mut self.block.rest, std::mem::take(&mut self.announced));
        let (id, at) = (&self.id, self.parts.len());
        let (part, done) = if is_refusal(&self.block) {
            let fields = json!({"item_id": id, "content_index": at, "refusal": self.text});
            let done = ("response.refusal.done", fields);
            (refusal_part(&self.text), done)
        } else {
            let part = text_part(&self.text, &self.block);
            let logprobs = part.get("logprobs").cloned();
            let fields = json!({"item_id": id, "content_index": at, "text": self.text,
                "logprobs": logprobs});
            (part, ("response.output_text.done", fields))
        };
        let fields = json!({"item_id": id, "content_index": at, "part": part});
        let events = vec![done, ("response.content_part.done", fields)];
        self.parts.push(part);
        (events, source_item::ends_message(&self.block))
    }

    /// The last events of the message, and the message itself.
    pub(super) fn stop(mut self) -> (Vec<ItemEvent>, Value) {
        let (mut events, _) = self.stop_part();
        let parts = std::mem::take(&mut self.parts);
        let item = message(&self.id, "completed", parts.into(), &self.block);
        events.push(("response.output_item.done", json!({"item": item})));
        (events, item)
    }
}
