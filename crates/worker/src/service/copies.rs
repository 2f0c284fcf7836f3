//! Copies of containers on this host, each labelled with the digest of its files. A label is
//! there only while the files are known to be those of the digest.

use crate::protocol::{ExecRequest, MountedSkill};
use prowess_sandbox::{Policy, Requirements, Snapshot};
use prowess_skill::Digest;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OwnedMutexGuard;

/// Entries of all remembered snapshots. Above it, files are read again when they are needed.
const MAX_REMEMBERED_ENTRIES: usize = 500_000;

/// A copy of a container, while nobody else uses it; none if there is no copy.
pub(super) type CopyGuard = OwnedMutexGuard<Option<ContainerCopy>>;

type CopySlot = Arc<tokio::sync::Mutex<Option<ContainerCopy>>>;

/// All copies, by the id of their container.
#[derive(Debug, Default)]
pub(super) struct Copies(Mutex<HashMap<String, CopySlot>>);

/// A copy of a container.
#[derive(Debug)]
pub(super) struct ContainerCopy {
    pub(super) owner: String,
    pub(super) policy: Policy,
    /// Mounted skills, as (folder, digest).
    pub(super) skills: Vec<(String, Digest)>,
    pub(super) requirements: Option<Requirements>,
    /// The digest of its files, if it is known.
    pub(super) label: Option<Digest>,
    /// Its files when they were last read. Those that have not changed are not read again.
    pub(super) files: Option<Arc<Snapshot>>,
}

/// What a copy lacks for a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CopyUpdate {
    /// Nothing but, perhaps, files.
    None,
    /// These skills.
    Mount(Vec<MountedSkill>),
    /// It has to be created again.
    Replace,
}

impl ContainerCopy {
    /// What this copy lacks.
    pub(super) fn update_for(&self, request: &ExecRequest) -> CopyUpdate {
        let has = |folder: &str| request.skills.iter().any(|skill| skill.folder == folder);
        // A mounted skill cannot be removed.
        let is_current = self.owner == request.owner
            && self.policy == request.policy
            && self.requirements == request.requirements
            && self.skills.iter().all(|(folder, _)| has(folder));
        if !is_current {
            return CopyUpdate::Replace;
        }
        let is_mounted = |skill: &MountedSkill| {
            let mounted = |(folder, digest): &(String, Digest)| {
                *folder == skill.folder && *digest == skill.digest
            };
            self.skills.iter().any(mounted)
        };
        let missing = request.skills.iter().filter(|skill| !is_mounted(skill));
        let missing: Vec<MountedSkill> = missing.cloned().collect();
        if missing.is_empty() {
            CopyUpdate::None
        } else {
            CopyUpdate::Mount(missing)
        }
    }
}

impl Copies {
    /// Waits until nobody else uses the copy of a container.
    pub(super) async fn lock(&self, container: &str) -> CopyGuard {
        let slot = Arc::clone(self.slots().entry(container.to_owned()).or_default());
        slot.lock_owned().await
    }

    /// The same for a container of which there may be a copy.
    pub(super) async fn lock_known(&self, container: &str) -> Option<CopyGuard> {
        let slot = self.slots().get(container).map(Arc::clone)?;
        Some(slot.lock_owned().await)
    }

    /// Forgets copies that the sandbox does not have any more, and files of some if there are
    /// too many.
    pub(super) fn tidy(&self, existing: &HashSet<String>) {
        let mut slots = self.slots();
        slots.retain(|id, slot| Arc::strong_count(slot) > 1 || existing.contains(id));
        let mut entries = 0;
        for slot in slots.values() {
            if let Ok(mut copy) = slot.try_lock()
                && let Some(copy) = copy.as_mut()
            {
                entries += copy
                    .files
                    .as_ref()
                    .map_or(0, |files| files.entries().count());
                if entries > MAX_REMEMBERED_ENTRIES {
                    copy.files = None;
                }
            }
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, CopySlot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::CommandRequest;

    fn skill(folder: &str, content: &str) -> MountedSkill {
        MountedSkill {
            folder: folder.into(),
            digest: Digest::from_content(content.as_bytes()),
            files: Vec::new(),
        }
    }

    fn request(skills: Vec<MountedSkill>) -> ExecRequest {
        ExecRequest {
            command: "c".into(),
            container: "container".into(),
            owner: "someone".into(),
            policy: Policy::default(),
            skills,
            requirements: None,
            files_digest: Snapshot::default().digest(),
            execution: CommandRequest::default(),
            attach_only: false,
            passes_on: false,
            epoch: 0,
            run: None,
            traceparent: None,
        }
    }

    #[test]
    fn a_copy_gets_more_skills_and_is_replaced_if_something_has_to_go() {
        let (one, other) = (skill("one", "1"), skill("other", "2"));
        let copy = ContainerCopy {
            owner: "someone".into(),
            policy: Policy::default(),
            skills: vec![("one".into(), one.digest)],
            requirements: None,
            label: None,
            files: None,
        };
        let update = |request: &ExecRequest| copy.update_for(request);
        assert_eq!(update(&request(vec![one.clone()])), CopyUpdate::None);
        let both = request(vec![one.clone(), other.clone()]);
        assert_eq!(update(&both), CopyUpdate::Mount(vec![other.clone()]));
        let newer = skill("one", "3");
        let mount = CopyUpdate::Mount(vec![newer.clone()]);
        assert_eq!(update(&request(vec![newer])), mount);
        assert_eq!(update(&request(vec![other])), CopyUpdate::Replace);
        let mut limited = request(vec![one.clone()]);
        limited.policy.limits.memory /= 2;
        assert_eq!(update(&limited), CopyUpdate::Replace);
        let mut stolen = request(vec![one]);
        stolen.owner = "another".into();
        assert_eq!(update(&stolen), CopyUpdate::Replace);
    }

    #[tokio::test]
    async fn copies_that_are_gone_are_forgotten_unless_they_are_in_use() {
        let copies = Copies::default();
        let in_use = copies.lock("used").await;
        drop(copies.lock("gone").await);
        drop(copies.lock("there").await);
        copies.tidy(&HashSet::from(["there".to_owned()]));
        let mut ids: Vec<_> = copies.slots().keys().cloned().collect();
        ids.sort();
        assert_eq!(ids, ["there", "used"]);
        drop(in_use);
    }
}
