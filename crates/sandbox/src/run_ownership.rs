//! Whether this server still has the run that a command belongs to. A command that is given up
//! because its run was lost is left alone: the server that has the run now attaches to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this server still has a run. Clones share it. The default is that it has.
#[derive(Debug, Clone, Default)]
pub struct RunOwnership(Arc<OwnershipState>);

#[derive(Debug, Default)]
struct OwnershipState {
    is_lost: AtomicBool,
    /// Of the run, if this is of one of its commands.
    run: Option<RunOwnership>,
}

impl RunOwnership {
    /// Of one command of the run: it is lost with the run, or alone.
    #[must_use]
    pub fn of_command(&self) -> Self {
        Self(Arc::new(OwnershipState {
            is_lost: AtomicBool::new(false),
            run: Some(self.clone()),
        }))
    }

    /// Another server has it, or is about to.
    pub fn set_lost(&self) {
        self.0.is_lost.store(true, Ordering::Relaxed);
    }

    /// Whether it was lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        let run = self.0.run.as_ref();
        self.0.is_lost.load(Ordering::Relaxed) || run.is_some_and(RunOwnership::is_lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_lost_with_its_run_and_alone() {
        let run = RunOwnership::default();
        let (first, second) = (run.of_command(), run.of_command());
        first.set_lost();
        assert!(first.is_lost() && !second.is_lost() && !run.is_lost());
        run.clone().set_lost();
        assert!(second.is_lost() && run.of_command().is_lost());
    }
}
