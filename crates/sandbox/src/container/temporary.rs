//! Creates temporary containers: no list of a tenant has them, they count for no tenant, and none
//! is evicted for them.

use super::{ContainerMeta, ContainerStore, new_container_id};
use crate::error::Error;
use crate::policy::{Policy, SandboxLimits};

impl ContainerStore {
    /// As [`create`](Self::create), without mounts.
    pub(crate) fn create_temporary(
        &self,
        owner: &str,
        policy: Policy,
        claim_host_id: impl FnOnce(&SandboxLimits) -> Option<u32>,
    ) -> Result<String, Error> {
        self.sync();
        self.expire_known();
        let id = new_container_id()?;
        let free = self.free_host_id()?;
        self.claim_temporary(&id, free)?;
        let host_id = claim_host_id(&policy.limits).unwrap_or(free);
        let meta = ContainerMeta {
            is_temporary: true,
            ..ContainerMeta::new(owner, policy, host_id, Vec::new())
        };
        self.make_claimed(id, &meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SandboxSettings;
    use std::path::Path;
    use std::time::Duration;

    fn open(folder: &Path, change: impl FnOnce(&mut SandboxSettings)) -> ContainerStore {
        let mut settings = SandboxSettings::new(folder);
        settings.containers_per_tenant = 1;
        settings.evict_idle = Duration::ZERO;
        change(&mut settings);
        ContainerStore::new(folder, false, &settings)
    }

    fn create(containers: &ContainerStore) -> String {
        let created = containers.create("owner", Policy::default(), || Ok(Vec::new()), |_| None);
        created.unwrap()
    }

    fn listed(containers: &ContainerStore) -> Vec<String> {
        let listed = containers.list_of_owner("owner").into_iter();
        listed.map(|one| one.id).collect()
    }

    #[test]
    fn a_temporary_container_counts_for_nobody_also_after_a_restart() {
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("sessions")).unwrap();
        let containers = open(folder.path(), |_| {});
        let own = create(&containers);
        let before = containers.index.total("owner");
        let temporary = containers.create_temporary("owner", Policy::default(), |_| None);
        let temporary = temporary.unwrap();
        assert_eq!(containers.index.total("owner"), before);
        assert_eq!(containers.index.disk(), 2 * before.disk);
        for containers in [containers, open(folder.path(), |_| {})] {
            assert_eq!(listed(&containers), [own.as_str()]);
            assert_eq!(containers.index.total("owner"), before);
            assert!(containers.info("owner", &temporary).is_ok());
            assert!(containers.info("other", &temporary).is_err());
        }
        // A further one of the tenant takes the place of its first.
        let containers = open(folder.path(), |_| {});
        let next = create(&containers);
        assert_eq!(listed(&containers), [next.as_str()]);
        assert!(containers.info("owner", &temporary).is_ok());
        // Nothing is evicted for a temporary one.
        let bytes = containers.index.disk();
        let full = open(folder.path(), |settings| settings.disk_bytes = bytes);
        let refused = full.create_temporary("owner", Policy::default(), |_| None);
        assert_eq!(refused.unwrap_err().code(), "disk-full");
        assert_eq!(listed(&full), [next.as_str()]);
        assert_eq!(full.index.disk(), bytes);
    }
}
