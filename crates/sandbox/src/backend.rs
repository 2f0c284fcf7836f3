//! The interface of a backend: it runs one command of a container to its end. The rest of
//! this crate (owners, queue, files, outputs) is the same for every backend.
//!
//! A backend has no owners and stores nothing of a command: it returns the written files
//! as an open folder, which [`CommandResult::into_report`] collects for all backends.

use crate::collect::{self, CollectedFiles, DiskUsage};
use crate::egress::{BoxFuture, EgressConnection, Proxy};
use crate::error::{Error, ErrorContext};
use crate::execution::{CapturedOutput, CommandOutcome, Execution, ExecutionReport, LimitHit};
use crate::packages::NODE_MODULES;
use crate::policy::SandboxLimits;
use crate::probe::Grade;
use prowess_launcher::LAYOUT;
use prowess_launcher::spec::PROXY_PORT;
use rustix::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The search path of programs: the folders of the runtime, then [`EXTRA_PROGRAMS`].
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/programs";

/// Programs that the native sandbox adds to those of the runtime.
pub(crate) const EXTRA_PROGRAMS: &str = "/programs";

/// Where npm installs packages for all users of a runtime.
pub(crate) const RUNTIME_NODE_MODULES: &str = "/usr/local/lib/node_modules";

/// Runs commands.
pub(crate) trait SandboxBackend: std::fmt::Debug + Send + Sync {
    /// Runs one command to its end: when this returns, all of its processes are dead.
    /// Dropping the future kills them.
    fn run(&self, job: CommandJob) -> BoxFuture<'_, Result<CommandResult, Error>>;

    /// Provisions a sandbox in advance: for the next command of a container, or for a
    /// future container. May do nothing.
    fn provision(&self, next: ProvisionRequest) -> BoxFuture<'_, Result<(), Error>>;

    /// How many provisioned sandboxes are waiting.
    fn warm_count(&self) -> usize;

    /// The host id of a provisioned sandbox that no container uses yet, for a new container.
    fn claim_warm(&self, limits: &SandboxLimits) -> Option<u32>;

    /// Releases what is held for a removed container.
    fn forget<'a>(&'a self, container_id: &'a str, host_id: u32) -> BoxFuture<'a, ()>;

    /// Releases what is held for all containers except these: some expire without a call
    /// to [`forget`](Self::forget).
    fn keep_only<'a>(&'a self, container_ids: &'a [String]) -> BoxFuture<'a, ()>;
}

/// One command, with everything it needs.
#[derive(Debug)]
pub(crate) struct CommandJob {
    /// What to run.
    pub(crate) execution: Execution,
    /// The container it runs in.
    pub(crate) container_id: String,
    /// Bounds.
    pub(crate) limits: SandboxLimits,
    /// How many commands of its tenant run, this one included.
    pub(crate) running: usize,
    /// The egress proxy, if network access is allowed.
    pub(crate) proxy: Option<Arc<Proxy>>,
    /// The host id that the inner user maps to. Ignored unless the server is root.
    pub(crate) host_id: u32,
    /// The container's folder for `/mnt/data`, as a path relative to the state folder.
    pub(crate) data: String,
    /// What the folder contains before the command.
    pub(crate) usage: DiskUsage,
    /// Read-only mounts, as (path relative to the state folder, path inside).
    pub(crate) mounts: Vec<(String, String)>,
}

/// What to provision.
#[derive(Debug)]
pub(crate) struct ProvisionRequest {
    /// The container it is for, `None` for a future one.
    pub(crate) container_id: Option<String>,
    /// That container's host id, or an unused one.
    pub(crate) host_id: u32,
    /// Bounds.
    pub(crate) limits: SandboxLimits,
    /// Whether the last command was Python code, as the next one will likely be.
    pub(crate) python: bool,
}

/// The result of a command whose processes have all ended.
pub(crate) struct CommandResult {
    pub(crate) job: CommandJob,
    pub(crate) outcome: CommandOutcome,
    pub(crate) hits: Vec<LimitHit>,
    pub(crate) stdout: CapturedOutput,
    pub(crate) stderr: CapturedOutput,
    pub(crate) elapsed: Duration,
    pub(crate) written: WrittenFiles,
    /// Called once the written files are collected and their folder is closed.
    pub(crate) release: Box<dyn FnOnce() + Send>,
}

/// The folder a command wrote to.
pub(crate) enum WrittenFiles {
    /// Contains new and changed files, and whiteouts for deleted ones.
    Changes(OwnedFd),
    /// Contains all files of the container: missing ones were deleted.
    Whole(OwnedFd),
}

impl CommandResult {
    /// Whether there is nothing to collect, so that no blocking thread is needed.
    pub(crate) fn wrote_nothing(&self) -> bool {
        match &self.written {
            WrittenFiles::Changes(changes) => collect::is_empty(changes),
            WrittenFiles::Whole(_) => false,
        }
    }

    /// Moves the written files into the container's folder, beneath `state`. If `root`, the
    /// files belong to the container's host id. `reserve` reserves disk space and returns
    /// how many bytes are available. Blocks.
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
            files_unchanged: false,
            worker: None,
        })
    }
}

fn connections(proxy: Option<&Proxy>) -> Vec<EgressConnection> {
    proxy.map_or_else(Vec::new, Proxy::connections)
}

/// The default variables of every command, overridden by those given for it.
pub(crate) fn command_environment(
    given: &[(String, String)],
    proxy: bool,
    layer: bool,
) -> Vec<(String, String)> {
    let always = [
        ("PATH", PATH),
        ("HOME", LAYOUT.home),
        ("TMPDIR", LAYOUT.tmp),
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
    // Packages of a layer come before those of the runtime.
    let node_path = format!("{}/{NODE_MODULES}:{RUNTIME_NODE_MODULES}", LAYOUT.packages);
    let packages = [("PYTHONPATH", LAYOUT.packages), ("NODE_PATH", &node_path)];
    let packages = packages.into_iter().filter(|_| layer);
    // Without a network they would try again for a minute before they fail.
    let package_managers = [("PIP_RETRIES", "0"), ("npm_config_fetch_retries", "0")];
    let package_managers = package_managers.into_iter().filter(|_| !proxy);
    let is_given = |name: &str| given.iter().any(|(key, _)| key == name);
    let kept = always
        .into_iter()
        .chain(proxy_variables)
        .chain(package_managers)
        .chain(packages)
        .filter(|(name, _)| !is_given(name));
    kept.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .chain(given.iter().cloned())
        .collect()
}

/// Whether one of these mounts is a package layer.
pub(crate) fn has_layer(mounts: &[(String, String)]) -> bool {
    mounts.iter().any(|(_, inside)| inside == LAYOUT.packages)
}

/// Runs blocking work on a thread for blocking tasks.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            Err(std::io::Error::other(error)).context("cannot finish work on another thread")
        }
    }
}
