//! The place where code runs: one sandbox container, created on first use.
//!
//! A toolbox may hold thousands of skills, and a container shows only those it was created
//! with. A container that lacks a needed skill is replaced by one that has it; its regular
//! files are moved, links and modes are not. An expired container is replaced too, and the
//! next result notes that the files are gone. A container that existed before is never
//! replaced: others may use its id.

use crate::error::ToolboxError;
use crate::folder::skill_folder;
use crate::model_text;
use prowess_sandbox::{
    ContainerSpec, EgressSecret, Error as SandboxError, Execution, ExecutionReport, FileInfo,
    Layer, Policy, Requirements, Sandbox, SkillFiles,
};
use prowess_skill::Skill;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{RwLock, RwLockReadGuard};

/// Bytes of a file that are read at once.
const MAX_READ_BYTES: u64 = 128 << 20;

/// A place to run code in. Clones share it.
#[derive(Debug, Clone)]
pub struct Workspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    sandbox: Sandbox,
    owner: String,
    policy: Policy,
    /// Whether the container existed before, and is never replaced.
    is_existing: bool,
    /// Whether running and writing are disabled.
    is_disabled: bool,
    secrets: Vec<NamedSecret>,
    skills: Mutex<Vec<Arc<Skill>>>,
    /// Read while something runs, written while the container is created or replaced.
    open: RwLock<Option<OpenContainer>>,
    container_id: Mutex<Option<String>>,
    notes: Mutex<Vec<String>>,
}

/// A secret, and the variable that holds its placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSecret {
    /// The variable.
    pub variable: String,
    /// The secret.
    pub secret: EgressSecret,
}

/// A container and the digests of the skills it shows.
#[derive(Debug)]
struct OpenContainer {
    container_id: String,
    skill_digests: Vec<String>,
}

impl Workspace {
    /// A container with these skills, created on first use. Their required packages are
    /// installed if the sandbox has a package index; if not, the first result notes it.
    #[must_use]
    pub fn for_skills(
        sandbox: Sandbox,
        owner: &str,
        skills: Vec<Arc<Skill>>,
        policy: Policy,
    ) -> Self {
        Self::new(sandbox, owner, skills, policy, None)
    }

    /// An existing container, with the skills it was created with.
    #[must_use]
    pub fn for_container(sandbox: Sandbox, owner: &str, container_id: &str) -> Self {
        let open = OpenContainer {
            container_id: container_id.to_owned(),
            skill_digests: Vec::new(),
        };
        Self::new(sandbox, owner, Vec::new(), Policy::default(), Some(open))
    }

    fn new(
        sandbox: Sandbox,
        owner: &str,
        skills: Vec<Arc<Skill>>,
        policy: Policy,
        open: Option<OpenContainer>,
    ) -> Self {
        let inner = Inner {
            sandbox,
            owner: owner.to_owned(),
            policy,
            is_existing: open.is_some(),
            is_disabled: false,
            secrets: Vec::new(),
            skills: Mutex::new(skills),
            container_id: Mutex::new(open.as_ref().map(|open| open.container_id.clone())),
            open: RwLock::new(open),
            notes: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// A workspace that never runs or writes anything, to find out which tools there would
    /// be.
    #[must_use]
    pub fn disabled(sandbox: Sandbox, owner: &str) -> Self {
        let mut disabled = Self::new(sandbox, owner, Vec::new(), Policy::default(), None);
        if let Some(inner) = Arc::get_mut(&mut disabled.inner) {
            inner.is_disabled = true;
        }
        disabled
    }

    /// Adds secrets; commands get them as variables that hold placeholders.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Vec<NamedSecret>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.secrets = secrets;
        }
        self
    }

    /// The container's id, once it exists.
    #[must_use]
    pub fn container_id(&self) -> Option<String> {
        lock(&self.inner.container_id).clone()
    }

    /// The tenant that owns it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.inner.owner
    }

    /// The sandbox it is in.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.inner.sandbox
    }

    /// Creates the container if needed, and returns its id.
    ///
    /// # Errors
    /// When the sandbox cannot create it.
    pub async fn open(&self) -> Result<String, ToolboxError> {
        let (container_id, _held) = self.ensure_open().await?;
        Ok(container_id)
    }

    /// Runs a command in it.
    ///
    /// # Errors
    /// When the sandbox cannot run it; how the command ended is in the report.
    pub async fn run(&self, execution: Execution) -> Result<ExecutionReport, ToolboxError> {
        match self.run_once(execution.clone()).await {
            Err(error) if self.has_expired(&error) => {
                self.forget_expired().await;
                self.run_once(execution).await
            }
            // The container was marked, so this creates another with its packages and files.
            Err(error) if self.lacks_layer(&error) => self.run_once(execution).await,
            ended => ended,
        }
    }

    async fn run_once(&self, mut execution: Execution) -> Result<ExecutionReport, ToolboxError> {
        let (container_id, held) = self.ensure_open().await?;
        for NamedSecret { variable, secret } in &self.inner.secrets {
            let variable = (variable.clone(), secret.stand_in.clone());
            execution.env.push(variable);
            execution.secrets.push(secret.clone());
        }
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        let ran = sandbox.exec(owner, &container_id, execution).await;
        drop(held);
        let ran = ran.map_err(ToolboxError::from);
        if ran.as_ref().is_err_and(|error| self.lacks_layer(error)) {
            self.mark_outdated(&container_id).await;
        }
        ran
    }

    /// Writes a file; `path` is relative to `/mnt/data`.
    ///
    /// # Errors
    /// When the path is invalid, or the container has no space for it.
    pub async fn put(&self, path: &str, bytes: Vec<u8>) -> Result<(), ToolboxError> {
        match self.put_once(path, bytes.clone()).await {
            Err(error) if self.has_expired(&error) => {
                self.forget_expired().await;
                self.put_once(path, bytes).await
            }
            ended => ended,
        }
    }

    async fn put_once(&self, path: &str, bytes: Vec<u8>) -> Result<(), ToolboxError> {
        let (container_id, _held) = self.ensure_open().await?;
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        Ok(sandbox.put(owner, &container_id, path, bytes).await?)
    }

    /// Writes a file of the client, identified by its id, and replaces one of the same name;
    /// `path` is relative to `/mnt/data`.
    ///
    /// # Errors
    /// When the path is not one, or the session cannot hold it.
    pub async fn upload(
        &self,
        source: &str,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<(), ToolboxError> {
        match self.upload_once(source, path, bytes.clone()).await {
            Err(error) if self.has_expired(&error) => {
                self.forget_expired().await;
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
        let (container_id, _held) = self.ensure_open().await?;
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        Ok(sandbox
            .upload(owner, &container_id, source, path, bytes)
            .await?)
    }

    /// Whether a file of the client was uploaded before, and its name is still in use.
    ///
    /// # Errors
    /// When the container has expired.
    pub async fn has_upload(&self, source: &str, path: &str) -> Result<bool, ToolboxError> {
        let held = self.inner.open.read().await;
        let Some(open) = held.as_ref() else {
            return Ok(false);
        };
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        Ok(sandbox
            .has_upload(owner, &open.container_id, source, path)
            .await?)
    }

    /// Reads a file; `path` is relative to `/mnt/data`.
    ///
    /// # Errors
    /// When it does not exist, or is too large to be read at once.
    pub async fn get(&self, path: &str) -> Result<Vec<u8>, ToolboxError> {
        let held = self.inner.open.read().await;
        let Some(open) = held.as_ref() else {
            let path = path.to_owned();
            return Err(SandboxError::FileNotFound { path }.into());
        };
        self.read(&open.container_id, path, MAX_READ_BYTES).await
    }

    /// The files in it. Before its first use there are none.
    ///
    /// # Errors
    /// When the session has expired.
    pub async fn list(&self) -> Result<Vec<FileInfo>, ToolboxError> {
        let held = self.inner.open.read().await;
        let Some(open) = held.as_ref() else {
            return Ok(Vec::new());
        };
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        Ok(sandbox.list(owner, &open.container_id).await?)
    }

    /// Removes the container and its files, if it was created.
    ///
    /// # Errors
    /// When it has expired, or belongs to another owner.
    pub async fn close(&self) -> Result<(), ToolboxError> {
        let mut open = self.inner.open.write().await;
        *lock(&self.inner.container_id) = None;
        if let Some(open) = open.take() {
            let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
            sandbox.destroy(owner, &open.container_id).await?;
        }
        Ok(())
    }

    /// Whether an error means that a container created here has expired.
    fn has_expired(&self, error: &ToolboxError) -> bool {
        let gone = matches!(
            error,
            ToolboxError::Sandbox(SandboxError::ContainerNotFound { .. })
        );
        gone && !self.inner.is_existing
    }

    /// Whether an error means that the packages of a container created here are gone.
    fn lacks_layer(&self, error: &ToolboxError) -> bool {
        let gone = matches!(error, ToolboxError::Sandbox(SandboxError::LayerGone));
        gone && !self.inner.is_existing
    }

    /// Makes the next use replace a container, unless that has happened meanwhile.
    async fn mark_outdated(&self, container_id: &str) {
        let mut held = self.inner.open.write().await;
        if let Some(open) = held
            .as_mut()
            .filter(|open| open.container_id == container_id)
        {
            open.skill_digests.clear();
        }
    }

    /// Makes the next use create another container, unless that has happened meanwhile.
    async fn forget_expired(&self) {
        let mut held = self.inner.open.write().await;
        let Some(open) = held.as_ref() else {
            return;
        };
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        if sandbox.expiry(owner, &open.container_id).await.is_ok() {
            return;
        }
        *held = None;
        *lock(&self.inner.container_id) = None;
        lock(&self.inner.notes).push(model_text::expired_note());
    }

    /// Makes the container show this skill from its next use on.
    pub(crate) fn add_skill(&self, skill: &Arc<Skill>) {
        let mut skills = lock(&self.inner.skills);
        match skills.iter_mut().find(|known| known.name == skill.name) {
            Some(known) => *known = Arc::clone(skill),
            None => skills.push(Arc::clone(skill)),
        }
    }

    /// Notes from the creation of the container, each returned once.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.inner.notes))
    }

    /// The container with all needed skills, kept open while the guard lives.
    async fn ensure_open(
        &self,
    ) -> Result<(String, RwLockReadGuard<'_, Option<OpenContainer>>), ToolboxError> {
        if self.inner.is_disabled {
            return Err(ToolboxError::NoWorkspace);
        }
        loop {
            let held = self.inner.open.read().await;
            let skills = lock(&self.inner.skills).clone();
            match held.as_ref() {
                Some(open)
                    if self.inner.is_existing || open.skill_digests == skill_digests(&skills) =>
                {
                    return Ok((open.container_id.clone(), held));
                }
                _ => drop(held),
            }
            self.create_container(skills).await?;
        }
    }

    async fn create_container(&self, skills: Vec<Arc<Skill>>) -> Result<(), ToolboxError> {
        let mut open = self.inner.open.write().await;
        let skill_digests = skill_digests(&skills);
        if open
            .as_ref()
            .is_some_and(|open| open.skill_digests == skill_digests)
        {
            return Ok(());
        }
        let skill_files =
            |skill: &Arc<Skill>| SkillFiles::from_skill(skill, skill_folder(&skill.name));
        let files: Vec<_> = skills.iter().map(skill_files).collect();
        let new = ContainerSpec {
            policy: self.inner.policy.clone(),
            layer: self.build_layer(&files).await,
            skills: files,
        };
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        let container_id = sandbox.create(owner, new).await?;
        if let Some(before) = open.as_ref()
            && let Err(error) = self.move_files(&before.container_id, &container_id).await
        {
            // The first error is reported, and the old container still exists.
            let _ = sandbox.destroy(owner, &container_id).await;
            return Err(error);
        }
        *lock(&self.inner.container_id) = Some(container_id.clone());
        *open = Some(OpenContainer {
            container_id,
            skill_digests,
        });
        Ok(())
    }

    async fn move_files(&self, from: &str, to: &str) -> Result<(), ToolboxError> {
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        let max_bytes = self.inner.policy.limits.data_bytes;
        for file in sandbox.list(owner, from).await? {
            let bytes = self.read(from, &file.path, max_bytes).await?;
            sandbox.put(owner, to, &file.path, bytes).await?;
        }
        sandbox.copy_uploads(owner, from, to).await?;
        Ok(sandbox.destroy(owner, from).await?)
    }

    async fn read(
        &self,
        container_id: &str,
        path: &str,
        max_bytes: u64,
    ) -> Result<Vec<u8>, ToolboxError> {
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        let file = sandbox.get(owner, container_id, path).await?;
        let path = path.to_owned();
        let read = tokio::task::spawn_blocking(move || read_bounded(file, path, max_bytes)).await;
        read.unwrap_or_else(|_| Err(SandboxError::LauncherGone.into()))
    }

    /// The packages that the skills require. Code may run without them, so a problem is noted
    /// in the first result instead of failing the call.
    async fn build_layer(&self, skills: &[SkillFiles]) -> Option<Layer> {
        let built = match Requirements::from_skills(skills) {
            Ok(None) => return None,
            Ok(Some(requirements)) => {
                let owner = &self.inner.owner;
                self.inner.sandbox.layer(owner, &requirements).await
            }
            Err(error) => Err(error),
        };
        built
            .inspect_err(|error| {
                lock(&self.inner.notes).push(model_text::packages_note(error));
            })
            .ok()
    }
}

fn skill_digests(skills: &[Arc<Skill>]) -> Vec<String> {
    let one = |skill: &Arc<Skill>| {
        let (folder, digest) = (skill_folder(&skill.name), skill.manifest.digest().hex());
        format!("{folder} {digest}")
    };
    skills.iter().map(one).collect()
}

fn read_bounded(
    file: std::fs::File,
    path: String,
    max_bytes: u64,
) -> Result<Vec<u8>, ToolboxError> {
    let unreadable = |source| ToolboxError::File {
        path: path.clone(),
        source,
    };
    let size = file.metadata().map_err(unreadable)?.len();
    if size > max_bytes {
        return Err(ToolboxError::FileTooLarge {
            path,
            size,
            max: max_bytes,
        });
    }
    let mut bytes = Vec::new();
    file.take(max_bytes)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    Ok(bytes)
}

/// Ignores poisoning: the locks here guard single assignments.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
