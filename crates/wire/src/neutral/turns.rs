//! Turns: runs of messages of one speaker, for dialects that insist on alternation.

use serde_json::{Value, json};

use super::{Block, Message, Role};

/// What one speaker says before the other answers: blocks with the place
/// (message, block) each had.
pub(crate) struct MergedTurn<'a> {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<(usize, usize, &'a Block)>,
}

/// Merges neighbouring messages of one speaker. System messages become part of a
/// user turn when `fold_system` is set; the block's own message still tells them apart.
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

/// Instructions as text of the user, for models that take none in the middle.
pub(crate) fn tagged_system(text: &str) -> String {
    format!("<system>\n{text}\n</system>")
}

/// Adds a written turn. The model's turn that came out empty is left out, and those
/// around it are then one turn; the user's must be there, and says that it is blank.
pub(crate) fn push_turn(out: &mut Vec<Value>, role: &str, key: &str, mut content: Vec<Value>) {
    match (content.is_empty(), role) {
        (true, "user") => content.push(json!({"text": "(blank)"})),
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
