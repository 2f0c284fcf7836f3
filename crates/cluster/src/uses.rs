//! Containers that commands of this gateway have used a moment ago, with their times, so that these
//! need not be read at the end of each run.
//!
//! It does not know whether a container still exists.

use std::time::Duration;

use prowess_store::Timestamp;
use tokio::time::Instant;

use crate::recent::RecentMap;

/// How long the times are known: other gateways may use the container, too.
const KNOWN_FOR: Duration = Duration::from_secs(10);
/// Containers that are remembered.
const MAX_REMEMBERED: usize = 1_000;

/// When a container was created and used, on the clock of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContainerTimes {
    pub(crate) created_at: Timestamp,
    pub(crate) used_at: Timestamp,
}

#[derive(Debug, Clone)]
struct RecentUse {
    owner: String,
    times: ContainerTimes,
    noted: Instant,
}

/// The last uses of containers, by their ids.
#[derive(Debug)]
pub(crate) struct RecentUses(RecentMap<String, RecentUse>);

impl Default for RecentUses {
    fn default() -> Self {
        Self(RecentMap::new(MAX_REMEMBERED))
    }
}

impl RecentUses {
    /// A command of this owner has used a container.
    pub(crate) fn add(&self, owner: &str, id: &str, times: ContainerTimes) {
        let recent = RecentUse {
            owner: owner.to_owned(),
            times,
            noted: Instant::now(),
        };
        self.0.insert(id.to_owned(), recent, 1);
    }

    /// The times of a container that this owner has just used.
    pub(crate) fn get(&self, owner: &str, id: &str) -> Option<ContainerTimes> {
        let known = self.0.get(id)?;
        let is_current = known.owner == owner && known.noted.elapsed() < KNOWN_FOR;
        is_current.then_some(known.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn times_are_known_to_their_owner_for_a_moment() {
        let uses = RecentUses::default();
        let times = ContainerTimes {
            created_at: Timestamp::from_micros(1),
            used_at: Timestamp::from_micros(2),
        };
        uses.add("owner", "container_1", times);
        assert_eq!(uses.get("owner", "container_1"), Some(times));
        assert_eq!(uses.get("another", "container_1"), None);
        assert_eq!(uses.get("owner", "container_2"), None);
        tokio::time::advance(KNOWN_FOR).await;
        assert_eq!(uses.get("owner", "container_1"), None);
    }
}
