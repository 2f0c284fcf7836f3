//! Which deployment a conversation prefers: the one that answered it, and so has its prompt
//! cached.
//!
//! Bounded, and shared by owners (tenants): whoever has most of a full part loses the half of it
//! that was not used for longest. So an owner with any number of conversations displaces its own,
//! and never those of an owner that has fewer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Parts with a lock of their own.
const PARTS: usize = 16;
/// Conversations of one part.
const MAX_CONVERSATIONS_PER_PART: usize = 4_096;

/// The preferred deployments of conversations.
#[derive(Debug)]
pub(crate) struct StickyMap {
    keep: Duration,
    parts: [Mutex<Part>; PARTS],
}

#[derive(Debug, Default)]
struct Part {
    owners: HashMap<u64, Preferences>,
    /// Conversations of all owners.
    len: usize,
    /// Numbers uses in their order.
    uses: u64,
}

/// The preferences of one owner, by conversation.
type Preferences = HashMap<u64, Preference>;

#[derive(Debug, Clone, Copy)]
struct Preference {
    member: usize,
    until: Instant,
    last_use: u64,
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

    /// The deployment that a conversation of an owner prefers.
    pub(crate) fn get(&self, owner: u64, key: u64) -> Option<usize> {
        let part = self.part(key)?;
        let part = part.lock().unwrap_or_else(PoisonError::into_inner);
        let found = part.owners.get(&owner)?.get(&key)?;
        (found.until > Instant::now()).then_some(found.member)
    }

    /// Notes that a deployment answered a conversation of an owner.
    pub(crate) fn set(&self, owner: u64, key: u64, member: usize) {
        self.insert(owner, key, member, Instant::now() + self.keep);
    }

    fn insert(&self, owner: u64, key: u64, member: usize, until: Instant) {
        let Some(part) = self.part(key) else {
            return;
        };
        let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
        part.insert(owner, key, member, until);
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
            let mut known: Vec<_> = part
                .owners
                .iter()
                .flat_map(|(owner, own)| own.iter().map(move |(key, one)| (*owner, *key, *one)))
                .collect();
            // In the order of their use, which the new numbers repeat.
            known.sort_unstable_by_key(|(_, _, preference)| preference.last_use);
            for (owner, key, preference) in known {
                if let Some(Some(member)) = places.get(preference.member) {
                    self.insert(owner, key, *member, preference.until);
                }
            }
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let parts = self.parts.iter();
        let sizes = parts.map(|part| {
            let part = part.lock().unwrap();
            let counted: usize = part.owners.values().map(HashMap::len).sum();
            assert_eq!(part.len, counted);
            assert!(part.owners.values().all(|own| !own.is_empty()));
            counted
        });
        sizes.sum()
    }
}

impl Part {
    fn insert(&mut self, owner: u64, key: u64, member: usize, until: Instant) {
        let own = self.owners.get(&owner);
        let is_known = own.is_some_and(|own| own.contains_key(&key));
        if !is_known && self.len >= MAX_CONVERSATIONS_PER_PART {
            self.make_room();
        }
        self.uses += 1;
        let preference = Preference {
            member,
            until,
            last_use: self.uses,
        };
        let own = self.owners.entry(owner).or_default();
        if own.insert(key, preference).is_none() {
            self.len += 1;
        }
    }

    /// Forgets what has expired, or else the older half of what the owner with most has. That is
    /// at least one, as the part is full.
    fn make_room(&mut self) {
        let now = Instant::now();
        for own in self.owners.values_mut() {
            own.retain(|_, preference| preference.until > now);
        }
        self.count();
        if self.len < MAX_CONVERSATIONS_PER_PART {
            return;
        }
        if let Some(most) = self.owners.values_mut().max_by_key(|own| own.len()) {
            let mut uses: Vec<u64> = most.values().map(|one| one.last_use).collect();
            let half = uses.len().saturating_sub(1) / 2;
            let (_, last_forgotten, _) = uses.select_nth_unstable(half);
            let last_forgotten = *last_forgotten;
            most.retain(|_, preference| preference.last_use > last_forgotten);
        }
        self.count();
    }

    fn count(&mut self) {
        self.owners.retain(|_, own| !own.is_empty());
        self.len = self.owners.values().map(HashMap::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: u64 = 1;

    #[tokio::test(start_paused = true)]
    async fn a_preference_is_kept_from_the_last_use_on() {
        let map = StickyMap::new(Duration::from_secs(300));
        map.set(OWNER, 7, 1);
        tokio::time::advance(Duration::from_secs(299)).await;
        assert_eq!(map.get(OWNER, 7), Some(1));
        map.set(OWNER, 7, 2);
        tokio::time::advance(Duration::from_secs(299)).await;
        assert_eq!(map.get(OWNER, 7), Some(2));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(map.get(OWNER, 7), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_used_stays_and_the_number_is_bounded() {
        let map = StickyMap::new(Duration::from_secs(300));
        for key in 0..1_000_000 {
            map.set(OWNER, key, 1);
            if key % 10_000 == 0 {
                map.set(OWNER, u64::MAX, 3);
            }
        }
        assert!(
            map.len() <= PARTS * MAX_CONVERSATIONS_PER_PART,
            "{}",
            map.len()
        );
        assert_eq!(map.get(OWNER, u64::MAX), Some(3));
        assert_eq!(map.get(OWNER, 999_999), Some(1));
        assert_eq!(map.get(OWNER, 0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_with_many_conversations_displaces_only_its_own() {
        let map = StickyMap::new(Duration::from_secs(300));
        let (quiet, flooding) = (2, 3);
        for key in 0..1_000 {
            map.set(quiet, key, 1);
        }
        for key in 0..1_000_000 {
            map.set(flooding, key, 0);
        }
        let kept = (0..1_000).filter(|key| map.get(quiet, *key) == Some(1));
        assert_eq!(kept.count(), 1_000);
        assert_eq!(map.get(flooding, 999_999), Some(0));
        assert!(
            map.len() <= PARTS * MAX_CONVERSATIONS_PER_PART,
            "{}",
            map.len()
        );
        // Another one gets room at once, from whoever has most.
        map.set(4, 5, 1);
        assert_eq!((map.get(4, 5), map.get(quiet, 5)), (Some(1), Some(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn more_owners_than_places_are_bounded_too() {
        let map = StickyMap::new(Duration::from_secs(300));
        let places = u64::try_from(MAX_CONVERSATIONS_PER_PART).unwrap();
        for owner in 0..places + 10 {
            map.set(owner, 0, 1);
        }
        assert_eq!(map.len(), MAX_CONVERSATIONS_PER_PART);
        assert_eq!(map.get(places + 9, 0), Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_expired_makes_room_before_anything_else() {
        let map = StickyMap::new(Duration::from_secs(300));
        let part = u64::try_from(PARTS).unwrap();
        let half = u64::try_from(MAX_CONVERSATIONS_PER_PART / 2).unwrap();
        for index in 0..half {
            map.set(OWNER, index * part, 1);
        }
        tokio::time::advance(Duration::from_secs(200)).await;
        for index in half..2 * half {
            map.set(OWNER, index * part, 1);
        }
        tokio::time::advance(Duration::from_secs(100)).await;
        map.set(2, 0, 1);
        assert_eq!(map.len(), MAX_CONVERSATIONS_PER_PART / 2 + 1);
        assert_eq!(map.get(OWNER, half * part), Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn another_configuration_takes_over_what_it_still_has() {
        let map = StickyMap::new(Duration::from_secs(300));
        map.set(OWNER, 1, 0);
        map.set(OWNER, 2, 1);
        let next = StickyMap::new(Duration::from_secs(60));
        next.take_over(&map, &[None, Some(0)]);
        assert_eq!(
            (next.get(OWNER, 1), next.get(OWNER, 2), next.get(2, 2)),
            (None, Some(0), None)
        );
    }
}
