//! Where code runs: one sandbox session, made when it is first needed.
//!
//! A toolbox may hold thousands of skills, and a session shows only those it was made
//! with. So a session that lacks a skill which is needed now is replaced by one that
//! has it, and its regular files move along; links and modes do not. One that has expired
//! is replaced too, and whoever uses it next is told that the files are gone. A session
//! that was there before is never replaced: its id is known to others.

use crate::error::ToolboxError;
use crate::folder::folder_of;
use prowess_sandbox::{
    Error as SandboxError, Execution, FileInfo, Layer, NewSession, Policy, Report, Requirements,
    Sandbox, Secret, SkillFiles,
};
use prowess_skill::Skill;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{RwLock, RwLockReadGuard};

/// Most bytes of a session's file that are read at once.
const MOST_READ: u64 = 128 << 20;

/// What is told with the first result after a session has expired.
const EXPIRED: &str = "the session had expired: /mnt/data is empty, what was there before is gone";

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
    settled: bool,
    /// Whether nothing may be run.
    shut: bool,
    secrets: Vec<NamedSecret>,
    wanted: Mutex<Vec<Arc<Skill>>>,
    /// Read while something runs, written while the session is made or replaced.
    open: RwLock<Option<Open>>,
    session: Mutex<Option<String>>,
    notes: Mutex<Vec<String>>,
}

/// A secret, and the variable that holds its stand-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSecret {
    /// The variable.
    pub variable: String,
    /// The secret.
    pub secret: Secret,
}

/// A session and the digests of the skills it shows.
#[derive(Debug)]
struct Open {
    session: String,
    shows: Vec<String>,
}

impl Workspace {
    /// A session of these skills, made at its first use. What their requirements name
    /// is installed if the sandbox has a package index; if not, the first result of a
    /// run says so.
    #[must_use]
    pub fn fresh(sandbox: Sandbox, owner: &str, skills: Vec<Arc<Skill>>, policy: Policy) -> Self {
        Self::new(sandbox, owner, skills, policy, None)
    }

    /// A session that is there already, with what it was made with.
    #[must_use]
    pub fn existing(sandbox: Sandbox, owner: &str, session: &str) -> Self {
        let open = Open {
            session: session.to_owned(),
            shows: Vec::new(),
        };
        Self::new(sandbox, owner, Vec::new(), Policy::default(), Some(open))
    }

    fn new(
        sandbox: Sandbox,
        owner: &str,
        wanted: Vec<Arc<Skill>>,
        policy: Policy,
        open: Option<Open>,
    ) -> Self {
        let inner = Inner {
            sandbox,
            owner: owner.to_owned(),
            policy,
            settled: open.is_some(),
            shut: false,
            secrets: Vec::new(),
            wanted: Mutex::new(wanted),
            session: Mutex::new(open.as_ref().map(|open| open.session.clone())),
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
    pub fn shut(sandbox: Sandbox, owner: &str) -> Self {
        let mut shut = Self::new(sandbox, owner, Vec::new(), Policy::default(), None);
        if let Some(inner) = Arc::get_mut(&mut shut.inner) {
            inner.shut = true;
        }
        shut
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
    pub fn session(&self) -> Option<String> {
        lock(&self.inner.session).clone()
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
        let (session, _held) = self.ready().await?;
        Ok(session)
    }

    /// Runs a command in it.
    ///
    /// # Errors
    /// When the sandbox cannot run it; how the command ended is in the report.
    pub async fn run(&self, execution: Execution) -> Result<Report, ToolboxError> {
        match self.run_once(execution.clone()).await {
            Err(error) if self.has_expired(&error) => {
                self.forget().await;
                self.run_once(execution).await
            }
            // The session was marked, so this makes another with its packages and files.
            Err(error) if self.lacks_layer(&error) => self.run_once(execution).await,
            ended => ended,
        }
    }

    async fn run_once(&self, mut execution: Execution) -> Result<Report, ToolboxError> {
        let (session, held) = self.ready().await?;
        for NamedSecret { variable, secret } in &self.inner.secrets {
            let variable = (variable.clone(), secret.stand_in.clone());
            execution.env.push(variable);
            execution.secrets.push(secret.clone());
        }
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        let ran = sandbox.exec(owner, &session, execution).await;
        drop(held);
        let ran = ran.map_err(ToolboxError::from);
        if ran.as_ref().is_err_and(|error| self.lacks_layer(error)) {
            self.mark_incomplete(&session).await;
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
                self.forget().await;
                self.put_once(path, bytes).await
            }
            ended => ended,
        }
    }

    async fn put_once(&self, path: &str, bytes: Vec<u8>) -> Result<(), ToolboxError> {
        let (session, _held) = self.ready().await?;
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        Ok(sandbox.put(owner, &session, path, bytes).await?)
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
                self.forget().await;
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
        let (session, _held) = self.ready().await?;
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        Ok(sandbox.upload(owner, &session, source, path, bytes).await?)
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
            .has_upload(owner, &open.session, source, path)
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
            return Err(SandboxError::NoFile { path }.into());
        };
        self.read(&open.session, path, MOST_READ).await
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
        Ok(sandbox.list(owner, &open.session).await?)
    }

    /// Removes the session and its files, if it was ever made.
    ///
    /// # Errors
    /// When it has expired, or is not the owner's.
    pub async fn close(&self) -> Result<(), ToolboxError> {
        let mut open = self.inner.open.write().await;
        *lock(&self.inner.session) = None;
        if let Some(open) = open.take() {
            let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
            sandbox.destroy(owner, &open.session).await?;
        }
        Ok(())
    }

    /// Whether an error says that our own session is no longer there.
    fn has_expired(&self, error: &ToolboxError) -> bool {
        let gone = matches!(error, ToolboxError::Sandbox(SandboxError::NoSession { .. }));
        gone && !self.inner.settled
    }

    /// Whether an error says that the packages of our own session are no longer there.
    fn lacks_layer(&self, error: &ToolboxError) -> bool {
        let gone = matches!(error, ToolboxError::Sandbox(SandboxError::LayerGone));
        gone && !self.inner.settled
    }

    /// Lets the next use replace a session as one that shows nothing of what is wanted,
    /// unless that has happened meanwhile.
    async fn mark_incomplete(&self, session: &str) {
        let mut held = self.inner.open.write().await;
        if let Some(open) = held.as_mut().filter(|open| open.session == session) {
            open.shows.clear();
        }
    }

    /// Lets the next use make another session, unless that has happened meanwhile.
    async fn forget(&self) {
        let mut held = self.inner.open.write().await;
        let Some(open) = held.as_ref() else {
            return;
        };
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        if sandbox.expiry(owner, &open.session).await.is_ok() {
            return;
        }
        *held = None;
        *lock(&self.inner.session) = None;
        lock(&self.inner.notes).push(EXPIRED.to_owned());
    }

    /// Sees to it that the session shows this skill from its next use on.
    pub(crate) fn show(&self, skill: &Arc<Skill>) {
        let mut wanted = lock(&self.inner.wanted);
        match wanted.iter_mut().find(|known| known.name == skill.name) {
            Some(known) => *known = Arc::clone(skill),
            None => wanted.push(Arc::clone(skill)),
        }
    }

    /// What was noticed while the session was made, each once.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.inner.notes))
    }

    /// The session with all that is wanted, held open while the guard lives.
    async fn ready(&self) -> Result<(String, RwLockReadGuard<'_, Option<Open>>), ToolboxError> {
        if self.inner.shut {
            return Err(ToolboxError::NoWorkspace);
        }
        loop {
            let held = self.inner.open.read().await;
            let wanted = lock(&self.inner.wanted).clone();
            match held.as_ref() {
                Some(open) if self.inner.settled || open.shows == digests(&wanted) => {
                    return Ok((open.session.clone(), held));
                }
                _ => drop(held),
            }
            self.make(wanted).await?;
        }
    }

    async fn make(&self, wanted: Vec<Arc<Skill>>) -> Result<(), ToolboxError> {
        let mut open = self.inner.open.write().await;
        let shows = digests(&wanted);
        if open.as_ref().is_some_and(|open| open.shows == shows) {
            return Ok(());
        }
        let shown = |skill: &Arc<Skill>| SkillFiles::of(skill, folder_of(&skill.name));
        let skills: Vec<_> = wanted.iter().map(shown).collect();
        let new = NewSession {
            policy: self.inner.policy.clone(),
            layer: self.layer(&skills).await,
            skills,
        };
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        let session = sandbox.create(owner, new).await?;
        if let Some(before) = open.as_ref()
            && let Err(error) = self.move_files(&before.session, &session).await
        {
            // The first error is the one to tell, and the old session is still there.
            let _ = sandbox.destroy(owner, &session).await;
            return Err(error);
        }
        *lock(&self.inner.session) = Some(session.clone());
        *open = Some(Open { session, shows });
        Ok(())
    }

    async fn move_files(&self, from: &str, to: &str) -> Result<(), ToolboxError> {
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        let most = self.inner.policy.limits.data_bytes;
        for file in sandbox.list(owner, from).await? {
            let bytes = self.read(from, &file.path, most).await?;
            sandbox.put(owner, to, &file.path, bytes).await?;
        }
        sandbox.copy_uploads(owner, from, to).await?;
        Ok(sandbox.destroy(owner, from).await?)
    }

    async fn read(&self, session: &str, path: &str, most: u64) -> Result<Vec<u8>, ToolboxError> {
        let (sandbox, owner) = (&self.inner.sandbox, &self.inner.owner);
        let file = sandbox.get(owner, session, path).await?;
        let path = path.to_owned();
        let read = tokio::task::spawn_blocking(move || read_bounded(file, path, most)).await;
        read.unwrap_or_else(|_| Err(SandboxError::LauncherGone.into()))
    }

    /// The packages that the skills ask for. Without them code may still run, so what
    /// stands in the way is told with the first result instead of ending everything.
    async fn layer(&self, skills: &[SkillFiles]) -> Option<Layer> {
        let built = match Requirements::of_skills(skills) {
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

fn digests(skills: &[Arc<Skill>]) -> Vec<String> {
    let one = |skill: &Arc<Skill>| {
        let (folder, digest) = (folder_of(&skill.name), skill.manifest.digest().hex());
        format!("{folder} {digest}")
    };
    skills.iter().map(one).collect()
}

fn read_bounded(file: std::fs::File, path: String, most: u64) -> Result<Vec<u8>, ToolboxError> {
    let unreadable = |source| ToolboxError::File {
        path: path.clone(),
        source,
    };
    let size = file.metadata().map_err(unreadable)?.len();
    if size > most {
        return Err(ToolboxError::FileTooLarge { path, size, most });
    }
    let mut bytes = Vec::new();
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    Ok(bytes)
}

/// A lock whose holder cannot have panicked half-way: it guards single assignments.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
