//! Turns: consecutive messages of one role, for dialects that require alternation.

use serde_json::{Value, json};

use super::{Block, Message, Role};
use crate::model_text::BLANK_TEXT;

/// Consecutive messages of one role: blocks with their original position
/// (message, block).
pub(crate) struct MergedTurn<'a> {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<(usize, usize, &'a Block)>,
}

/// Merges consecutive messages of one role. System messages become part of a
/// user turn when `fold_system` is set; a block's position still identifies them.
pub(crate) fn merge_turns(messages: &[Message], fold_system: bool) -> Vec<MergedTurn<'_>> {
    let mut turns: Vec<MergedTurn<'_>> = Vec::new();
    for (m, message) in messages.iter().enumerate() {
        let role = match message.role {
            Role::System if fold_system => Role::User,
            role => role,
        };
        let blocks = message.content.iter().enumerate().map(|(b, x)| (m, b, x));
        match turns.last_mut() {
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            _ => turns.push(MergedTurn {
                role,
                blocks: blocks.collect(),
            }),
        }
    }
    turns.retain(|turn| !turn.blocks.is_empty());
    turns
}

/// Whether instructions in the middle are where Anthropic accepts them: after the user, and
/// before the model or at the end.
pub(crate) fn is_system_in_place(messages: &[Message], at: usize) -> bool {
    let role = |at: Option<usize>| at.and_then(|at| messages.get(at)).map(|m| m.role);
    role(at.checked_sub(1)) == Some(Role::User)
        && matches!(role(at.checked_add(1)), None | Some(Role::Assistant))
}

/// Adds a written turn. An empty turn of the model is dropped, and those around it are
/// merged; an empty turn of the user is required, and gets a placeholder.
pub(crate) fn push_turn(out: &mut Vec<Value>, role: &str, key: &str, mut content: Vec<Value>) {
    match (content.is_empty(), role) {
        (true, "user") => content.push(json!({"text": BLANK_TEXT})),
        (true, _) => return,
        (false, _) => {}
    }
    let last = out
        .last_mut()
        .filter(|last| last.get("role").is_some_and(|known| known == role));
    match last.and_then(|last| last.get_mut(key)?.as_array_mut()) {
        Some(known) => known.append(&mut content),
        None => out.push(json!({"role": role, key: content})),
    }
}
