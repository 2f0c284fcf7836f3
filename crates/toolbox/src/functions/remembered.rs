//! Descriptions of functions that were asked for before.
//!
//! A toolbox lives for one request, and a conversation for many: without this, every
//! request of it would import the same files again only to learn what is known. What a
//! `build_tools(ctx)` gives may depend on who asks, so that is part of the key; the
//! session is not, for it is another one when a conversation begins than when it goes on.

use super::described::Function;
use crate::workspace::lock;
use prowess_skill::Skill;
use prowess_skill::manifest::Digest;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Most bytes of descriptions that are kept, by the length of their texts.
const MOST: usize = 8 << 20;

static REMEMBERED: Mutex<Remembered> = Mutex::new(Remembered {
    entries: VecDeque::new(),
    bytes: 0,
});

/// The oldest first.
#[derive(Debug)]
struct Remembered {
    entries: VecDeque<(Digest, Vec<Function>, usize)>,
    bytes: usize,
}

/// What names a description: all files of the skill, and who asks.
pub(super) fn key(skill: &Skill, context: &Value) -> Digest {
    let digest = skill.manifest.digest();
    let (name, user, metadata) = (&skill.name, &context["user_id"], &context["metadata"]);
    Digest::of(format!("{digest}\0{name:?}\0{user}\0{metadata}").as_bytes())
}

/// The functions, if they were described before.
pub(super) fn recall(key: &Digest) -> Option<Vec<Function>> {
    let remembered = lock(&REMEMBERED);
    let mut entries = remembered.entries.iter();
    let (_, functions, _) = entries.find(|(known, ..)| known == key)?;
    Some(functions.clone())
}

/// Keeps a description, and lets the oldest go when there are too many.
pub(super) fn remember(key: Digest, functions: &[Function]) {
    let bytes = functions.iter().map(Function::bytes).sum();
    let mut remembered = lock(&REMEMBERED);
    if bytes > MOST || remembered.entries.iter().any(|(known, ..)| *known == key) {
        return;
    }
    remembered.bytes += bytes;
    remembered
        .entries
        .push_back((key, functions.to_vec(), bytes));
    while remembered.bytes > MOST {
        let Some((_, _, gone)) = remembered.entries.pop_front() else {
            return;
        };
        remembered.bytes -= gone;
    }
}
