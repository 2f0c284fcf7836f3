//! The default backend: the Prowess launcher on this host's kernel.

mod base;
mod cgroup;
mod container_flags;
mod init_channel;
mod probe;
mod run;
mod slot;
mod warm;

pub(crate) use probe::probe;

use crate::backend::{
    CommandJob, CommandResult, ProvisionRequest, SandboxBackend, WrittenFiles, command_environment,
    has_layer, run_blocking,
};
use crate::egress::{BoxFuture, TrustBundle};
use crate::error::Error;
use crate::execution::{Command, CommandOutcome, Execution, LimitHit};
use crate::packages::layer_store;
use crate::policy::SandboxLimits;
use cgroup::{Counters, CpuClass, Hierarchy};
use prowess_launcher::LAYOUT;
use prowess_launcher::spec::{
    CommandSpec, DataSpec, INNER_ID, Rlimits, RootSpec, SandboxSpec, WarmInterpreter,
};
use run::{Ending, FinishedRun};
use slot::{InitHandle, Slot};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use warm::{WarmPool, WarmSandbox};

/// Files and folders `/tmp` can hold.
const TMP_INODES: u64 = 20_000;

/// The backend.
#[derive(Debug, Clone)]
pub(crate) struct NativeBackend {
    shared: Arc<NativeShared>,
}

#[derive(Debug)]
struct NativeShared {
    launcher: PathBuf,
    base: RootSpec,
    hierarchy: Option<Hierarchy>,
    landlock: bool,
    root: bool,
    idle: Mutex<Vec<Slot>>,
    pool: WarmPool,
}

impl NativeBackend {
    pub(crate) fn new(
        launcher: PathBuf,
        base: RootSpec,
        hierarchy: Option<Hierarchy>,
        landlock: bool,
        warm: usize,
    ) -> Self {
        let root = !base.own_user_namespace;
        let (idle, pool) = (Mutex::default(), WarmPool::new(warm));
        let shared = NativeShared {
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

    async fn run(&self, job: CommandJob) -> Result<CommandResult, Error> {
        let in_use = layer_store::lock_mounted_layer(&self.shared.base.state, &job.mounts)?;
        let command = self.command_spec(&job)?;
        let spec = self.sandbox_spec(job.host_id, &job.limits);
        let (mut slot, init) = self.acquire_sandbox(spec, &job.limits).await?;
        slot.set_class(CpuClass::for_command(job.running))?;
        let ran = run::run(&slot, init, &command, &job).await?;
        let hits = hits(slot.take_counters(), &ran);
        let (this, mounts) = (self.clone(), ran.mounts);
        Ok(CommandResult {
            outcome: outcome(ran.ending, &hits),
            hits,
            stdout: ran.stdout.finish(),
            stderr: ran.stderr.finish(),
            elapsed: ran.elapsed,
            written: WrittenFiles::Changes(ran.written),
            // Only then, because written files count as the slot's memory until they are
            // released.
            release: Box::new(move || {
                drop(in_use);
                this.idle().push(slot);
                tokio::task::spawn_blocking(move || drop(mounts));
            }),
            job,
        })
    }

    /// A matching provisioned sandbox, or a new one.
    async fn acquire_sandbox(
        &self,
        spec: SandboxSpec,
        limits: &SandboxLimits,
    ) -> Result<(Slot, InitHandle), Error> {
        if let Some(mut ready) = self.shared.pool.take(&spec, limits)
            && ready.slot.is_alive()
        {
            return Ok((ready.slot, ready.init));
        }
        let mut slot = match self.idle_slot() {
            Some(slot) => slot,
            None => {
                let this = self.clone();
                run_blocking(move || this.start_slot()).await?
            }
        };
        let init = slot.request_init(&spec, limits)?;
        Ok((slot, init))
    }

    /// Provisions one for a future container, unless there is one.
    fn provision_spare(&self, host_id: u32, limits: &SandboxLimits) -> Result<(), Error> {
        let pool = &self.shared.pool;
        let Ok(_making) = pool.making_spare.try_lock() else {
            return Ok(());
        };
        if pool.has_spare(limits) {
            return Ok(());
        }
        let waiting = Some(self.warm_interpreter());
        self.add_warm(host_id, limits, waiting, false)
    }

    fn add_warm(
        &self,
        host_id: u32,
        limits: &SandboxLimits,
        warm: Option<WarmInterpreter>,
        is_claimed: bool,
    ) -> Result<(), Error> {
        if self.shared.pool.is_disabled() {
            return Ok(());
        }
        let spec = SandboxSpec {
            warm,
            ..self.sandbox_spec(host_id, limits)
        };
        let limits = limits.clone();
        let mut slot = self.take_slot()?;
        slot.set_class(CpuClass::Background)?;
        let mut init = slot.request_init(&spec, &limits)?;
        init.pidfd = Some(slot.receive_pidfd()?);
        let ready = WarmSandbox {
            spec,
            limits,
            slot,
            init,
            is_claimed,
        };
        if let Some(oldest) = self.shared.pool.put(ready) {
            self.idle().push(oldest.slot);
        }
        Ok(())
    }

    fn command_spec(&self, job: &CommandJob) -> Result<CommandSpec, Error> {
        let bytes = job
            .limits
            .data_bytes
            .saturating_sub(job.usage.bytes)
            .max(1 << 20);
        // Without existing files a plain tmpfs is enough: one mount instead of three.
        let lower = (job.usage.entries > 0).then(|| job.data.clone());
        let given = &job.execution.env;
        let mut env = command_environment(given, job.proxy.is_some(), has_layer(&job.mounts));
        let trust = job.proxy.as_ref().and_then(|proxy| proxy.trust());
        if trust.is_some() {
            TrustBundle::add_variables(&mut env);
        }
        Ok(CommandSpec {
            argv: job.execution.command.argv()?,
            env,
            cwd: LAYOUT.data.into(),
            data: DataSpec {
                lower,
                bytes,
                inodes: job.limits.data_files + 4,
            },
            mounts: job.mounts.clone(),
            files: trust.map(TrustBundle::into_file).into_iter().collect(),
            proxy: job.proxy.is_some(),
            program: self.warm_program(&job.execution),
        })
    }

    /// The program for a warm interpreter, if it can run this.
    fn warm_program(&self, execution: &Execution) -> Option<String> {
        match &execution.command {
            Command::Python(code) if warm::accepts_environment(&execution.env) => {
                Some(code.clone())
            }
            _ => None,
        }
    }

    fn sandbox_spec(&self, host_id: u32, limits: &SandboxLimits) -> SandboxSpec {
        SandboxSpec {
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

    fn warm_interpreter(&self) -> WarmInterpreter {
        warm::python_interpreter(command_environment(&[], false, false))
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

impl SandboxBackend for NativeBackend {
    fn run(&self, job: CommandJob) -> BoxFuture<'_, Result<CommandResult, Error>> {
        Box::pin(self.run(job))
    }

    /// A container's next sandbox waits as long as it is among the most recently
    /// provisioned ones.
    fn provision(&self, next: ProvisionRequest) -> BoxFuture<'_, Result<(), Error>> {
        let this = self.clone();
        Box::pin(run_blocking(move || match next.container_id {
            // A container that does not run Python code needs no warm interpreter.
            Some(_) => {
                let waiting = next.python.then(|| this.warm_interpreter());
                this.add_warm(next.host_id, &next.limits, waiting, true)
            }
            None => this.provision_spare(next.host_id, &next.limits),
        }))
    }

    fn warm_count(&self) -> usize {
        self.shared.pool.len()
    }

    fn claim_warm(&self, limits: &SandboxLimits) -> Option<u32> {
        self.shared.pool.claim(limits)
    }

    fn forget<'a>(&'a self, _: &'a str, host_id: u32) -> BoxFuture<'a, ()> {
        // Without root all containers share one id, and a provisioned sandbox fits any.
        if self.shared.root {
            let gone = self.shared.pool.forget(host_id);
            self.idle().extend(gone.into_iter().map(|ready| ready.slot));
        }
        Box::pin(async {})
    }

    /// Sandboxes of expired containers are displaced by newer ones.
    fn keep_only<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

fn hits(counted: Counters, ran: &FinishedRun) -> Vec<LimitHit> {
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

fn outcome(ending: Ending, hits: &[LimitHit]) -> CommandOutcome {
    const SIGKILL: i32 = 9;
    let out_of_memory = hits.contains(&LimitHit::Memory);
    match ending {
        Ending::Timeout => CommandOutcome::Timeout,
        Ending::Flood => CommandOutcome::OutputFlood,
        Ending::Killed if out_of_memory => CommandOutcome::OutOfMemory,
        Ending::Killed => CommandOutcome::Signal(SIGKILL),
        Ending::Status(status) => {
            let signal = status & 0x7f;
            match signal {
                0 => CommandOutcome::Exit((status >> 8) & 0xff),
                SIGKILL if out_of_memory => CommandOutcome::OutOfMemory,
                _ => CommandOutcome::Signal(signal),
            }
        }
    }
}
