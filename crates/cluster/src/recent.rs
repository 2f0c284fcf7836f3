//! A bounded map that forgets what was not used for longest.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
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
    /// Keys by their last use: to look through all values for the oldest one takes milliseconds
    /// once there are many.
    order: BTreeMap<u64, K>,
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
                order: BTreeMap::new(),
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
        let state = &mut *state;
        let found = state.values.get_mut(key)?;
        state.clock += 1;
        if let Some(key) = state.order.remove(&found.used) {
            state.order.insert(state.clock, key);
        }
        found.used = state.clock;
        Some(found.value.clone())
    }

    /// Adds a value. What does not fit at all is not added.
    pub(crate) fn insert(&self, key: K, value: V, weight: usize) {
        if weight > self.max_weight {
            return;
        }
        let mut state = self.lock();
        let state = &mut *state;
        state.clock += 1;
        let new = RecentValue {
            value,
            weight,
            used: state.clock,
        };
        state.weight += weight;
        state.order.insert(state.clock, key.clone());
        if let Some(old) = state.values.insert(key, new) {
            state.order.remove(&old.used);
            state.weight -= old.weight;
        }
        while state.weight > self.max_weight {
            let Some((_, oldest)) = state.order.pop_first() else {
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
    use proptest::prelude::*;

    proptest! {
        /// Compared with a list in the order of use.
        #[test]
        fn values_are_forgotten_in_the_order_of_their_last_use(
            uses in prop::collection::vec((0_u8..8, prop::option::of(1_usize..6)), 0..60),
        ) {
            let map = RecentMap::new(12);
            let mut expected: Vec<(u8, usize)> = Vec::new();
            for (key, inserted) in uses {
                let place = expected.iter().position(|(known, _)| *known == key);
                let known = place.map(|place| expected.remove(place));
                match inserted {
                    Some(weight) => {
                        map.insert(key, weight, weight);
                        expected.push((key, weight));
                        while expected.iter().map(|(_, weight)| weight).sum::<usize>() > 12 {
                            expected.remove(0);
                        }
                    }
                    None => {
                        prop_assert_eq!(map.get(&key), known.map(|(_, weight)| weight));
                        expected.extend(known);
                    }
                }
                let state = map.lock();
                let mut kept: Vec<u8> = state.values.keys().copied().collect();
                let order: Vec<u8> = state.order.values().copied().collect();
                let used: Vec<u8> = expected.iter().map(|(key, _)| *key).collect();
                prop_assert_eq!(&order, &used);
                kept.sort_unstable();
                let mut used = used;
                used.sort_unstable();
                prop_assert_eq!(kept, used);
            }
        }
    }

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
