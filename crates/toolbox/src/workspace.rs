//! Where code runs: one sandbox session, made when it is first needed.
//!
//! A toolbox may hold thousands of skills, and a session shows only those it was made
//! with. So a session that lacks a skill which is needed now is replaced by one that
//! has it, and its regular files move along; links and modes do not. One that has expired
//! is replaced too, and whoever uses it next is told that the files are gone. A session
//! that was there before is never replaced: its id is known to others.

use crate::error::ToolboxError;
use crate::folder::skill_folder;
use prowess_sandbox::{
    ContainerSpec, EgressSecret, Error as SandboxError, Execution, ExecutionReport, FileInfo,
    Layer, Policy, Requirements, Sandbox, SkillFiles,
};
use prowess_skill::Skill;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{RwLock, RwLockReadGuard};

/// Most bytes of a session's file that are read at once.
const MAX_READ_BYTES: u64 = 128 << 20;

/// What is told with the first result after a session has expired.
const EXPIRED_NOTE: &str =
    "the session had expired: /mnt/data is empty, what was there before is gone";

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
    /// Whether the session was there before, and stays as it is.
    is_existing: bool,
    /// Whether nothing may be run.
    is_disabled: bool,
    secrets: Vec<NamedSecret>,
    skills: Mutex<Vec<Arc<Skill>>>,
    /// Read while something runs, written while the session is made or replaced.
    open: RwLock<Option<OpenContainer>>,
    container_id: Mutex<Option<String>>,
    notes: Mutex<Vec<String>>,
}

/// A secret, and the variable that holds its stand-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSecret {
    /// The variable.
    pub variable: String,
    /// The secret.
    pub secret: EgressSecret,
}

/// A session and the digests of the skills it shows.
#[derive(Debug)]
struct OpenContainer {
    container_id: String,
    skill_digests: Vec<String>,
}

impl Workspace {
    /// A session of these skills, made at its first use. What their requirements name
    /// is installed if the sandbox has a package index; if not, the first result of a
    /// run says so.
    #[must_use]
    pub fn for_skills(
        sandbox: Sandbox,
        owner: &str,
        skills: Vec<Arc<Skill>>,
        policy: Policy,
    ) -> Self {
        Self::new(sandbox, owner, skills, policy, None)
    }

    /// A session that is there already, with what it was made with.
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

    /// The same, but nothing is ever run or written in it: for those who only want to
    /// know which tools there would be.
    #[must_use]
    pub fn disabled(sandbox: Sandbox, owner: &str) -> Self {
        let mut disabled = Self::new(sandbox, owner, Vec::new(), Policy::default(), None);
        if let Some(inner) = Arc::get_mut(&mut disabled.inner) {
            inner.is_disabled = true;
        }
        disabled
    }

    /// The same with secrets that its commands know by variables that hold stand-ins.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Vec<NamedSecret>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.secrets = secrets;
        }
        self
    }

    /// The session's id, once there is one.
    #[must_use]
    pub fn container_id(&self) -> Option<String> {
        lock(&self.inner.container_id).clone()
    }

    /// Whose it is.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.inner.owner
    }

    /// The sandbox it is in.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.inner.sandbox
    }

    /// Makes the session if it is not there, and returns its id.
    ///
    /// # Errors
    /// When the sandbox cannot make it.
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
            // The session was marked, so this makes another with its packages and files.
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
    /// When the path is not one, or the session cannot hold it.
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

    /// Writes a file of the client's, known by its id, in place of whatever has its name;
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

    /// Whether a file of the client's was put there before, and its name is still in use.
    ///
    /// # Errors
    /// When the session has expired.
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
    /// When it is not there, or too large to be read at once.
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

    /// Removes the session and its files, if it was ever made.
    ///
    /// # Errors
    /// When it has expired, or is not the owner's.
    pub async fn close(&self) -> Result<(), ToolboxError> {
        let mut open = self.inner.open.write().await;
        *lock(&self.inner.container_id) = None;
        if let Some(open) = open.take() {
            let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
            sandbox.destroy(owner, &open.container_id).await?;
        }
        Ok(())
    }

    /// Whether an error says that our own session is no longer there.
    fn has_expired(&self, error: &ToolboxError) -> bool {
        let gone = matches!(
            error,
            ToolboxError::Sandbox(SandboxError::ContainerNotFound { .. })
        );
        gone && !self.inner.is_existing
    }

    /// Whether an error says that the packages of our own session are no longer there.
    fn lacks_layer(&self, error: &ToolboxError) -> bool {
        let gone = matches!(error, ToolboxError::Sandbox(SandboxError::LayerGone));
        gone && !self.inner.is_existing
    }

    /// Lets the next use replace a session as one that shows nothing of what is wanted,
    /// unless that has happened meanwhile.
    async fn mark_outdated(&self, container_id: &str) {
        let mut held = self.inner.open.write().await;
        if let Some(open) = held
            .as_mut()
            .filter(|open| open.container_id == container_id)
        {
            open.skill_digests.clear();
        }
    }

    /// Lets the next use make another session, unless that has happened meanwhile.
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
        lock(&self.inner.notes).push(EXPIRED_NOTE.to_owned());
    }

    /// Sees to it that the session shows this skill from its next use on.
    pub(crate) fn add_skill(&self, skill: &Arc<Skill>) {
        let mut skills = lock(&self.inner.skills);
        match skills.iter_mut().find(|known| known.name == skill.name) {
            Some(known) => *known = Arc::clone(skill),
            None => skills.push(Arc::clone(skill)),
        }
    }

    /// What was noticed while the session was made, each once.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.inner.notes))
    }

    /// The session with all that is wanted, held open while the guard lives.
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
            // The first error is the one to tell, and the old session is still there.
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

    /// The packages that the skills ask for. Without them code may still run, so what
    /// stands in the way is told with the first result instead of ending everything.
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
                let note = format!("the skills' Python packages are not installed: {error}");
                lock(&self.inner.notes).push(note);
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

/// A lock whose holder cannot have panicked half-way: it guards single assignments.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
