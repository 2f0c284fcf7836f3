//! Locking a mutex of this crate.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ignores poisoning: the locks of this crate guard single assignments.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
