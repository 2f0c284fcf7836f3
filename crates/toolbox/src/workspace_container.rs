//! The container behind a workspace: when it is created, replaced, or found to be gone.
//!
//! It must not know what runs in the container.

use crate::error::ToolboxError;
use crate::folder::skill_folder;
use crate::lock::lock;
use crate::model_text;
use prowess_sandbox::{
    ContainerSpec, Error as SandboxError, FileStream, Layer, Policy, Requirements, SharedSandboxes,
    SkillFiles,
};
use prowess_skill::Skill;
use std::sync::{Arc, Mutex};
use tokio::sync::{RwLock, RwLockReadGuard, Semaphore};

/// Larger files are moved to another container a few at a time, for all tenants together: each
/// is in memory meanwhile, and may be as large as a container.
const LARGE_FILE_BYTES: u64 = 8 << 20;
static LARGE_MOVES: Semaphore = Semaphore::const_new(2);

/// A container that is created on first use, and what it is created with.
#[derive(Debug)]
pub(crate) struct WorkspaceContainer {
    pub(crate) sandbox: SharedSandboxes,
    pub(crate) owner: String,
    pub(crate) policy: Policy,
    /// Whether the container existed before, and is never replaced.
    pub(crate) is_existing: bool,
    /// Whether running and writing are disabled.
    pub(crate) is_disabled: bool,
    pub(crate) skills: Mutex<Vec<Arc<Skill>>>,
    /// Read while something runs, written while the container is created or replaced.
    pub(crate) open: RwLock<Option<OpenContainer>>,
    pub(crate) container_id: Mutex<Option<String>>,
    pub(crate) notes: Mutex<Vec<String>>,
}

/// A container and the digests of the skills it shows.
#[derive(Debug)]
pub(crate) struct OpenContainer {
    pub(crate) container_id: String,
    pub(crate) skill_digests: Vec<String>,
}

impl WorkspaceContainer {
    /// Whether an error means that a container created here has expired.
    pub(crate) fn has_expired(&self, error: &ToolboxError) -> bool {
        let gone = matches!(
            error,
            ToolboxError::Sandbox(SandboxError::ContainerNotFound { .. })
        );
        gone && !self.is_existing
    }

    /// Whether an error means that the packages of a container created here are gone.
    pub(crate) fn lacks_layer(&self, error: &ToolboxError) -> bool {
        let gone = matches!(error, ToolboxError::Sandbox(SandboxError::LayerGone));
        gone && !self.is_existing
    }

    /// Makes the next use replace a container, unless that has happened meanwhile.
    pub(crate) async fn mark_outdated(&self, container_id: &str) {
        let mut held = self.open.write().await;
        if let Some(open) = held
            .as_mut()
            .filter(|open| open.container_id == container_id)
        {
            open.skill_digests.clear();
        }
    }

    /// Makes the next use create another container, unless that has happened meanwhile.
    pub(crate) async fn forget_expired(&self) {
        let mut held = self.open.write().await;
        let Some(open) = held.as_ref() else {
            return;
        };
        let (sandbox, owner) = (&self.sandbox, &self.owner);
        if sandbox.expiry(owner, &open.container_id).await.is_ok() {
            return;
        }
        *held = None;
        *lock(&self.container_id) = None;
        lock(&self.notes).push(model_text::expired_note());
    }

    /// The container with all needed skills, kept open while the guard lives.
    pub(crate) async fn ensure_open(
        &self,
    ) -> Result<(String, RwLockReadGuard<'_, Option<OpenContainer>>), ToolboxError> {
        if self.is_disabled {
            return Err(ToolboxError::NoWorkspace);
        }
        loop {
            let held = self.open.read().await;
            let skills = lock(&self.skills).clone();
            match held.as_ref() {
                Some(open) if open.skill_digests == skill_digests(&skills) => {
                    return Ok((open.container_id.clone(), held));
                }
                _ => drop(held),
            }
            if self.is_existing {
                self.mount_skills(&skills).await?;
            } else {
                self.create_container(skills).await?;
            }
        }
    }

    /// Mounts skills that an existing container lacks.
    async fn mount_skills(&self, skills: &[Arc<Skill>]) -> Result<(), ToolboxError> {
        let mut held = self.open.write().await;
        let Some(open) = held.as_mut() else {
            return Err(ToolboxError::NoWorkspace);
        };
        let digests = skill_digests(skills);
        let named = skills.iter().zip(&digests);
        let missing = named.filter(|(_, digest)| !open.skill_digests.contains(digest));
        let files: Vec<_> = missing.map(|(skill, _)| skill_files(skill)).collect();
        if !files.is_empty() {
            let (sandbox, owner) = (&self.sandbox, &self.owner);
            sandbox.mount(owner, &open.container_id, files).await?;
        }
        open.skill_digests = digests;
        Ok(())
    }

    async fn create_container(&self, skills: Vec<Arc<Skill>>) -> Result<(), ToolboxError> {
        let mut open = self.open.write().await;
        let skill_digests = skill_digests(&skills);
        if open
            .as_ref()
            .is_some_and(|open| open.skill_digests == skill_digests)
        {
            return Ok(());
        }
        let files: Vec<_> = skills.iter().map(skill_files).collect();
        let new = ContainerSpec {
            policy: self.policy.clone(),
            layer: self.build_layer(&files).await?,
            skills: files,
        };
        let (sandbox, owner) = (&self.sandbox, &self.owner);
        let container_id = sandbox.create(owner, new).await?;
        if let Some(before) = open.as_ref()
            && let Err(error) = self.move_files(&before.container_id, &container_id).await
        {
            // The first error is reported, and the old container still exists.
            let _ = sandbox.destroy(owner, &container_id).await;
            return Err(error);
        }
        *lock(&self.container_id) = Some(container_id.clone());
        *open = Some(OpenContainer {
            container_id,
            skill_digests,
        });
        Ok(())
    }

    async fn move_files(&self, from: &str, to: &str) -> Result<(), ToolboxError> {
        let (sandbox, owner) = (&self.sandbox, &self.owner);
        let max_bytes = self.policy.limits.data_bytes;
        for file in sandbox.list(owner, from).await? {
            let _turn = match file.size > LARGE_FILE_BYTES {
                // It is never closed.
                true => LARGE_MOVES.acquire().await.ok(),
                false => None,
            };
            let bytes = self.read(from, &file.path, max_bytes).await?;
            sandbox.put(owner, to, &file.path, bytes).await?;
        }
        sandbox.copy_uploads(owner, from, to).await?;
        Ok(sandbox.destroy(owner, from).await?)
    }

    /// Reads a file of a container.
    pub(crate) async fn read(
        &self,
        container_id: &str,
        path: &str,
        max_bytes: u64,
    ) -> Result<Vec<u8>, ToolboxError> {
        let (sandbox, owner) = (&self.sandbox, &self.owner);
        let file = sandbox.get(owner, container_id, path).await?;
        check_size(path, file.size, max_bytes)?;
        read_whole(path, file, max_bytes).await
    }

    /// The packages that the skills require. Code may run without them, so a problem is noted
    /// in the first result instead of failing the call; but not that no worker has room now, or
    /// the container would lack its packages for ever.
    async fn build_layer(&self, skills: &[SkillFiles]) -> Result<Option<Layer>, ToolboxError> {
        let built = match Requirements::from_skills(skills) {
            Ok(None) => return Ok(None),
            Ok(Some(requirements)) => {
                let owner = &self.owner;
                self.sandbox.layer(owner, &requirements).await
            }
            Err(error) => Err(error),
        };
        match built {
            Ok(layer) => {
                let note = layer.remark().map(model_text::packages_remark);
                lock(&self.notes).extend(note);
                Ok(Some(layer))
            }
            Err(error @ SandboxError::NoWorker { .. }) => Err(error.into()),
            Err(error) => {
                lock(&self.notes).push(model_text::packages_note(&error));
                Ok(None)
            }
        }
    }
}

fn skill_files(skill: &Arc<Skill>) -> SkillFiles {
    SkillFiles::from_skill(skill, skill_folder(&skill.name))
}

/// Refuses a file that is too large to be read at once.
pub(crate) fn check_size(path: &str, size: u64, max: u64) -> Result<(), ToolboxError> {
    if size <= max {
        return Ok(());
    }
    Err(ToolboxError::FileTooLarge {
        path: path.to_owned(),
        size,
        max,
    })
}

/// Reads a whole file.
pub(crate) async fn read_whole(
    path: &str,
    file: FileStream,
    max_bytes: u64,
) -> Result<Vec<u8>, ToolboxError> {
    let read = file.read_up_to(max_bytes).await;
    read.map_err(|source| ToolboxError::File {
        path: path.to_owned(),
        source,
    })
}

pub(crate) fn skill_digests(skills: &[Arc<Skill>]) -> Vec<String> {
    let one = |skill: &Arc<Skill>| {
        let (folder, digest) = (skill_folder(&skill.name), skill.manifest.digest().hex());
        format!("{folder} {digest}")
    };
    skills.iter().map(one).collect()
}
