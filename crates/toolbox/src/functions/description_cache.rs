//! Cached descriptions of functions.
//!
//! A toolbox serves one request of a conversation: without a cache, every request would
//! import the same files again. The result of `build_tools(ctx)` may depend on the user, so
//! the user is part of the key; the container is not, because it changes after the first
//! request of a conversation.

use super::descriptions::PythonFunction;
use crate::lock::lock;
use prowess_skill::Skill;
use prowess_skill::manifest::Digest;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Bytes of descriptions in the cache, by the length of their texts.
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

/// The key of a description: all files of the skill, the user and the metadata.
pub(super) fn cache_key(skill: &Skill, context: &Value) -> Digest {
    let digest = skill.manifest.digest();
    let (name, user, metadata) = (&skill.name, &context["user_id"], &context["metadata"]);
    Digest::from_content(format!("{digest}\0{name:?}\0{user}\0{metadata}").as_bytes())
}

/// The functions, if they are cached.
pub(super) fn get(key: &Digest) -> Option<Vec<PythonFunction>> {
    let cache = lock(&CACHE);
    let mut entries = cache.entries.iter();
    let (_, functions, _) = entries.find(|(known, ..)| known == key)?;
    Some(functions.clone())
}

/// Adds a description, and evicts the oldest beyond the limit.
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
