//! Which deployment a conversation prefers: the one that answered it, and so has its prompt
//! cached.
//!
//! Bounded: each part keeps two generations. When the younger is full, it becomes the older,
//! and what was in the older and has not been used since is forgotten.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Parts with a lock of their own.
const PARTS: usize = 16;
/// Conversations of one generation of one part.
const GENERATION_SIZE: usize = 2_048;

/// The preferred deployments of conversations.
#[derive(Debug)]
pub(crate) struct StickyMap {
    keep: Duration,
    parts: [Mutex<Part>; PARTS],
}

#[derive(Debug, Default)]
struct Part {
    young: HashMap<u64, Preference>,
    old: HashMap<u64, Preference>,
}

#[derive(Debug, Clone, Copy)]
struct Preference {
    member: usize,
    until: Instant,
}

impl StickyMap {
    pub(crate) fn new(keep: Duration) -> Self {
        StickyMap {
            keep,
            parts: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// How long a preference is kept.
    pub(crate) fn keep(&self) -> Duration {
        self.keep
    }

    /// The deployment that a conversation prefers.
    pub(crate) fn get(&self, key: u64) -> Option<usize> {
        let part = self.part(key)?;
        let part = part.lock().unwrap_or_else(PoisonError::into_inner);
        let found = part.young.get(&key).or_else(|| part.old.get(&key))?;
        (found.until > Instant::now()).then_some(found.member)
    }

    /// Notes that a deployment answered a conversation.
    pub(crate) fn set(&self, key: u64, member: usize) {
        let until = Instant::now() + self.keep;
        self.insert(key, Preference { member, until });
    }

    fn insert(&self, key: u64, preference: Preference) {
        let Some(part) = self.part(key) else {
            return;
        };
        let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
        if part.young.len() >= GENERATION_SIZE && !part.young.contains_key(&key) {
            part.old = std::mem::take(&mut part.young);
        }
        part.young.insert(key, preference);
    }

    /// The keys are hashes, so their low bits divide them evenly.
    fn part(&self, key: u64) -> Option<&Mutex<Part>> {
        self.parts.get(usize::try_from(key % PARTS as u64).ok()?)
    }

    /// Takes over the preferences of an earlier map, whose deployments may have had other
    /// places: `places` has the place of each in this one.
    pub(crate) fn take_over(&self, previous: &StickyMap, places: &[Option<usize>]) {
        for part in &previous.parts {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            let known: Vec<_> = part.old.iter().chain(&part.young).collect();
            for (key, preference) in known {
                if let Some(Some(member)) = places.get(preference.member) {
                    let (member, until) = (*member, preference.until);
                    self.insert(*key, Preference { member, until });
                }
            }
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let parts = self.parts.iter();
        let sizes = parts.map(|part| {
            let part = part.lock().unwrap();
            part.young.len() + part.old.len()
        });
        sizes.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_preference_is_kept_from_the_last_use_on() {
        let map = StickyMap::new(Duration::from_secs(300));
        map.set(7, 1);
        tokio::time::advance(Duration::from_secs(299)).await;
        assert_eq!(map.get(7), Some(1));
        map.set(7, 2);
        tokio::time::advance(Duration::from_secs(299)).await;
        assert_eq!(map.get(7), Some(2));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(map.get(7), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_used_stays_and_the_number_is_bounded() {
        let map = StickyMap::new(Duration::from_secs(300));
        for key in 0..1_000_000 {
            map.set(key, 1);
            if key % 10_000 == 0 {
                map.set(u64::MAX, 3);
            }
        }
        assert!(map.len() <= 2 * PARTS * GENERATION_SIZE, "{}", map.len());
        assert_eq!(map.get(u64::MAX), Some(3));
        assert_eq!(map.get(999_999), Some(1));
        assert_eq!(map.get(0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn another_configuration_takes_over_what_it_still_has() {
        let map = StickyMap::new(Duration::from_secs(300));
        map.set(1, 0);
        map.set(2, 1);
        let next = StickyMap::new(Duration::from_secs(60));
        next.take_over(&map, &[None, Some(0)]);
        assert_eq!((next.get(1), next.get(2)), (None, Some(0)));
    }
}
