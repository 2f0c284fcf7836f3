//! A bounded map that forgets what was not used for longest.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values by key, with a limit on the sum of their weights.
#[derive(Debug)]
pub(crate) struct RecentMap<K, V> {
    state: Mutex<MapState<K, V>>,
    max_weight: usize,
}

#[derive(Debug)]
struct MapState<K, V> {
    values: HashMap<K, RecentValue<V>>,
    weight: usize,
    /// Counts uses.
    clock: u64,
}

#[derive(Debug)]
struct RecentValue<V> {
    value: V,
    weight: usize,
    used: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> RecentMap<K, V> {
    pub(crate) fn new(max_weight: usize) -> Self {
        Self {
            state: Mutex::new(MapState {
                values: HashMap::new(),
                weight: 0,
                clock: 0,
            }),
            max_weight,
        }
    }

    /// The value of a key.
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        let found = state.values.get_mut(key)?;
        found.used = now;
        Some(found.value.clone())
    }

    /// Adds a value. What does not fit at all is not added.
    pub(crate) fn insert(&self, key: K, value: V, weight: usize) {
        if weight > self.max_weight {
            return;
        }
        let mut state = self.lock();
        state.clock += 1;
        let new = RecentValue {
            value,
            weight,
            used: state.clock,
        };
        state.weight += weight;
        if let Some(old) = state.values.insert(key, new) {
            state.weight -= old.weight;
        }
        while state.weight > self.max_weight {
            let oldest = state.values.iter().min_by_key(|(_, value)| value.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            if let Some(old) = state.values.remove(&oldest) {
                state.weight -= old.weight;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, MapState<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_kept() {
        let map = RecentMap::new(10);
        map.insert("a".to_owned(), 1, 4);
        map.insert("b".to_owned(), 2, 4);
        assert_eq!(map.get("a"), Some(1));
        map.insert("c".to_owned(), 3, 4);
        assert_eq!(map.get("b"), None);
        assert_eq!((map.get("a"), map.get("c")), (Some(1), Some(3)));
        map.insert("c".to_owned(), 5, 10);
        assert_eq!((map.get("a"), map.get("c")), (None, Some(5)));
        map.insert("d".to_owned(), 6, 11);
        assert_eq!((map.get("d"), map.get("c")), (None, Some(5)));
    }
}
