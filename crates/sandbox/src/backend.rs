//! What a backend is: something that runs one command of a session to its end. The
//! rest of this crate (owners, queue, files, outputs) is the same whichever it is.
//!
//! A backend knows nothing of owners and keeps nothing of a command: what was written
//! is handed over as an open folder and taken by [`Ended::take`], the same code for all.

use crate::collect::{self, Collected, Usage};
use crate::egress::{BoxFuture, Connection, Proxy};
use crate::error::{During, Error};
use crate::execution::{Captured, Execution, LimitHit, Outcome, Report};
use crate::packages;
use crate::policy::Limits;
use crate::probe::Grade;
use prowess_launcher::spec::PROXY_PORT;
use rustix::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Where programs are looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Runs commands.
pub(crate) trait Backend: std::fmt::Debug + Send + Sync {
    /// Runs one command to its end: when this returns, every process of it is dead.
    /// Dropped before, it kills them.
    fn run(&self, job: Job) -> BoxFuture<'_, Result<Ended, Error>>;

    /// Makes ready, ahead, what a command will run in: the next one of a session, or
    /// of a session yet to come. May do nothing.
    fn make_ready(&self, next: Next) -> BoxFuture<'_, Result<(), Error>>;

    /// How many wait, made ahead.
    fn ready(&self) -> usize;

    /// A host id for a new session, if something made ahead waits for one.
    fn adopt(&self, limits: &Limits) -> Option<u32>;

    /// Lets go of what is kept for a session that is no more.
    fn forget<'a>(&'a self, session: &'a str, host_id: u32) -> BoxFuture<'a, ()>;

    /// Lets go of what is kept for any session but these: some expire while no one
    /// looks.
    fn keep_only<'a>(&'a self, sessions: &'a [String]) -> BoxFuture<'a, ()>;
}

/// One command, with everything it is given.
#[derive(Debug)]
pub(crate) struct Job {
    /// What to run.
    pub(crate) execution: Execution,
    /// The session it runs in.
    pub(crate) session: String,
    /// Bounds.
    pub(crate) limits: Limits,
    /// How many commands of its tenant run, this one included.
    pub(crate) running: usize,
    /// The way out, if there is one.
    pub(crate) proxy: Option<Arc<Proxy>>,
    /// The host id that stands behind the inner user. Ignored unless we are root.
    pub(crate) host_id: u32,
    /// The session's folder for `/mnt/data`, as a path relative to the state folder.
    pub(crate) data: String,
    /// What is in it already.
    pub(crate) usage: Usage,
    /// Read-only mounts, as (path relative to the state folder, path inside).
    pub(crate) mounts: Vec<(String, String)>,
}

/// What to make ready.
#[derive(Debug)]
pub(crate) struct Next {
    /// The session it is for, `None` for one yet to come.
    pub(crate) session: Option<String>,
    /// That session's host id, or one that no session has.
    pub(crate) host_id: u32,
    /// Bounds.
    pub(crate) limits: Limits,
    /// Whether the last command was Python code, as the next one will likely be.
    pub(crate) python: bool,
}

/// A command that has ended, and every process of it.
pub(crate) struct Ended {
    pub(crate) job: Job,
    pub(crate) outcome: Outcome,
    pub(crate) hits: Vec<LimitHit>,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) elapsed: Duration,
    pub(crate) written: Written,
    /// Called once what was written is taken and its folder let go of.
    pub(crate) release: Box<dyn FnOnce() + Send>,
}

/// The folder a command wrote to.
pub(crate) enum Written {
    /// It holds what is new or changed, and marks for what was deleted.
    Changes(OwnedFd),
    /// It holds all files of the session: what is not there was deleted.
    Whole(OwnedFd),
}

impl Ended {
    /// Whether there is surely nothing to take: so little to do that no thread is needed
    /// for it.
    pub(crate) fn wrote_nothing(&self) -> bool {
        match &self.written {
            Written::Changes(changes) => collect::is_empty(changes),
            Written::Whole(_) => false,
        }
    }

    /// Takes what was written into the session's folder, beneath `state`. Things there
    /// belong to the session's host id when `root`. `room` makes room on the disk, and
    /// says for how many bytes there is some. Blocks.
    pub(crate) fn take(
        self,
        state: &Path,
        root: bool,
        level: Grade,
        room: &dyn Fn(u64) -> u64,
    ) -> Result<Report, Error> {
        let Self { job, written, .. } = self;
        let folder = state.join(&job.data);
        let owner = root.then_some(job.host_id);
        let mut hits = self.hits;
        let into = |used| collect::Into {
            folder: &folder,
            owner,
            used,
            room,
        };
        let Collected { outputs, skipped } = match &written {
            Written::Changes(changes) => {
                collect::take(changes, into(Some(job.usage)), &job.limits)?
            }
            Written::Whole(whole) => {
                collect::remove_missing(whole, &folder)?;
                collect::take(whole, into(None), &job.limits)?
            }
        };
        let over = skipped
            .iter()
            .any(|one| one.reason == collect::Reason::Quota);
        if over && !hits.contains(&LimitHit::Data) {
            hits.push(LimitHit::Data);
        }
        drop(written);
        (self.release)();
        Ok(Report {
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

fn connections(proxy: Option<&Proxy>) -> Vec<Connection> {
    proxy.map_or_else(Vec::new, Proxy::seen)
}

/// The few variables every command has, and those given for it, which win.
pub(crate) fn environment(
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
    let ways_out = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
    let ways_out = ways_out
        .iter()
        .filter(|_| proxy)
        .map(|name| (*name, address.as_str()));
    let packages = layer.then_some(("PYTHONPATH", packages::INSIDE));
    let is_given = |name: &str| given.iter().any(|(key, _)| key == name);
    let kept = always
        .into_iter()
        .chain(ways_out)
        .chain(packages)
        .filter(|(name, _)| !is_given(name));
    kept.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .chain(given.iter().cloned())
        .collect()
}

/// Whether one of these mounts is a package layer.
pub(crate) fn has_layer(mounts: &[(String, String)]) -> bool {
    mounts.iter().any(|(_, inside)| inside == packages::INSIDE)
}

/// Runs something that blocks away from the threads that must not.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(std::io::Error::other(error)).during("a worker thread"),
    }
}
