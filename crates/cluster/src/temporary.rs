//! Temporary containers: in the memory of this gateway and nowhere else. No list has them, they
//! count for nobody, and they are gone with the gateway. Their files are deferred changes that
//! nobody commits.
//!
//! It does not know what they are for, or how their commands are run.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prowess_sandbox::{BusyScope, Error};
use prowess_store::ClusterContainer;
use tokio::time::Instant;

use crate::deferred::DeferGuard;

/// Temporary containers of all tenants. Who creates them has a smaller bound of its own.
const MAX_CONTAINERS: usize = 256;
/// How long one may exist: far longer than any is needed. An older one was left by a caller
/// that ended without removing it.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);
/// When there is probably room again.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The temporary containers of this gateway, by id.
#[derive(Debug, Default)]
pub(crate) struct TemporaryContainers(Mutex<HashMap<String, TemporaryContainer>>);

#[derive(Debug)]
struct TemporaryContainer {
    owner: String,
    container: ClusterContainer,
    added_at: Instant,
    /// Its files exist as long as this does.
    _files: DeferGuard,
}

impl TemporaryContainers {
    /// Adds a container whose files the guard keeps.
    pub(crate) fn add(
        &self,
        owner: &str,
        container: ClusterContainer,
        files: DeferGuard,
    ) -> Result<(), Error> {
        let now = Instant::now();
        let mut containers = self.lock();
        containers.retain(|_, known| now.duration_since(known.added_at) < MAX_AGE);
        if containers.len() >= MAX_CONTAINERS {
            return Err(Error::Busy {
                scope: BusyScope::Server,
                running: containers.len(),
                waiting: 0,
                retry_after: RETRY_AFTER,
            });
        }
        let new = TemporaryContainer {
            owner: owner.to_owned(),
            added_at: now,
            _files: files,
            container,
        };
        containers.insert(new.container.id.clone(), new);
        Ok(())
    }

    /// Whether an owner has such a container.
    pub(crate) fn contains(&self, owner: &str, id: &str) -> bool {
        let containers = self.lock();
        containers.get(id).is_some_and(|known| known.owner == owner)
    }

    /// Such a container of an owner.
    pub(crate) fn get(&self, owner: &str, id: &str) -> Option<ClusterContainer> {
        let containers = self.lock();
        let known = containers.get(id).filter(|known| known.owner == owner)?;
        Some(known.container.clone())
    }

    /// Removes a container and its files. Returns false if the owner has none.
    pub(crate) fn remove(&self, owner: &str, id: &str) -> bool {
        self.contains(owner, id) && self.lock().remove(id).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, TemporaryContainer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deferred::DeferredContainers;
    use prowess_store::Timestamp;
    use serde_json::Value;

    fn container(number: usize) -> ClusterContainer {
        let now = Timestamp::now();
        ClusterContainer {
            id: format!("container_{number}"),
            setup: Value::Null,
            requirements: None,
            skills: Vec::new(),
            generation: 0,
            files_digest: None,
            stored_bytes: 0,
            worker: None,
            created_at: now,
            used_at: now,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_is_bounded_and_removed_in_time() {
        let (files, all) = (
            DeferredContainers::default(),
            TemporaryContainers::default(),
        );
        let add = |number: usize| {
            let new = container(number);
            let guard = files.defer("o", &new.id);
            all.add("o", new, guard)
        };
        for number in 0..MAX_CONTAINERS {
            add(number).unwrap();
        }
        assert_eq!(add(MAX_CONTAINERS).unwrap_err().code(), "busy");
        assert!(!all.remove("other", "container_0"));
        assert!(all.get("other", "container_0").is_none());
        assert!(all.remove("o", "container_0"));
        assert!(files.state("o", "container_0").is_none());
        add(MAX_CONTAINERS).unwrap();
        tokio::time::advance(MAX_AGE).await;
        add(0).unwrap();
        assert!(all.contains("o", "container_0") && !all.contains("o", "container_1"));
        assert!(files.state("o", "container_1").is_none());
    }
}
