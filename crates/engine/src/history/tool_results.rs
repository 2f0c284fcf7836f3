//! The place of results in a conversation: in the message after the calls, in the order of
//! the calls, together with the client's.
//!
//! Clients decide how many calls and results there are, so nothing here searches the
//! conversation once per call.

use std::collections::{BTreeSet, HashMap};

use prowess_wire::neutral::{Block, Content, Message, Role};

/// Adds results of Prowess's tools: to the client's results of the same turn if there are
/// any, else as a message of their own.
pub(crate) fn add_results(messages: &mut Vec<Message>, results: Vec<Block>) {
    let mut turns = TurnIndex::default();
    let mut own = Vec::new();
    for result in results {
        own.extend(turns.insert(messages, result));
    }
    turns.sort_results(messages);
    if !own.is_empty() {
        messages.push(Message::new(Role::User, own));
    }
}

/// The turns of a conversation by their calls, while results are inserted.
#[derive(Debug, Default)]
pub(crate) struct TurnIndex {
    by_call: HashMap<String, usize>,
    /// How many messages are indexed.
    indexed: usize,
    /// Turns whose results must be sorted.
    unordered: BTreeSet<usize>,
}

impl TurnIndex {
    /// Inserts a result among the client's results of the same turn; returns it if there are
    /// none. They are unsorted until [`sort_results`](Self::sort_results). Since the last
    /// call, messages may only have been appended.
    pub(crate) fn insert(&mut self, messages: &mut [Message], result: Block) -> Option<Block> {
        self.index(messages);
        let turn = answered_call_id(&result).and_then(|id| self.by_call.get(id).copied());
        let Some(turn) = turn else {
            return Some(result);
        };
        let has_results = |message: &&mut Message| {
            // Results come first in a user's message.
            let first = message.content.first();
            message.role == Role::User
                && first.is_some_and(|block| answered_call_id(block).is_some())
        };
        let Some(message) = messages.get_mut(turn + 1).filter(has_results) else {
            return Some(result);
        };
        message.content.push(result);
        self.unordered.insert(turn);
        None
    }

    /// Sorts all results in the order of their calls.
    pub(crate) fn sort_results(&mut self, messages: &mut [Message]) {
        for turn in std::mem::take(&mut self.unordered) {
            if let Some([turn, results]) = messages.get_mut(turn..turn + 2) {
                sort_by_calls(turn, results);
            }
        }
    }

    fn index(&mut self, messages: &[Message]) {
        for (at, message) in messages.iter().enumerate().skip(self.indexed) {
            for call in call_ids(message) {
                self.by_call.insert(call.to_owned(), at);
            }
        }
        self.indexed = messages.len();
    }
}

/// Sorts the results in the last message in the order of the calls before them.
pub(crate) fn sort_last_results(messages: &mut [Message]) {
    let [.., turn, results] = messages else {
        return;
    };
    if turn.role == Role::Assistant && results.role == Role::User {
        sort_by_calls(turn, results);
    }
}

/// Results in the order of the calls, then everything else in its order.
fn sort_by_calls(turn: &Message, results: &mut Message) {
    let places: HashMap<&str, usize> = call_ids(turn).zip(0..).collect();
    results
        .content
        .sort_by_cached_key(|block| match answered_call_id(block) {
            Some(id) => places.get(id).copied().unwrap_or(places.len()),
            None => usize::MAX,
        });
}

fn answered_call_id(block: &Block) -> Option<&str> {
    match &block.content {
        Content::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        _ => None,
    }
}

fn call_ids(message: &Message) -> impl Iterator<Item = &str> {
    let blocks = message.content.iter();
    blocks.filter_map(|block| match &block.content {
        Content::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ids(message: &Message) -> Vec<&str> {
        message
            .content
            .iter()
            .filter_map(answered_call_id)
            .collect()
    }

    #[test]
    fn late_results_join_those_of_the_client_in_the_order_of_the_calls() {
        let call = |id: &str| Block::tool_use(id, "t", json!({}));
        let mut messages = vec![
            Message::new(Role::Assistant, vec![call("a"), call("b"), call("c")]),
            Message::new(
                Role::User,
                vec![Block::tool_result("b", "theirs"), Block::text("and more")],
            ),
        ];
        let late = ["c", "a"].map(|id| Block::tool_result(id, "ours"));
        add_results(&mut messages, late.to_vec());
        assert_eq!(messages.len(), 2);
        assert_eq!(ids(&messages[1]), ["a", "b", "c"]);
        assert_eq!(messages[1].content[3].as_text(), Some("and more"));
        add_results(&mut messages, vec![Block::tool_result("x", "of no call")]);
        assert_eq!(ids(&messages[2]), ["x"]);
    }

    #[test]
    fn a_great_many_results_are_put_in_order() {
        const MANY: usize = 20_000;
        let id = |i: usize| format!("call_{i}");
        let calls = (0..MANY).map(|i| Block::tool_use(id(i), "t", json!({})));
        let mut messages = vec![
            Message::new(Role::Assistant, calls.collect()),
            Message::new(Role::User, vec![Block::tool_result(id(0), "theirs")]),
        ];
        let late = (1..MANY).rev().map(|i| Block::tool_result(id(i), "ours"));
        add_results(&mut messages, late.collect());
        let found = ids(&messages[1]);
        assert!(found.iter().enumerate().all(|(i, found)| *found == id(i)));
    }
}
