//! The default backend: our own launcher on this host's kernel.

pub(crate) mod base;
pub(crate) mod cgroup;
mod run;
mod slot;
mod warm;

use crate::collect::{self, Collected, Usage};
use crate::egress::Proxy;
use crate::error::{During, Error};
use crate::execution::{Command, Execution, LimitHit, Outcome, Report};
use crate::packages;
use crate::policy::Limits;
use crate::probe::Grade;
use cgroup::{Counters, Hierarchy};
use prowess_launcher::spec::{Base, Data, Go, INNER_ID, PROXY_PORT, Prepare, Rlimits};
use run::{Ended, Ending};
use slot::{Init, Slot};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use warm::{Pool, Ready};

/// Where programs are looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Files and folders `/tmp` can hold.
const TMP_INODES: u64 = 20_000;

/// One command, with everything it is given.
#[derive(Debug)]
pub(crate) struct Job {
    /// What to run.
    pub(crate) execution: Execution,
    /// Bounds.
    pub(crate) limits: Limits,
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

/// A command that has ended, in the slot it ran in.
#[derive(Debug)]
pub(crate) struct Ran {
    outcome: Outcome,
    hits: Vec<LimitHit>,
    ended: Ended,
    slot: Slot,
    job: Job,
}

/// The backend.
#[derive(Debug, Clone)]
pub(crate) struct Native {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    launcher: PathBuf,
    base: Base,
    hierarchy: Option<Hierarchy>,
    landlock: bool,
    root: bool,
    idle: Mutex<Vec<Slot>>,
    pool: Pool,
}

impl Native {
    pub(crate) fn new(
        launcher: PathBuf,
        base: Base,
        hierarchy: Option<Hierarchy>,
        landlock: bool,
        warm: usize,
    ) -> Self {
        let root = !base.own_user_namespace;
        let (idle, pool) = (Mutex::default(), Pool::new(warm));
        let shared = Shared {
            launcher,
            base,
            hierarchy,
            landlock,
            root,
            idle,
            pool,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Runs one command to its end. What it wrote is still to be collected.
    pub(crate) async fn run(&self, job: Job) -> Result<Ran, Error> {
        let go = self.go(&job)?;
        let prepare = self.prepare(job.host_id, &job.limits);
        let (slot, init) = self.take(prepare, job.limits.clone()).await?;
        let before = slot.group().map(cgroup::Group::counters);
        let ended = run::run(init, &go, &job.execution, &job.limits, job.proxy.as_ref()).await?;
        let after = slot.group().map(cgroup::Group::counters);
        let hits = hits(
            before.unwrap_or_default(),
            after.unwrap_or_default(),
            &ended,
        );
        let outcome = outcome(ended.ending, &hits);
        Ok(Ran {
            outcome,
            hits,
            ended,
            slot,
            job,
        })
    }

    /// Takes what a command wrote into the session's folder. Blocks.
    pub(crate) fn collect(&self, ran: Ran, level: Grade) -> Result<Report, Error> {
        let Ran {
            outcome,
            hits,
            ended,
            slot,
            job,
        } = ran;
        let folder = self.shared.base.state.join(&job.data);
        let owner = self.shared.root.then_some(job.host_id);
        let Collected { outputs, skipped } =
            collect::take(&ended.written, &folder, owner, job.usage.bytes, &job.limits)?;
        // Only now, for what was written counts as the slot's memory until it is let go.
        drop(ended.written);
        self.idle().push(slot);
        let mounts = ended.mounts;
        tokio::task::spawn_blocking(move || drop(mounts));
        let (stdout, stderr) = (ended.stdout.finish(), ended.stderr.finish());
        let elapsed = ended.elapsed;
        Ok(Report {
            outcome,
            hits,
            stdout,
            stderr,
            outputs,
            skipped,
            connections: job.proxy.map_or_else(Vec::new, |proxy| proxy.seen()),
            elapsed,
            level,
        })
    }

    /// A prepared sandbox: one that waits for just this, or a new one.
    async fn take(&self, prepare: Prepare, limits: Limits) -> Result<(Slot, Init), Error> {
        if let Some(mut ready) = self.shared.pool.take(&prepare, &limits)
            && ready.slot.is_alive()
        {
            return Ok((ready.slot, ready.init));
        }
        let this = self.clone();
        blocking(move || {
            let cold = Prepare {
                warm: None,
                ..prepare
            };
            let mut slot = this.take_slot()?;
            let init = slot.prepare(&cold, &limits)?;
            Ok((slot, init))
        })
        .await
    }

    /// Makes the next sandbox of a session ahead, for as long as it is among the few
    /// most recently used ones. Blocks for some milliseconds.
    pub(crate) fn make_ready(&self, host_id: u32, limits: &Limits) -> Result<(), Error> {
        self.add_ready(host_id, limits, true)
    }

    /// Makes one ahead for a session yet to come, unless there is one.
    pub(crate) fn make_spare(&self, host_id: u32, limits: &Limits) -> Result<(), Error> {
        let pool = &self.shared.pool;
        let Ok(_making) = pool.making_spare.try_lock() else {
            return Ok(());
        };
        if pool.has_spare(limits) {
            return Ok(());
        }
        self.add_ready(host_id, limits, false)
    }

    fn add_ready(&self, host_id: u32, limits: &Limits, taken: bool) -> Result<(), Error> {
        if self.shared.pool.is_off() {
            return Ok(());
        }
        let (prepare, limits) = (self.prepare(host_id, limits), limits.clone());
        let mut slot = self.take_slot()?;
        let init = slot.prepare(&prepare, &limits)?;
        let ready = Ready {
            prepare,
            limits,
            slot,
            init,
            taken,
        };
        if let Some(oldest) = self.shared.pool.put(ready) {
            self.idle().push(oldest.slot);
        }
        Ok(())
    }

    /// A host id for a new session, if a sandbox waits for one.
    pub(crate) fn adopt(&self, limits: &Limits) -> Option<u32> {
        self.shared.pool.adopt(limits)
    }

    /// Lets go of what was made ahead for a session that is no more.
    pub(crate) fn forget(&self, host_id: u32) {
        if self.shared.root {
            let gone = self.shared.pool.forget(host_id);
            self.idle().extend(gone.into_iter().map(|ready| ready.slot));
        }
    }

    /// How many sandboxes wait, made ahead.
    pub(crate) fn ready(&self) -> usize {
        self.shared.pool.len()
    }

    fn go(&self, job: &Job) -> Result<Go, Error> {
        let bytes = job
            .limits
            .data_bytes
            .saturating_sub(job.usage.bytes)
            .max(1 << 20);
        // Without files there already, a plain tmpfs does: one mount instead of three.
        let lower = (job.usage.entries > 0).then(|| job.data.clone());
        Ok(Go {
            argv: job.execution.command.argv()?,
            env: environment(
                &job.execution.env,
                job.proxy.is_some(),
                has_layer(&job.mounts),
            ),
            cwd: prowess_launcher::spec::DATA_DIR.into(),
            data: Data {
                lower,
                bytes,
                inodes: job.limits.data_files + 4,
            },
            mounts: job.mounts.clone(),
            proxy: job.proxy.is_some(),
            program: self.program(&job.execution),
        })
    }

    /// What a waiting interpreter would run, if it can.
    fn program(&self, execution: &Execution) -> Option<String> {
        match &execution.command {
            Command::Python(code) if warm::suits(&execution.env) => Some(code.clone()),
            _ => None,
        }
    }

    fn prepare(&self, host_id: u32, limits: &Limits) -> Prepare {
        Prepare {
            outer_id: if self.shared.root { host_id } else { INNER_ID },
            tmp_bytes: limits.tmp_bytes,
            tmp_inodes: TMP_INODES,
            rlimits: Rlimits {
                file_bytes: limits.data_bytes,
                open_files: limits.open_files,
                processes: limits.processes,
                address_space: self.shared.hierarchy.is_none().then_some(limits.memory),
            },
            landlock: self.shared.landlock,
            warm: Some(warm::python(environment(&[], false, false))),
        }
    }

    fn take_slot(&self) -> Result<Slot, Error> {
        while let Some(mut slot) = self.idle().pop() {
            if slot.is_alive() {
                return Ok(slot);
            }
        }
        self.start_slot()
    }

    fn start_slot(&self) -> Result<Slot, Error> {
        let shared = &self.shared;
        Slot::start(&shared.launcher, &shared.base, shared.hierarchy.as_ref())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.shared
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The few variables every command has, and those given for it, which win.
fn environment(given: &[(String, String)], proxy: bool, layer: bool) -> Vec<(String, String)> {
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

fn has_layer(mounts: &[(String, String)]) -> bool {
    mounts.iter().any(|(_, inside)| inside == packages::INSIDE)
}

fn hits(before: Counters, after: Counters, ended: &Ended) -> Vec<LimitHit> {
    let full =
        rustix::fs::fstatvfs(&ended.written).is_ok_and(|fs| fs.f_bavail == 0 || fs.f_favail == 0);
    [
        (after.memory_kills > before.memory_kills, LimitHit::Memory),
        (
            after.refused_processes > before.refused_processes,
            LimitHit::Processes,
        ),
        (full, LimitHit::Data),
    ]
    .into_iter()
    .filter_map(|(hit, limit)| hit.then_some(limit))
    .collect()
}

fn outcome(ending: Ending, hits: &[LimitHit]) -> Outcome {
    const SIGKILL: i32 = 9;
    let out_of_memory = hits.contains(&LimitHit::Memory);
    match ending {
        Ending::Timeout => Outcome::Timeout,
        Ending::Flood => Outcome::OutputFlood,
        Ending::Killed if out_of_memory => Outcome::OutOfMemory,
        Ending::Killed => Outcome::Signal(SIGKILL),
        Ending::Status(status) => {
            let signal = status & 0x7f;
            match signal {
                0 => Outcome::Exit((status >> 8) & 0xff),
                SIGKILL if out_of_memory => Outcome::OutOfMemory,
                _ => Outcome::Signal(signal),
            }
        }
    }
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
