//! Where the results of calls stand in a conversation: in the message that follows the
//! calls, in the order of the calls, the client's among them.

use prowess_wire::neutral::{Block, Content, Message, Role};

/// Adds results of our tools. Those of calls that the client has answered its part of
/// already join its results; all others are a message of their own.
pub(crate) fn add(messages: &mut Vec<Message>, results: Vec<Block>) {
    let mut own = Vec::new();
    for result in results {
        own.extend(insert(messages, result));
    }
    if !own.is_empty() {
        messages.push(Message::new(Role::User, own));
    }
}

/// Puts a result among those that the client gave for calls of the same turn; gives it
/// back if there are none.
pub(crate) fn insert(messages: &mut [Message], result: Block) -> Option<Block> {
    let Some(id) = answers(&result) else {
        return Some(result);
    };
    let turn = messages
        .iter()
        .rposition(|message| calls(message).any(|call| call == id));
    let Some(turn) = turn else {
        return Some(result);
    };
    let order: Vec<String> = messages.get(turn).map_or_else(Vec::new, |message| {
        calls(message).map(str::to_owned).collect()
    });
    let place = |id: &str| order.iter().position(|call| call == id);
    let Some(told) = messages.get_mut(turn + 1).filter(|told| {
        let given = told.content.iter().any(|block| answers(block).is_some());
        told.role == Role::User && given
    }) else {
        return Some(result);
    };
    let own = place(id);
    let at = told.content.iter().position(|block| match answers(block) {
        Some(other) => place(other) > own,
        None => true,
    });
    let at = at.unwrap_or(told.content.len());
    told.content.insert(at, result);
    None
}

/// Puts the results in the last message into the order of the calls before them.
pub(crate) fn order(messages: &mut [Message]) {
    let [.., turn, told] = messages else {
        return;
    };
    if turn.role != Role::Assistant || told.role != Role::User {
        return;
    }
    let calls: Vec<&str> = calls(turn).collect();
    let blocks = told.content.iter();
    let results = blocks.take_while(|block| answers(block).is_some()).count();
    let place = |block: &Block| {
        let id = answers(block).unwrap_or_default();
        calls
            .iter()
            .position(|call| *call == id)
            .unwrap_or(calls.len())
    };
    if let Some(results) = told.content.get_mut(..results) {
        results.sort_by_key(place);
    }
}

fn answers(block: &Block) -> Option<&str> {
    match &block.content {
        Content::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        _ => None,
    }
}

fn calls(message: &Message) -> impl Iterator<Item = &str> {
    let blocks = message.content.iter();
    blocks.filter_map(|block| match &block.content {
        Content::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    })
}
