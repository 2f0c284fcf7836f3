//! Files of skills. A skill that is not what its digest says is refused, so that no gateway can
//! replace a skill that other tenants use.

use super::active_command::ActiveCommand;
use super::contents::PinnedContents;
use super::state::WorkerState;
use crate::protocol::{MountedSkill, RemoteError};
use prowess_sandbox::{SkillFile, SkillFiles};
use prowess_skill::Manifest;
use std::collections::BTreeMap;
use std::io;

impl WorkerState {
    /// The files of these skills, fetched if they are not here.
    pub(super) async fn skill_files(
        &self,
        command: &ActiveCommand,
        skills: &[MountedSkill],
    ) -> Result<Vec<SkillFiles>, RemoteError> {
        if skills.is_empty() {
            return Ok(Vec::new());
        }
        let mut contents = BTreeMap::new();
        for skill in skills {
            check_manifest(skill)?;
            contents.extend(skill.files.iter().map(|file| (file.digest, file.size)));
        }
        let pinned = self.provide(command, &contents).await?;
        let to_read = skills.to_vec();
        let read = tokio::task::spawn_blocking(move || {
            let read = to_read.iter().map(|skill| read_files(skill, &pinned));
            read.collect::<io::Result<Vec<SkillFiles>>>()
        });
        let read = read.await.map_err(io::Error::other).and_then(|read| read);
        let files = read.map_err(|error| {
            tracing::warn!(%error, "the files of a skill cannot be read");
            let message = "the files of a skill cannot be read";
            RemoteError::new(RemoteError::CONTENT_UNAVAILABLE, message)
        })?;
        for skill in skills {
            self.add_recent_skill(skill.key());
        }
        Ok(files)
    }
}

fn read_files(skill: &MountedSkill, contents: &PinnedContents) -> io::Result<SkillFiles> {
    let files = skill.files.iter().map(|file| {
        Ok(SkillFile {
            path: file.path.clone(),
            bytes: contents.read(file.digest, file.size)?.into(),
            executable: file.executable,
        })
    });
    Ok(SkillFiles {
        name: skill.folder.clone(),
        digest: skill.digest.hex(),
        files: files.collect::<io::Result<_>>()?,
    })
}

/// Checks that a skill's files give its digest, and that their paths are valid.
fn check_manifest(skill: &MountedSkill) -> Result<(), RemoteError> {
    let mut files = skill.files.clone();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let manifest = serde_json::json!({ "digest": skill.digest, "files": files });
    match serde_json::from_value::<Manifest>(manifest) {
        Ok(_) => Ok(()),
        Err(error) => Err(RemoteError::new(
            RemoteError::BAD_REQUEST,
            format!(
                "skill {:?} is not what its digest says: {error}",
                skill.folder
            ),
        )),
    }
}
