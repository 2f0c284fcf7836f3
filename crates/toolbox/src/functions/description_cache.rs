//! Descriptions of functions that were asked for before.
//!
//! A toolbox lives for one request, and a conversation for many: without this, every
//! request of it would import the same files again only to learn what is known. What a
//! `build_tools(ctx)` gives may depend on who asks, so that is part of the key; the
//! session is not, for it is another one when a conversation begins than when it goes on.

use super::descriptions::PythonFunction;
use crate::workspace::lock;
use prowess_skill::Skill;
use prowess_skill::manifest::Digest;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Most bytes of descriptions that are kept, by the length of their texts.
const MAX_CACHED_BYTES: usize = 8 << 20;

static CACHE: Mutex<DescriptionCache> = Mutex::new(DescriptionCache {
    entries: VecDeque::new(),
    bytes: 0,
});

/// The oldest first.
#[derive(Debug)]
struct DescriptionCache {
    entries: VecDeque<(Digest, Vec<PythonFunction>, usize)>,
    bytes: usize,
}

/// What names a description: all files of the skill, and who asks.
pub(super) fn cache_key(skill: &Skill, context: &Value) -> Digest {
    let digest = skill.manifest.digest();
    let (name, user, metadata) = (&skill.name, &context["user_id"], &context["metadata"]);
    Digest::from_content(format!("{digest}\0{name:?}\0{user}\0{metadata}").as_bytes())
}

/// The functions, if they were described before.
pub(super) fn get(key: &Digest) -> Option<Vec<PythonFunction>> {
    let cache = lock(&CACHE);
    let mut entries = cache.entries.iter();
    let (_, functions, _) = entries.find(|(known, ..)| known == key)?;
    Some(functions.clone())
}

/// Keeps a description, and lets the oldest go when there are too many.
pub(super) fn insert(key: Digest, functions: &[PythonFunction]) {
    let bytes = functions.iter().map(PythonFunction::text_bytes).sum();
    let mut cache = lock(&CACHE);
    if bytes > MAX_CACHED_BYTES || cache.entries.iter().any(|(known, ..)| *known == key) {
        return;
    }
    cache.bytes += bytes;
    cache.entries.push_back((key, functions.to_vec(), bytes));
    while cache.bytes > MAX_CACHED_BYTES {
        let Some((_, _, gone)) = cache.entries.pop_front() else {
            return;
        };
        cache.bytes -= gone;
    }
}
