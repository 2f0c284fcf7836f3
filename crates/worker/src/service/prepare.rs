//! Making the copy of a container ready for a command: the container with its skills and
//! packages, then its files.

use super::active_command::ActiveCommand;
use super::copies::{ContainerCopy, CopyGuard, CopyUpdate};
use super::failure::CommandFailure;
use super::restore::FilesBefore;
use super::state::WorkerState;
use crate::protocol::{ExecRequest, MountedSkill, requirements_key};
use prowess_sandbox::{ContainerSpec, Error, Layer, Snapshot};
use prowess_skill::Digest;
use std::sync::Arc;

impl WorkerState {
    /// Makes the copy ready. It has its label afterwards.
    pub(super) async fn prepare(
        &self,
        copy: &mut CopyGuard,
        request: &ExecRequest,
        command: &ActiveCommand,
    ) -> Result<FilesBefore, CommandFailure> {
        let update = copy.as_ref().map(|copy| copy.update_for(request));
        match update {
            Some(CopyUpdate::None) => {}
            Some(CopyUpdate::Mount(skills)) => {
                self.mount(copy, request, command, &skills).await?;
            }
            Some(CopyUpdate::Replace) => {
                self.remove_copy(copy, &request.container).await?;
                **copy = Some(self.create_copy(request, command).await?);
            }
            None => **copy = Some(self.create_copy(request, command).await?),
        }
        let Some(copy) = copy.as_mut() else {
            return Err(Error::LauncherGone.into());
        };
        self.find_label(copy, request).await?;
        if let Some(files) = &copy.files
            && copy.label == Some(request.files_digest)
        {
            return Ok(FilesBefore::same(Arc::clone(files)));
        }
        // Unknown until all is restored.
        copy.label = None;
        let known = copy.files.take();
        let before = self.restore(request, command, known).await?;
        copy.label = Some(before.found.digest());
        copy.files = Some(Arc::clone(&before.found));
        Ok(before)
    }

    /// Reads the files of a copy of which it is not known what they are: its last command was
    /// interrupted, or too many are remembered already.
    async fn find_label(
        &self,
        copy: &mut ContainerCopy,
        request: &ExecRequest,
    ) -> Result<(), Error> {
        if copy.label.is_some() && copy.files.is_some() {
            return Ok(());
        }
        let (owner, id) = (request.owner.as_str(), request.container.as_str());
        let found = self.sandbox.snapshot(owner, id, copy.files.take()).await;
        (copy.label, copy.files) = match found {
            Ok(found) => (Some(found.digest()), Some(Arc::new(found))),
            Err(error @ Error::ContainerNotFound { .. }) => return Err(error),
            // What cannot be read is replaced.
            Err(_) => (None, None),
        };
        Ok(())
    }

    async fn mount(
        &self,
        copy: &mut CopyGuard,
        request: &ExecRequest,
        command: &ActiveCommand,
        skills: &[MountedSkill],
    ) -> Result<(), CommandFailure> {
        let files = self.skill_files(command, skills).await?;
        let (owner, id) = (request.owner.as_str(), request.container.as_str());
        self.sandbox.mount(owner, id, files).await?;
        if let Some(copy) = copy.as_mut() {
            copy.skills = mounted(&request.skills);
        }
        Ok(())
    }

    /// Creates the container, without files.
    async fn create_copy(
        &self,
        request: &ExecRequest,
        command: &ActiveCommand,
    ) -> Result<ContainerCopy, CommandFailure> {
        let (owner, id) = (request.owner.as_str(), request.container.as_str());
        let spec = ContainerSpec {
            policy: request.policy.clone(),
            skills: self.skill_files(command, &request.skills).await?,
            layer: self.packages(request).await?,
        };
        match self.sandbox.recreate(owner, id, spec.clone()).await {
            // Of a command that was ended before the copy was known.
            Err(Error::ContainerExists { .. }) => {
                self.sandbox.destroy(owner, id).await?;
                self.sandbox.recreate(owner, id, spec).await?;
            }
            created => created?,
        }
        let empty = Snapshot::default();
        Ok(ContainerCopy {
            owner: request.owner.clone(),
            policy: request.policy.clone(),
            skills: mounted(&request.skills),
            requirements: request.requirements.clone(),
            label: Some(empty.digest()),
            files: Some(Arc::new(empty)),
        })
    }

    async fn packages(&self, request: &ExecRequest) -> Result<Option<Layer>, Error> {
        let requirements = request.requirements.as_ref();
        let Some(requirements) = requirements.filter(|required| !required.is_empty()) else {
            return Ok(None);
        };
        let layer = self.sandbox.layer(&request.owner, requirements).await?;
        self.add_recent_layer(requirements_key(requirements));
        Ok(Some(layer))
    }

    /// Removes the copy of a container, if there is one.
    pub(super) async fn remove_copy(
        &self,
        copy: &mut CopyGuard,
        container: &str,
    ) -> Result<(), Error> {
        let Some(copy) = copy.take() else {
            return Ok(());
        };
        match self.sandbox.destroy(&copy.owner, container).await {
            Err(Error::ContainerNotFound { .. }) => Ok(()),
            removed => removed,
        }
    }
}

fn mounted(skills: &[MountedSkill]) -> Vec<(String, Digest)> {
    let one = |skill: &MountedSkill| (skill.folder.clone(), skill.digest);
    skills.iter().map(one).collect()
}
