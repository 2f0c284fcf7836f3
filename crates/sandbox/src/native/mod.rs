//! The default backend: our own launcher on this host's kernel.

pub(crate) mod base;
pub(crate) mod cgroup;
mod run;
mod slot;
mod warm;

use crate::backend::{Backend, Ended, Job, Next, Written, blocking, environment, has_layer};
use crate::egress::{BoxFuture, Trust};
use crate::error::Error;
use crate::execution::{Command, Execution, LimitHit, Outcome};
use crate::packages::store;
use crate::policy::Limits;
use cgroup::{Counters, CpuClass, Hierarchy};
use prowess_launcher::spec::{Base, Data, Go, INNER_ID, Prepare, Rlimits, Warm};
use run::{Ending, Finished};
use slot::{Init, Slot};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use warm::{Pool, Ready};

/// Files and folders `/tmp` can hold.
const TMP_INODES: u64 = 20_000;

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

    async fn run(&self, job: Job) -> Result<Ended, Error> {
        let in_use = store::in_use(&self.shared.base.state, &job.mounts)?;
        let go = self.go(&job)?;
        let prepare = self.prepare(job.host_id, &job.limits);
        let (mut slot, init) = self.take(prepare, &job.limits).await?;
        slot.set_class(CpuClass::of_command(job.running))?;
        let ran = run::run(&slot, init, &go, &job).await?;
        let hits = hits(slot.count(), &ran);
        let (this, mounts) = (self.clone(), ran.mounts);
        Ok(Ended {
            outcome: outcome(ran.ending, &hits),
            hits,
            stdout: ran.stdout.finish(),
            stderr: ran.stderr.finish(),
            elapsed: ran.elapsed,
            written: Written::Changes(ran.written),
            // Only then, for what was written counts as the slot's memory until it is
            // let go of.
            release: Box::new(move || {
                drop(in_use);
                this.idle().push(slot);
                tokio::task::spawn_blocking(move || drop(mounts));
            }),
            job,
        })
    }

    /// A sandbox: one that waits for just this, or one that is being made.
    async fn take(&self, prepare: Prepare, limits: &Limits) -> Result<(Slot, Init), Error> {
        if let Some(mut ready) = self.shared.pool.take(&prepare, limits)
            && ready.slot.is_alive()
        {
            return Ok((ready.slot, ready.init));
        }
        let mut slot = match self.idle_slot() {
            Some(slot) => slot,
            None => {
                let this = self.clone();
                blocking(move || this.start_slot()).await?
            }
        };
        let init = slot.ask(&prepare, limits)?;
        Ok((slot, init))
    }

    /// Makes one ahead for a session yet to come, unless there is one.
    fn make_spare(&self, host_id: u32, limits: &Limits) -> Result<(), Error> {
        let pool = &self.shared.pool;
        let Ok(_making) = pool.making_spare.try_lock() else {
            return Ok(());
        };
        if pool.has_spare(limits) {
            return Ok(());
        }
        let waiting = Some(self.interpreter());
        self.add_ready(host_id, limits, waiting, false)
    }

    fn add_ready(
        &self,
        host_id: u32,
        limits: &Limits,
        warm: Option<Warm>,
        taken: bool,
    ) -> Result<(), Error> {
        if self.shared.pool.is_off() {
            return Ok(());
        }
        let prepare = Prepare {
            warm,
            ..self.prepare(host_id, limits)
        };
        let limits = limits.clone();
        let mut slot = self.take_slot()?;
        slot.set_class(CpuClass::Background)?;
        let mut init = slot.ask(&prepare, &limits)?;
        init.pidfd = Some(slot.answer()?);
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

    fn go(&self, job: &Job) -> Result<Go, Error> {
        let bytes = job
            .limits
            .data_bytes
            .saturating_sub(job.usage.bytes)
            .max(1 << 20);
        // Without files there already, a plain tmpfs does: one mount instead of three.
        let lower = (job.usage.entries > 0).then(|| job.data.clone());
        let given = &job.execution.env;
        let mut env = environment(given, job.proxy.is_some(), has_layer(&job.mounts));
        let trust = job.proxy.as_ref().and_then(|proxy| proxy.trust());
        if trust.is_some() {
            Trust::add_variables(&mut env);
        }
        Ok(Go {
            argv: job.execution.command.argv()?,
            env,
            cwd: prowess_launcher::spec::DATA_DIR.into(),
            data: Data {
                lower,
                bytes,
                inodes: job.limits.data_files + 4,
            },
            mounts: job.mounts.clone(),
            files: trust.map(Trust::into_file).into_iter().collect(),
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
            warm: None,
        }
    }

    fn interpreter(&self) -> Warm {
        warm::python(environment(&[], false, false))
    }

    fn take_slot(&self) -> Result<Slot, Error> {
        self.idle_slot().map_or_else(|| self.start_slot(), Ok)
    }

    fn idle_slot(&self) -> Option<Slot> {
        loop {
            let mut slot = self.idle().pop()?;
            if slot.is_alive() {
                return Some(slot);
            }
        }
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

impl Backend for Native {
    fn run(&self, job: Job) -> BoxFuture<'_, Result<Ended, Error>> {
        Box::pin(self.run(job))
    }

    /// A session's next sandbox waits for as long as it is among the few most recently
    /// used ones.
    fn make_ready(&self, next: Next) -> BoxFuture<'_, Result<(), Error>> {
        let this = self.clone();
        Box::pin(blocking(move || match next.session {
            // A session that runs programs has no use for an interpreter that waits.
            Some(_) => {
                let waiting = next.python.then(|| this.interpreter());
                this.add_ready(next.host_id, &next.limits, waiting, true)
            }
            None => this.make_spare(next.host_id, &next.limits),
        }))
    }

    fn ready(&self) -> usize {
        self.shared.pool.len()
    }

    fn adopt(&self, limits: &Limits) -> Option<u32> {
        self.shared.pool.adopt(limits)
    }

    fn forget<'a>(&'a self, _: &'a str, host_id: u32) -> BoxFuture<'a, ()> {
        // Without root all sessions share one id, and what waits suits any of them.
        if self.shared.root {
            let gone = self.shared.pool.forget(host_id);
            self.idle().extend(gone.into_iter().map(|ready| ready.slot));
        }
        Box::pin(async {})
    }

    /// What waits for a session that has expired gives way to newer ones by itself.
    fn keep_only<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

fn hits(counted: Counters, ran: &Finished) -> Vec<LimitHit> {
    let full =
        rustix::fs::fstatvfs(&ran.written).is_ok_and(|fs| fs.f_bavail == 0 || fs.f_favail == 0);
    [
        (counted.memory_kills > 0, LimitHit::Memory),
        (counted.refused_processes > 0, LimitHit::Processes),
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
