//! The vectors of the latest queries: a conversation is routed by the same texts with each of
//! its requests.

use std::collections::VecDeque;

use prowess_store::Int8Vector;

/// Queries that are kept; with texts of some kB and vectors of some thousand dimensions a few
/// MB at most.
const MAX_QUERIES: usize = 256;

/// The latest queries, the latest first.
#[derive(Debug, Default)]
pub(super) struct QueryCache(VecDeque<CachedQuery>);

#[derive(Debug)]
struct CachedQuery {
    model: String,
    text: String,
    vector: Int8Vector,
}

impl QueryCache {
    pub(super) fn get(&mut self, model: &str, text: &str) -> Option<Int8Vector> {
        let is_same = |query: &CachedQuery| query.text == text && query.model == model;
        let at = self.0.iter().position(is_same)?;
        let found = self.0.remove(at)?;
        let vector = found.vector.clone();
        self.0.push_front(found);
        Some(vector)
    }

    pub(super) fn insert(&mut self, model: &str, text: &str, vector: Int8Vector) {
        if self.get(model, text).is_some() {
            return;
        }
        self.0.truncate(MAX_QUERIES - 1);
        self.0.push_front(CachedQuery {
            model: model.to_owned(),
            text: text.to_owned(),
            vector,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_that_was_not_used_for_longest_goes_first() {
        let vector = Int8Vector::from_parts(1.0, vec![1]);
        let mut cache = QueryCache::default();
        for number in 0..MAX_QUERIES {
            cache.insert("m", &number.to_string(), vector.clone());
        }
        assert!(cache.get("m", "0").is_some());
        cache.insert("m", "new", vector);
        assert!(cache.get("m", "0").is_some());
        assert!(cache.get("m", "1").is_none());
        assert!(cache.get("other", "0").is_none());
        assert_eq!(cache.0.len(), MAX_QUERIES);
    }
}
