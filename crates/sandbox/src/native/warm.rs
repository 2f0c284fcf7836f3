//! Sandboxes made ahead: everything is in place but the files and the command, and a
//! Python interpreter has started and waits. Each is used once, by one session, and a
//! session's own next one is made while its caller thinks.
//!
//! Nothing of a tenant is in one that no session has taken: it has a host id that no
//! session had before, and empty folders.

use super::slot::{Init, Slot};
use crate::policy::Limits;
use prowess_launcher::spec::{Prepare, Warm};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The program of the waiting interpreter.
const WAITING: &str = include_str!("waiting.py");

/// A sandbox that waits for its command.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) prepare: Prepare,
    pub(super) limits: Limits,
    pub(super) slot: Slot,
    pub(super) init: Init,
    /// Whether a session has its host id.
    pub(super) taken: bool,
}

/// Those that wait, the oldest first.
#[derive(Debug)]
pub(super) struct Pool {
    most: usize,
    ready: Mutex<VecDeque<Ready>>,
    /// Held by whoever makes a spare one, so that one is made and not one per caller.
    pub(super) making_spare: Mutex<()>,
}

impl Pool {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            ready: Mutex::default(),
            making_spare: Mutex::default(),
        }
    }

    pub(super) fn is_off(&self) -> bool {
        self.most == 0
    }

    /// One that was made for exactly this, whether or not an interpreter waits in it.
    pub(super) fn take(&self, prepare: &Prepare, limits: &Limits) -> Option<Ready> {
        let mut ready = self.lock();
        let fits = |one: &Ready| one.limits == *limits && one.prepare.is_alike(prepare);
        let place = ready.iter().position(fits)?;
        ready.remove(place)
    }

    /// Adds one, and returns the oldest if there are too many now.
    pub(super) fn put(&self, one: Ready) -> Option<Ready> {
        let mut ready = self.lock();
        ready.push_back(one);
        if ready.len() > self.most {
            ready.pop_front()
        } else {
            None
        }
    }

    /// Whether one of these limits waits that no session has taken.
    pub(super) fn has_spare(&self, limits: &Limits) -> bool {
        self.lock()
            .iter()
            .any(|one| !one.taken && one.limits == *limits)
    }

    /// The host id of a spare one, for a new session to have.
    pub(super) fn adopt(&self, limits: &Limits) -> Option<u32> {
        let mut ready = self.lock();
        let one = ready
            .iter_mut()
            .find(|one| !one.taken && one.limits == *limits)?;
        one.taken = true;
        Some(one.prepare.outer_id)
    }

    /// Takes out those of a session that is no more.
    pub(super) fn forget(&self, host_id: u32) -> VecDeque<Ready> {
        let mut ready = self.lock();
        let (gone, kept) = ready
            .drain(..)
            .partition(|one| one.prepare.outer_id == host_id);
        *ready = kept;
        gone
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Ready>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The interpreter to start ahead.
pub(super) fn python(env: Vec<(String, String)>) -> Warm {
    Warm {
        argv: ["python3", "-c", WAITING].map(String::from).into(),
        env,
    }
}

/// Whether a running interpreter can take these variables: not those it has read
/// already.
pub(super) fn suits(env: &[(String, String)]) -> bool {
    let read_at_start = |name: &str| name.starts_with("PYTHON") && name != "PYTHONPATH";
    !env.iter()
        .any(|(name, _)| read_at_start(name) || name == "LANG" || name.starts_with("LC_"))
}
