//! Ids of calls, each of them once in a conversation.
//!
//! Some servers count their calls anew in every response, or give several calls the same id.
//! Clients find the call of a result by its id, and most vendors refuse a conversation in which two
//! calls have the same.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use crate::neutral::{Block, Content, Message, Role, StreamEvent};
use crate::tool_names::generated_call_id;

/// The ids of all calls in a conversation.
pub(crate) fn known_call_ids(messages: &[Message]) -> Arc<HashSet<String>> {
    Arc::new(call_ids(messages).map(str::to_owned).collect())
}

fn call_ids(messages: &[Message]) -> impl Iterator<Item = &str> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    blocks.filter_map(|block| match &block.content {
        Content::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    })
}

/// Gives each call an id that no other has.
#[derive(Debug, Default)]
pub(crate) struct UniqueCallIds {
    /// The ids of earlier calls.
    earlier: Arc<HashSet<String>>,
    /// The ids of the calls since.
    used: HashSet<String>,
    /// How many other ids were derived from an id.
    derived: HashMap<String, usize>,
}

impl UniqueCallIds {
    /// For the calls after those with these ids.
    pub(crate) fn after(earlier: &Arc<HashSet<String>>) -> Self {
        UniqueCallIds {
            earlier: Arc::clone(earlier),
            ..UniqueCallIds::default()
        }
    }

    /// Changes the id of a block if that is a call with the id of another.
    pub(crate) fn rename_call(&mut self, block: &mut Block) {
        if let Content::ToolUse { id, .. } = &mut block.content {
            *id = self.unique(id);
        }
    }

    /// Does so for the calls of a stream.
    pub(crate) fn rename_streamed(&mut self, events: &mut [StreamEvent]) {
        for event in events {
            if let StreamEvent::BlockStart { block, .. } = event {
                self.rename_call(block);
            }
        }
    }

    /// The id itself, or one derived from it: the same each time for the same calls, so that
    /// prompts stay the same.
    fn unique(&mut self, id: &str) -> String {
        if self.reserve(id) {
            return id.to_owned();
        }
        let mut number = self.derived.get(id).copied().unwrap_or(0);
        loop {
            number += 1;
            let other = generated_call_id(&format!("repeated/{id}"), number);
            if self.reserve(&other) {
                self.derived.insert(id.to_owned(), number);
                return other;
            }
        }
    }

    /// Whether an id was free.
    fn reserve(&mut self, id: &str) -> bool {
        !self.earlier.contains(id) && self.used.insert(id.to_owned())
    }
}

/// Whether several calls of a conversation have the same id.
pub(crate) fn has_repeated_ids(messages: &[Message]) -> bool {
    let mut known = HashSet::new();
    call_ids(messages).any(|id| !known.insert(id))
}

/// Gives each call of a conversation an id of its own, and its result the same.
pub(crate) fn rename_repeated_ids(messages: &mut [Message]) {
    if !has_repeated_ids(messages) {
        return;
    }
    let mut ids = UniqueCallIds::default();
    let mut open: HashMap<String, OpenCallIds> = HashMap::new();
    let mut turn = 0;
    for message in messages {
        for block in &mut message.content {
            match &mut block.content {
                Content::ToolUse { id, .. } => {
                    let unique = ids.unique(id);
                    let same = open.entry(id.clone()).or_default();
                    same.add(turn, unique.clone());
                    *id = unique;
                }
                Content::ToolResult { tool_use_id, .. } => {
                    let call = open.get_mut(tool_use_id.as_str());
                    if let Some(unique) = call.and_then(OpenCallIds::next_call) {
                        *tool_use_id = unique;
                    }
                }
                _ => {}
            }
        }
        turn += usize::from(message.role != Role::Assistant);
    }
}

/// The calls of one turn that had the same id, by their new ids.
#[derive(Default)]
struct OpenCallIds {
    turn: usize,
    ids: VecDeque<String>,
}

impl OpenCallIds {
    /// Adds a call. Results of calls in earlier turns do not follow any more.
    fn add(&mut self, turn: usize, id: String) {
        if self.turn != turn {
            self.turn = turn;
            self.ids.clear();
        }
        self.ids.push_back(id);
    }

    /// The call that the next result belongs to: results come in the order of the calls.
    fn next_call(&mut self) -> Option<String> {
        if self.ids.len() > 1 {
            return self.ids.pop_front();
        }
        self.ids.front().cloned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ids(messages: &[Message]) -> Vec<&str> {
        let blocks = messages.iter().flat_map(|message| &message.content);
        let ids = blocks.filter_map(|block| match &block.content {
            Content::ToolUse { id, .. } => Some(id.as_str()),
            Content::ToolResult { tool_use_id, .. } => Some(tool_use_id.as_str()),
            _ => None,
        });
        ids.collect()
    }

    fn turn(calls: &[&str], results: &[&str]) -> [Message; 2] {
        let calls = calls
            .iter()
            .map(|id| Block::tool_use(*id, "look", json!({})));
        let results = results.iter().map(|id| Block::tool_result(*id, "ok"));
        [
            Message::new(Role::Assistant, calls.collect()),
            Message::new(Role::User, results.collect()),
        ]
    }

    #[test]
    fn ids_that_occur_once_are_unchanged() {
        let mut messages = [turn(&["a", "b"], &["b", "a"]), turn(&["c"], &["c"])].concat();
        let before = messages.clone();
        rename_repeated_ids(&mut messages);
        assert_eq!(messages, before);
    }

    #[test]
    fn a_result_goes_with_the_call_of_its_turn() {
        let turns = [
            turn(&["a", "x"], &["x", "a"]),
            // The first call of this turn was never answered.
            turn(&["a"], &[]),
            turn(&["a"], &["a"]),
        ];
        let mut messages = turns.concat();
        rename_repeated_ids(&mut messages);
        let ids = ids(&messages);
        assert_eq!(ids[..4], ["a", "x", "x", "a"]);
        assert_eq!(ids[5], ids[6]);
        assert_eq!(HashSet::from([ids[0], ids[4], ids[5]]).len(), 3, "{ids:?}");
    }

    #[test]
    fn results_of_calls_with_one_id_are_in_the_order_of_the_calls() {
        let mut messages = turn(&["", "", ""], &["", "", ""]);
        rename_repeated_ids(&mut messages);
        let ids = ids(&messages);
        assert_eq!(ids[..3], ids[3..]);
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 3, "{ids:?}");
    }

    #[test]
    fn an_id_of_an_earlier_call_is_replaced_by_the_same_one_each_time() {
        let earlier = known_call_ids(&turn(&["a"], &["a"]));
        let renamed = |id: &str| {
            let mut block = Block::tool_use(id, "look", json!({}));
            UniqueCallIds::after(&earlier).rename_call(&mut block);
            ids(&[Message::new(Role::Assistant, vec![block])])[0].to_owned()
        };
        assert_eq!(renamed("b"), "b");
        assert_ne!(renamed("a"), "a");
        assert_eq!(renamed("a"), renamed("a"));
    }
}
