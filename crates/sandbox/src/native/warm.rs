//! Provisioned sandboxes: complete except for the files and the command, with a started
//! Python interpreter. Each is used once, by one container. A container's next one is
//! provisioned after each of its commands.
//!
//! One that no container has claimed contains nothing of any tenant: it has a host id that
//! no container had before, and empty folders.

use super::slot::{InitHandle, Slot};
use crate::policy::SandboxLimits;
use prowess_launcher::spec::{SandboxSpec, WarmInterpreter};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The program of the waiting interpreter.
const WAITING_PROGRAM: &str = include_str!("waiting.py");

/// A sandbox that waits for its command.
#[derive(Debug)]
pub(super) struct WarmSandbox {
    pub(super) spec: SandboxSpec,
    pub(super) limits: SandboxLimits,
    pub(super) slot: Slot,
    pub(super) init: InitHandle,
    /// Whether a container uses its host id.
    pub(super) is_claimed: bool,
}

/// The waiting sandboxes, the oldest first.
#[derive(Debug)]
pub(super) struct WarmPool {
    max: usize,
    ready: Mutex<VecDeque<WarmSandbox>>,
    /// Held while a spare one is provisioned, so that concurrent callers create only one.
    pub(super) making_spare: Mutex<()>,
}

impl WarmPool {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            ready: Mutex::default(),
            making_spare: Mutex::default(),
        }
    }

    pub(super) fn is_disabled(&self) -> bool {
        self.max == 0
    }

    /// A sandbox of exactly this spec, with or without a warm interpreter.
    pub(super) fn take(&self, spec: &SandboxSpec, limits: &SandboxLimits) -> Option<WarmSandbox> {
        let mut ready = self.lock();
        let fits = |one: &WarmSandbox| one.limits == *limits && one.spec.is_same_sandbox(spec);
        let place = ready.iter().position(fits)?;
        ready.remove(place)
    }

    /// Adds one, and returns the oldest if the pool is over its limit.
    pub(super) fn put(&self, one: WarmSandbox) -> Option<WarmSandbox> {
        let mut ready = self.lock();
        ready.push_back(one);
        if ready.len() > self.max {
            ready.pop_front()
        } else {
            None
        }
    }

    /// Whether an unclaimed one with these limits is waiting.
    pub(super) fn has_spare(&self, limits: &SandboxLimits) -> bool {
        self.lock()
            .iter()
            .any(|one| !one.is_claimed && one.limits == *limits)
    }

    /// Claims a spare one for a new container and returns its host id.
    pub(super) fn claim(&self, limits: &SandboxLimits) -> Option<u32> {
        let mut ready = self.lock();
        let one = ready
            .iter_mut()
            .find(|one| !one.is_claimed && one.limits == *limits)?;
        one.is_claimed = true;
        Some(one.spec.outer_id)
    }

    /// Removes those of a removed container.
    pub(super) fn forget(&self, host_id: u32) -> VecDeque<WarmSandbox> {
        let mut ready = self.lock();
        let (gone, kept) = ready
            .drain(..)
            .partition(|one| one.spec.outer_id == host_id);
        *ready = kept;
        gone
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<WarmSandbox>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The interpreter to start in advance.
pub(super) fn python_interpreter(env: Vec<(String, String)>) -> WarmInterpreter {
    WarmInterpreter {
        argv: ["python3", "-c", WAITING_PROGRAM].map(String::from).into(),
        env,
    }
}

/// Whether a running interpreter can still apply these variables: not those it has
/// already read.
pub(super) fn accepts_environment(env: &[(String, String)]) -> bool {
    let read_at_start = |name: &str| name.starts_with("PYTHON") && name != "PYTHONPATH";
    !env.iter()
        .any(|(name, _)| read_at_start(name) || name == "LANG" || name.starts_with("LC_"))
}
