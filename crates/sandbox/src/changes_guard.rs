//! Marks a container whose changes are committed by the caller.

use std::any::Any;
use std::fmt;

/// While this lives, commands of a container leave their changes uncommitted; see
/// [`Sandboxes::defer_changes`](crate::Sandboxes::defer_changes).
#[must_use = "changes are deferred only while the guard lives"]
#[derive(Default)]
pub struct ChangesGuard {
    /// What an implementation does when the guard is dropped, it does in this value's `Drop`.
    _held: Option<Box<dyn Any + Send + Sync>>,
}

impl ChangesGuard {
    /// A guard that drops this value when it is dropped.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self {
            _held: Some(Box::new(held)),
        }
    }

    /// A guard without effect.
    pub fn none() -> Self {
        Self::default()
    }
}

impl fmt::Debug for ChangesGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangesGuard").finish_non_exhaustive()
    }
}
