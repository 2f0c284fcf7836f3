//! The place where code runs: one sandbox container, created on first use.
//!
//! A toolbox may hold thousands of skills, and a container shows only those it was created
//! with. A container that lacks a needed skill is replaced by one that has it; its regular
//! files are moved, links and modes are not. An expired container is replaced too, and the
//! next result notes that the files are gone. A container that existed before is never
//! replaced, because others may use its id: a skill that it lacks is mounted in it, without
//! the packages that the skill requires.

use crate::command_ids::{announce_container, note_result, set_command_id};
use crate::command_log::{RequestedCommand, note_missing_worker};
use crate::error::ToolboxError;
use crate::file_memory::{FileMemoryPermit, reserve_file_memory, reserve_list_memory};
use crate::lock::lock;
use crate::workspace_container::{
    OpenContainer, WorkspaceContainer, check_size, read_whole, skill_digests,
};
use prowess_sandbox::{
    EgressSecret, Error as SandboxError, Execution, ExecutionReport, FileInfo, FileStream, Network,
    Policy, SandboxOutput, SharedSandboxes,
};
use prowess_skill::Skill;
use std::sync::{Arc, Mutex};
use tokio::sync::RwLock;

/// Bytes of a file that are read at once.
const MAX_READ_BYTES: u64 = 128 << 20;

/// A place to run code in. Clones share it.
#[derive(Debug, Clone)]
pub struct Workspace {
    container: Arc<WorkspaceContainer>,
    secrets: Arc<[NamedSecret]>,
}

/// A file, and the memory that it takes.
#[derive(Debug)]
pub struct CountedFile {
    /// The content.
    pub content: Vec<u8>,
    _memory: FileMemoryPermit,
}

/// The files of a container, and the memory that their list takes.
#[derive(Debug, Default)]
pub struct CountedList {
    /// The files.
    pub files: Vec<FileInfo>,
    _memory: Option<FileMemoryPermit>,
}

/// A secret, and the variable that holds its placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSecret {
    /// The variable.
    pub variable: String,
    /// The secret.
    pub secret: EgressSecret,
}

impl Workspace {
    /// A container with these skills, created on first use. Their required packages are
    /// installed if the sandbox has a package index; if not, the first result notes it.
    #[must_use]
    pub fn for_skills(
        sandbox: impl Into<SharedSandboxes>,
        owner: &str,
        skills: Vec<Arc<Skill>>,
        policy: Policy,
    ) -> Self {
        Self::new(sandbox.into(), owner, skills, policy, None)
    }

    /// An existing container, with the skills that are mounted in it.
    #[must_use]
    pub fn for_container(
        sandbox: impl Into<SharedSandboxes>,
        owner: &str,
        container_id: &str,
    ) -> Self {
        let open = OpenContainer {
            container_id: container_id.to_owned(),
            skill_digests: Vec::new(),
        };
        let (sandbox, policy) = (sandbox.into(), Policy::default());
        Self::new(sandbox, owner, Vec::new(), policy, Some(open))
    }

    fn new(
        sandbox: SharedSandboxes,
        owner: &str,
        skills: Vec<Arc<Skill>>,
        policy: Policy,
        open: Option<OpenContainer>,
    ) -> Self {
        let container = WorkspaceContainer {
            sandbox,
            owner: owner.to_owned(),
            policy,
            is_existing: open.is_some(),
            is_disabled: false,
            skills: Mutex::new(skills),
            container_id: Mutex::new(open.as_ref().map(|open| open.container_id.clone())),
            open: RwLock::new(open),
            notes: Mutex::default(),
        };
        Self {
            container: Arc::new(container),
            secrets: Arc::default(),
        }
    }

    /// Names skills that are mounted in an existing container, so that they are not mounted
    /// again.
    #[must_use]
    pub fn with_mounted_skills(mut self, skills: Vec<Arc<Skill>>) -> Self {
        if let Some(container) = Arc::get_mut(&mut self.container) {
            if let Some(open) = container.open.get_mut() {
                open.skill_digests = skill_digests(&skills);
            }
            container.skills = Mutex::new(skills);
        }
        self
    }

    /// A workspace that never runs or writes anything, to find out which tools there would
    /// be.
    #[must_use]
    pub fn disabled(sandbox: impl Into<SharedSandboxes>, owner: &str) -> Self {
        let mut disabled = Self::new(sandbox.into(), owner, Vec::new(), Policy::default(), None);
        if let Some(container) = Arc::get_mut(&mut disabled.container) {
            container.is_disabled = true;
        }
        disabled
    }

    /// Adds secrets; commands get them as variables that hold placeholders.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Vec<NamedSecret>) -> Self {
        self.secrets = secrets.into();
        self
    }

    /// The container's id, once it exists.
    #[must_use]
    pub fn container_id(&self) -> Option<String> {
        lock(&self.container.container_id).clone()
    }

    /// Whether commands can reach the network, or nobody knows.
    pub async fn allows_network(&self) -> bool {
        let container = &self.container;
        if !container.is_existing {
            return container.policy.network != Network::Off;
        }
        let Some(id) = self.container_id() else {
            return true;
        };
        let allowed = container.sandbox.network_allowed(&container.owner, &id);
        allowed.await.unwrap_or(true)
    }

    /// The tenant that owns it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.container.owner
    }

    /// The sandbox it is in.
    #[must_use]
    pub fn sandbox(&self) -> &SharedSandboxes {
        &self.container.sandbox
    }

    /// Creates the container if needed, and returns its id.
    ///
    /// # Errors
    /// When the sandbox cannot create it.
    pub async fn open(&self) -> Result<String, ToolboxError> {
        let (container_id, _held) = self.container.ensure_open().await?;
        Ok(container_id)
    }

    /// Runs a command in it.
    ///
    /// # Errors
    /// When the sandbox cannot run it; how the command ended is in the report.
    pub async fn run(&self, mut execution: Execution) -> Result<ExecutionReport, ToolboxError> {
        set_command_id(&mut execution);
        let ended = match self.run_once(execution.clone()).await {
            // Nobody knows a command in another container.
            Err(error) if execution.attach_only => Err(error),
            Err(error) if self.container.has_expired(&error) => {
                self.container.forget_expired().await;
                self.run_once(execution).await
            }
            // The container was marked, so this creates another with its packages and files.
            Err(error) if self.container.lacks_layer(&error) => self.run_once(execution).await,
            ended => ended,
        };
        note_result(ended.is_ok());
        note_missing_worker(&ended);
        ended
    }

    async fn run_once(&self, mut execution: Execution) -> Result<ExecutionReport, ToolboxError> {
        let (container_id, held) = self.container.ensure_open().await?;
        announce_container(&container_id).await;
        for NamedSecret { variable, secret } in self.secrets.iter() {
            let variable = (variable.clone(), secret.stand_in.clone());
            execution.env.push(variable);
            execution.secrets.push(secret.clone());
        }
        let (sandbox, owner) = (&self.container.sandbox, &self.container.owner);
        let requested = RequestedCommand::begin(&mut execution);
        let ran = sandbox.exec(owner, &container_id, execution).await;
        drop(held);
        let ran = ran.map_err(ToolboxError::from);
        requested.end(&ran);
        if ran
            .as_ref()
            .is_err_and(|error| self.container.lacks_layer(error))
        {
            self.container.mark_outdated(&container_id).await;
        }
        ran
    }

    /// Writes a file; `path` is relative to `/mnt/data`.
    ///
    /// # Errors
    /// When the path is invalid, or the container has no space for it.
    pub async fn put(&self, path: &str, bytes: Vec<u8>) -> Result<(), ToolboxError> {
        match self.put_once(path, bytes.clone()).await {
            Err(error) if self.container.has_expired(&error) => {
                self.container.forget_expired().await;
                self.put_once(path, bytes).await
            }
            ended => ended,
        }
    }

    async fn put_once(&self, path: &str, bytes: Vec<u8>) -> Result<(), ToolboxError> {
        let (container_id, _held) = self.container.ensure_open().await?;
        let (sandbox, owner) = (&self.container.sandbox, &self.container.owner);
        Ok(sandbox.put(owner, &container_id, path, bytes).await?)
    }

    /// Writes a file of the client, identified by its id, and replaces one of the same name;
    /// `path` is relative to `/mnt/data`.
    ///
    /// # Errors
    /// When the path is invalid, or the container has no space for it.
    pub async fn upload(
        &self,
        source: &str,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<(), ToolboxError> {
        match self.upload_once(source, path, bytes.clone()).await {
            Err(error) if self.container.has_expired(&error) => {
                self.container.forget_expired().await;
                self.upload_once(source, path, bytes).await
            }
            ended => ended,
        }
    }

    async fn upload_once(
        &self,
        source: &str,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<(), ToolboxError> {
        let (container_id, _held) = self.container.ensure_open().await?;
        let (sandbox, owner) = (&self.container.sandbox, &self.container.owner);
        Ok(sandbox
            .upload(owner, &container_id, source, path, bytes)
            .await?)
    }

    /// Whether a file of the client was uploaded before, and its name is still in use.
    ///
    /// # Errors
    /// When the container has expired.
    pub async fn has_upload(&self, source: &str, path: &str) -> Result<bool, ToolboxError> {
        let held = self.container.open.read().await;
        let Some(open) = held.as_ref() else {
            return Ok(false);
        };
        let (sandbox, owner) = (&self.container.sandbox, &self.container.owner);
        Ok(sandbox
            .has_upload(owner, &open.container_id, source, path)
            .await?)
    }

    /// Reads a file; `path` is relative to `/mnt/data`.
    ///
    /// # Errors
    /// When it does not exist, or is too large to be read at once.
    pub async fn get(&self, path: &str) -> Result<Vec<u8>, ToolboxError> {
        let held = self.container.open.read().await;
        let Some(open) = held.as_ref() else {
            let path = path.to_owned();
            return Err(SandboxError::FileNotFound { path }.into());
        };
        self.container
            .read(&open.container_id, path, MAX_READ_BYTES)
            .await
    }

    /// Reads a file when there is memory for as many copies as its user makes; `path` is relative
    /// to `/mnt/data`.
    ///
    /// # Errors
    /// When it does not exist, or is too large to be read at once.
    pub async fn get_counted(&self, path: &str, copies: u64) -> Result<CountedFile, ToolboxError> {
        // The container is not held while this waits for memory: whoever has memory may need to
        // replace the container.
        let file = self.open_file(path).await?;
        let size = file.size;
        check_size(path, size, MAX_READ_BYTES)?;
        let bytes = size.saturating_mul(copies);
        let memory = reserve_file_memory(&self.container.owner, bytes).await;
        // Code may have made it longer meanwhile.
        let content = read_whole(path, file, size).await?;
        Ok(CountedFile {
            content,
            _memory: memory,
        })
    }

    /// Opens a file, which is read in parts; `path` is relative to `/mnt/data`.
    ///
    /// # Errors
    /// When it does not exist.
    pub async fn open_file(&self, path: &str) -> Result<FileStream, ToolboxError> {
        let held = self.container.open.read().await;
        let Some(open) = held.as_ref() else {
            let path = path.to_owned();
            return Err(SandboxError::FileNotFound { path }.into());
        };
        let (sandbox, owner) = (&self.container.sandbox, &self.container.owner);
        Ok(sandbox.get(owner, &open.container_id, path).await?)
    }

    /// Opens a file that a command in it has created or changed, which is read in parts. It may
    /// be as the command has left it, even if it was changed since.
    ///
    /// # Errors
    /// When it does not exist.
    pub async fn open_output(&self, output: &SandboxOutput) -> Result<FileStream, ToolboxError> {
        let held = self.container.open.read().await;
        let Some(open) = held.as_ref() else {
            let path = output.path.clone();
            return Err(SandboxError::FileNotFound { path }.into());
        };
        let (sandbox, owner) = (&self.container.sandbox, &self.container.owner);
        Ok(sandbox
            .open_output(owner, &open.container_id, output)
            .await?)
    }

    /// The files in it. Before its first use there are none.
    ///
    /// # Errors
    /// When the container has expired.
    pub async fn list(&self) -> Result<Vec<FileInfo>, ToolboxError> {
        let held = self.container.open.read().await;
        let Some(open) = held.as_ref() else {
            return Ok(Vec::new());
        };
        let (sandbox, owner) = (&self.container.sandbox, &self.container.owner);
        Ok(sandbox.list(owner, &open.container_id).await?)
    }

    /// The files in it, when there is memory for their list. It must be dropped before anything
    /// else is waited for.
    ///
    /// # Errors
    /// When the container has expired.
    pub async fn list_counted(&self) -> Result<CountedList, ToolboxError> {
        // While a command uses the container, others have this memory.
        self.has_upload("", "").await?;
        let memory = reserve_list_memory(&self.container.owner).await;
        Ok(CountedList {
            files: self.list().await?,
            _memory: Some(memory),
        })
    }

    /// Removes the container and its files, if it was created.
    ///
    /// # Errors
    /// When it has expired, or belongs to another owner.
    pub async fn close(&self) -> Result<(), ToolboxError> {
        let mut open = self.container.open.write().await;
        *lock(&self.container.container_id) = None;
        if let Some(open) = open.take() {
            let (sandbox, owner) = (&self.container.sandbox, &self.container.owner);
            sandbox.destroy(owner, &open.container_id).await?;
        }
        Ok(())
    }

    /// Makes the container show this skill from its next use on.
    pub(crate) fn add_skill(&self, skill: &Arc<Skill>) {
        let mut skills = lock(&self.container.skills);
        match skills.iter_mut().find(|known| known.name == skill.name) {
            Some(known) => *known = Arc::clone(skill),
            None => skills.push(Arc::clone(skill)),
        }
    }

    /// Notes from the creation of the container, each returned once.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.container.notes))
    }
}
