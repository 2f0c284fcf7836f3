//! What a backend is: something that runs one command of a session to its end. The
//! rest of this crate (owners, queue, files, outputs) is the same whichever it is.
//!
//! A backend knows nothing of owners and keeps nothing of a command: what was written
//! is handed over as an open folder and taken by [`Ended::take`], the same code for all.

use crate::collect::{self, CollectedFiles, DiskUsage};
use crate::egress::{BoxFuture, EgressConnection, Proxy};
use crate::error::{Error, ErrorContext};
use crate::execution::{CapturedOutput, CommandOutcome, Execution, ExecutionReport, LimitHit};
use crate::packages;
use crate::policy::SandboxLimits;
use crate::probe::Grade;
use prowess_launcher::spec::PROXY_PORT;
use rustix::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Where programs are looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Runs commands.
pub(crate) trait SandboxBackend: std::fmt::Debug + Send + Sync {
    /// Runs one command to its end: when this returns, every process of it is dead.
    /// Dropped before, it kills them.
    fn run(&self, job: CommandJob) -> BoxFuture<'_, Result<CommandResult, Error>>;

    /// Makes ready, ahead, what a command will run in: the next one of a session, or
    /// of a session yet to come. May do nothing.
    fn provision(&self, next: ProvisionRequest) -> BoxFuture<'_, Result<(), Error>>;

    /// How many wait, made ahead.
    fn warm_count(&self) -> usize;

    /// A host id for a new session, if something made ahead waits for one.
    fn claim_warm(&self, limits: &SandboxLimits) -> Option<u32>;

    /// Lets go of what is kept for a session that is no more.
    fn forget<'a>(&'a self, container_id: &'a str, host_id: u32) -> BoxFuture<'a, ()>;

    /// Lets go of what is kept for any session but these: some expire while no one
    /// looks.
    fn keep_only<'a>(&'a self, container_ids: &'a [String]) -> BoxFuture<'a, ()>;
}

/// One command, with everything it is given.
#[derive(Debug)]
pub(crate) struct CommandJob {
    /// What to run.
    pub(crate) execution: Execution,
    /// The session it runs in.
    pub(crate) container_id: String,
    /// Bounds.
    pub(crate) limits: SandboxLimits,
    /// How many commands of its tenant run, this one included.
    pub(crate) running: usize,
    /// The way out, if there is one.
    pub(crate) proxy: Option<Arc<Proxy>>,
    /// The host id that stands behind the inner user. Ignored unless we are root.
    pub(crate) host_id: u32,
    /// The session's folder for `/mnt/data`, as a path relative to the state folder.
    pub(crate) data: String,
    /// What is in it already.
    pub(crate) usage: DiskUsage,
    /// Read-only mounts, as (path relative to the state folder, path inside).
    pub(crate) mounts: Vec<(String, String)>,
}

/// What to make ready.
#[derive(Debug)]
pub(crate) struct ProvisionRequest {
    /// The session it is for, `None` for one yet to come.
    pub(crate) container_id: Option<String>,
    /// That session's host id, or one that no session has.
    pub(crate) host_id: u32,
    /// Bounds.
    pub(crate) limits: SandboxLimits,
    /// Whether the last command was Python code, as the next one will likely be.
    pub(crate) python: bool,
}

/// A command that has ended, and every process of it.
pub(crate) struct CommandResult {
    pub(crate) job: CommandJob,
    pub(crate) outcome: CommandOutcome,
    pub(crate) hits: Vec<LimitHit>,
    pub(crate) stdout: CapturedOutput,
    pub(crate) stderr: CapturedOutput,
    pub(crate) elapsed: Duration,
    pub(crate) written: WrittenFiles,
    /// Called once what was written is taken and its folder let go of.
    pub(crate) release: Box<dyn FnOnce() + Send>,
}

/// The folder a command wrote to.
pub(crate) enum WrittenFiles {
    /// It holds what is new or changed, and marks for what was deleted.
    Changes(OwnedFd),
    /// It holds all files of the session: what is not there was deleted.
    Whole(OwnedFd),
}

impl CommandResult {
    /// Whether there is surely nothing to take: so little to do that no thread is needed
    /// for it.
    pub(crate) fn wrote_nothing(&self) -> bool {
        match &self.written {
            WrittenFiles::Changes(changes) => collect::is_empty(changes),
            WrittenFiles::Whole(_) => false,
        }
    }

    /// Takes what was written into the session's folder, beneath `state`. Things there
    /// belong to the session's host id when `root`. `room` makes room on the disk, and
    /// says for how many bytes there is some. Blocks.
    pub(crate) fn into_report(
        self,
        state: &Path,
        root: bool,
        level: Grade,
        reserve: &dyn Fn(u64) -> u64,
    ) -> Result<ExecutionReport, Error> {
        let Self { job, written, .. } = self;
        let folder = state.join(&job.data);
        let owner = root.then_some(job.host_id);
        let mut hits = self.hits;
        let into = |used| collect::CollectTarget {
            folder: &folder,
            owner,
            used,
            reserve,
        };
        let CollectedFiles { outputs, skipped } = match &written {
            WrittenFiles::Changes(changes) => {
                collect::collect_outputs(changes, into(Some(job.usage)), &job.limits)?
            }
            WrittenFiles::Whole(whole) => {
                collect::remove_missing(whole, &folder)?;
                collect::collect_outputs(whole, into(None), &job.limits)?
            }
        };
        let over = skipped
            .iter()
            .any(|one| one.reason == collect::SkipReason::Quota);
        if over && !hits.contains(&LimitHit::Data) {
            hits.push(LimitHit::Data);
        }
        drop(written);
        (self.release)();
        Ok(ExecutionReport {
            outcome: self.outcome,
            hits,
            stdout: self.stdout,
            stderr: self.stderr,
            outputs,
            skipped,
            connections: connections(job.proxy.as_deref()),
            elapsed: self.elapsed,
            level,
        })
    }
}

fn connections(proxy: Option<&Proxy>) -> Vec<EgressConnection> {
    proxy.map_or_else(Vec::new, Proxy::connections)
}

/// The few variables every command has, and those given for it, which win.
pub(crate) fn command_environment(
    given: &[(String, String)],
    proxy: bool,
    layer: bool,
) -> Vec<(String, String)> {
    let always = [
        ("PATH", PATH),
        ("HOME", "/tmp"),
        ("TMPDIR", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("USER", "sandbox"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    let address = format!("http://127.0.0.1:{PROXY_PORT}");
    let proxy_variables = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
    let proxy_variables = proxy_variables
        .iter()
        .filter(|_| proxy)
        .map(|name| (*name, address.as_str()));
    let packages = layer.then_some(("PYTHONPATH", packages::PACKAGES_PATH));
    let is_given = |name: &str| given.iter().any(|(key, _)| key == name);
    let kept = always
        .into_iter()
        .chain(proxy_variables)
        .chain(packages)
        .filter(|(name, _)| !is_given(name));
    kept.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .chain(given.iter().cloned())
        .collect()
}

/// Whether one of these mounts is a package layer.
pub(crate) fn has_layer(mounts: &[(String, String)]) -> bool {
    mounts
        .iter()
        .any(|(_, inside)| inside == packages::PACKAGES_PATH)
}

/// Runs something that blocks away from the threads that must not.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(std::io::Error::other(error)).during("a worker thread"),
    }
}
