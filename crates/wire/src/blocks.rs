//! Keeps the blocks of a stream in order: dense indexes, one open at a time.
//!
//! Every reader of a dialect without Anthropic's block events builds its stream
//! through this.

use serde_json::Value;

use crate::neutral::{Block, Content, Delta, Map, StreamEvent};

/// Which block of a stream is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenBlockKind {
    Nothing,
    Text,
    Thinking,
    /// A call, by the reader's own key.
    Call(u64),
}

/// The blocks of a stream so far.
#[derive(Debug)]
pub(crate) struct BlockEmitter {
    open: OpenBlockKind,
    started: usize,
}

impl Default for BlockEmitter {
    fn default() -> Self {
        BlockEmitter {
            open: OpenBlockKind::Nothing,
            started: 0,
        }
    }
}

impl BlockEmitter {
    pub(crate) fn open(&self) -> OpenBlockKind {
        self.open
    }

    /// Whether no block has started.
    pub(crate) fn is_empty(&self) -> bool {
        self.started == 0
    }

    /// More text; starts a block if none is open.
    pub(crate) fn text(&mut self, text: String, out: &mut Vec<StreamEvent>) {
        self.text_in(|| Block::text(""), text, out);
    }

    /// The same; the block, if it must begin, is this one.
    pub(crate) fn text_in(
        &mut self,
        block: impl FnOnce() -> Block,
        text: String,
        out: &mut Vec<StreamEvent>,
    ) {
        self.ensure_open(OpenBlockKind::Text, block, out);
        self.delta(Delta::Text(text), out);
    }

    /// Begins a text, unless one is open, with this block.
    pub(crate) fn begin_text(&mut self, block: impl FnOnce() -> Block, out: &mut Vec<StreamEvent>) {
        self.ensure_open(OpenBlockKind::Text, block, out);
    }

    /// Begins a thought, unless one is open, with these unknown fields.
    pub(crate) fn begin_thought(&mut self, rest: impl FnOnce() -> Map, out: &mut Vec<StreamEvent>) {
        let block = || Block {
            rest: rest(),
            ..empty_thought()
        };
        self.ensure_open(OpenBlockKind::Thinking, block, out);
    }

    /// Fields of the open block that were not known when it began.
    pub(crate) fn rest(&mut self, more: Map, out: &mut Vec<StreamEvent>) {
        if self.open != OpenBlockKind::Nothing && !more.is_empty() {
            self.delta(Delta::Rest(more), out);
        }
    }

    /// A citation of the open text, in Anthropic's form.
    pub(crate) fn cite(&mut self, citation: Value, out: &mut Vec<StreamEvent>) {
        if self.open == OpenBlockKind::Text {
            let delta = Map::from_iter([
                ("type".to_owned(), "citations_delta".into()),
                ("citation".to_owned(), citation),
            ]);
            self.delta(Delta::Other(delta), out);
        }
    }

    /// More of a thought; starts a block if none is open.
    pub(crate) fn thinking(&mut self, text: String, out: &mut Vec<StreamEvent>) {
        self.ensure_open(OpenBlockKind::Thinking, empty_thought, out);
        self.delta(Delta::Thinking(text), out);
    }

    /// The signature of the open thought, or of an empty one.
    pub(crate) fn signature(&mut self, signature: String, out: &mut Vec<StreamEvent>) {
        self.ensure_open(OpenBlockKind::Thinking, empty_thought, out);
        self.delta(Delta::Signature(signature), out);
    }

    /// A call begins.
    pub(crate) fn call(&mut self, key: u64, id: String, name: String, out: &mut Vec<StreamEvent>) {
        let input = serde_json::json!({});
        self.ensure_open(
            OpenBlockKind::Call(key),
            || Block::tool_use(id, name, input),
            out,
        );
    }

    /// More of the open call's arguments.
    pub(crate) fn arguments(&mut self, json: String, out: &mut Vec<StreamEvent>) {
        if !json.is_empty() {
            self.delta(Delta::InputJson(json), out);
        }
    }

    /// A call that is whole from the start, with its arguments as JSON.
    pub(crate) fn whole_call(&mut self, call: Block, json: String, out: &mut Vec<StreamEvent>) {
        self.close(out);
        let index = self.started;
        self.started += 1;
        out.push(StreamEvent::BlockStart { index, block: call });
        self.arguments(json, out);
        out.push(StreamEvent::BlockStop { index });
    }

    /// A block that is whole from the start.
    pub(crate) fn whole(&mut self, block: Block, out: &mut Vec<StreamEvent>) {
        self.close(out);
        let index = self.started;
        self.started += 1;
        out.push(StreamEvent::BlockStart { index, block });
        out.push(StreamEvent::BlockStop { index });
    }

    /// Ends the open block, if one is.
    pub(crate) fn close(&mut self, out: &mut Vec<StreamEvent>) {
        if self.open != OpenBlockKind::Nothing {
            self.open = OpenBlockKind::Nothing;
            out.push(StreamEvent::BlockStop {
                index: self.started.saturating_sub(1),
            });
        }
    }

    fn ensure_open(
        &mut self,
        kind: OpenBlockKind,
        block: impl FnOnce() -> Block,
        out: &mut Vec<StreamEvent>,
    ) {
        if self.open == kind {
            return;
        }
        self.close(out);
        out.push(StreamEvent::BlockStart {
            index: self.started,
            block: block(),
        });
        self.started += 1;
        self.open = kind;
    }

    fn delta(&mut self, delta: Delta, out: &mut Vec<StreamEvent>) {
        out.push(StreamEvent::BlockDelta {
            index: self.started.saturating_sub(1),
            delta,
        });
    }
}

fn empty_thought() -> Block {
    Block::new(Content::Thinking {
        thinking: String::new(),
        signature: String::new(),
    })
}
