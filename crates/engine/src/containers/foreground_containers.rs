//! The existing containers that foreground runs of this server use. These runs do not hold them in
//! the store: a kept run waits until they have ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_store::TenantId;

/// A container that a tenant names, whether it is the tenant's or not.
type NamedContainer = (TenantId, String);

/// How many runs use each container. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ForegroundContainers(Arc<Mutex<HashMap<NamedContainer, usize>>>);

/// Counts one run as a user of a container until dropped.
#[derive(Debug)]
pub(crate) struct ForegroundUse {
    containers: ForegroundContainers,
    container: NamedContainer,
}

impl ForegroundContainers {
    /// Counts a run as a user of a container. To be called before it is checked whether a kept
    /// run holds the container: a kept run holds it first, and then waits for its users.
    pub(crate) fn begin_use(&self, tenant: &TenantId, id: String) -> ForegroundUse {
        let container = (tenant.clone(), id);
        *self.counts().entry(container.clone()).or_default() += 1;
        ForegroundUse {
            containers: self.clone(),
            container,
        }
    }

    /// Whether any run uses a container of this tenant.
    pub(crate) fn is_used(&self, tenant: &TenantId, id: &str) -> bool {
        let container = (tenant.clone(), id.to_owned());
        self.counts().contains_key(&container)
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<NamedContainer, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ForegroundUse {
    fn drop(&mut self) {
        let mut counts = self.containers.counts();
        if let Some(count) = counts.get_mut(&self.container) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.container);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_used_until_its_last_run_has_ended() {
        let containers = ForegroundContainers::default();
        let (tenant, other) = (TenantId::default_tenant(), TenantId::new("other").unwrap());
        let first = containers.begin_use(&tenant, "a".to_owned());
        let second = containers.clone().begin_use(&tenant, "a".to_owned());
        assert!(!containers.is_used(&tenant, "b") && !containers.is_used(&other, "a"));
        drop(first);
        assert!(containers.is_used(&tenant, "a"));
        drop(second);
        assert!(!containers.is_used(&tenant, "a"));
        assert!(containers.counts().is_empty());
    }
}
