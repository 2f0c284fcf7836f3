//! The prompt of the next turn, as lengths.

use super::segment::{Segment, SegmentOwner};

/// The pieces of a prompt, in the order in which providers cache them.
#[derive(Debug, Default)]
pub(super) struct PromptBytes {
    tools: Vec<Segment>,
    /// How many tools are counted. Tools are only ever added, so others are the same.
    tool_count: usize,
    system: Vec<Segment>,
    messages: Vec<Segment>,
}

impl PromptBytes {
    /// Whether the tools have changed.
    pub(super) fn needs_tools(&self, count: usize) -> bool {
        self.tool_count != count
    }

    pub(super) fn set_tools(&mut self, count: usize, pieces: impl Iterator<Item = Segment>) {
        self.tool_count = count;
        self.tools.clear();
        for piece in pieces {
            push(&mut self.tools, piece.owner, piece.bytes as usize);
        }
    }

    pub(super) fn add_system(&mut self, owner: SegmentOwner, bytes: usize) {
        push(&mut self.system, owner, bytes);
    }

    pub(super) fn add_message(&mut self, owner: SegmentOwner, bytes: usize) {
        push(&mut self.messages, owner, bytes);
    }

    /// All pieces, in order.
    pub(super) fn pieces(&self) -> Vec<Segment> {
        [&*self.tools, &*self.system, &*self.messages].concat()
    }
}

/// Appends a piece, to the last one if that has the same owner.
fn push(pieces: &mut Vec<Segment>, owner: SegmentOwner, bytes: usize) {
    let new = Segment::new(owner, bytes);
    match pieces.last_mut() {
        Some(last) if last.owner == owner => last.bytes = last.bytes.saturating_add(new.bytes),
        _ => pieces.push(new),
    }
}
