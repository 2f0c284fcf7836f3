//! Sandboxes made ahead: everything is in place but the files and the command, and a
//! Python interpreter has started and waits. Each is used once, by one session, and a
//! session's own next one is made while its caller thinks.
//!
//! Nothing of a tenant is in one that no session has taken: it has a host id that no
//! session had before, and empty folders.

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
    /// Whether a session has its host id.
    pub(super) is_claimed: bool,
}

/// Those that wait, the oldest first.
#[derive(Debug)]
pub(super) struct WarmPool {
    max: usize,
    ready: Mutex<VecDeque<WarmSandbox>>,
    /// Held by whoever makes a spare one, so that one is made and not one per caller.
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

    /// One that was made for exactly this, whether or not an interpreter waits in it.
    pub(super) fn take(&self, spec: &SandboxSpec, limits: &SandboxLimits) -> Option<WarmSandbox> {
        let mut ready = self.lock();
        let fits = |one: &WarmSandbox| one.limits == *limits && one.spec.is_same_sandbox(spec);
        let place = ready.iter().position(fits)?;
        ready.remove(place)
    }

    /// Adds one, and returns the oldest if there are too many now.
    pub(super) fn put(&self, one: WarmSandbox) -> Option<WarmSandbox> {
        let mut ready = self.lock();
        ready.push_back(one);
        if ready.len() > self.max {
            ready.pop_front()
        } else {
            None
        }
    }

    /// Whether one of these limits waits that no session has taken.
    pub(super) fn has_spare(&self, limits: &SandboxLimits) -> bool {
        self.lock()
            .iter()
            .any(|one| !one.is_claimed && one.limits == *limits)
    }

    /// The host id of a spare one, for a new session to have.
    pub(super) fn claim(&self, limits: &SandboxLimits) -> Option<u32> {
        let mut ready = self.lock();
        let one = ready
            .iter_mut()
            .find(|one| !one.is_claimed && one.limits == *limits)?;
        one.is_claimed = true;
        Some(one.spec.outer_id)
    }

    /// Takes out those of a session that is no more.
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

/// The interpreter to start ahead.
pub(super) fn python_interpreter(env: Vec<(String, String)>) -> WarmInterpreter {
    WarmInterpreter {
        argv: ["python3", "-c", WAITING_PROGRAM].map(String::from).into(),
        env,
    }
}

/// Whether a running interpreter can take these variables: not those it has read
/// already.
pub(super) fn accepts_environment(env: &[(String, String)]) -> bool {
    let read_at_start = |name: &str| name.starts_with("PYTHON") && name != "PYTHONPATH";
    !env.iter()
        .any(|(name, _)| read_at_start(name) || name == "LANG" || name.starts_with("LC_"))
}
