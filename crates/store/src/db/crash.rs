//! For tests: a process that dies between two statements, seen from inside. The transaction
//! is rolled back, unless the crash comes after its commit.

use std::cell::Cell;
use std::io;

use crate::error::Result;

thread_local! {
    static POINTS_LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Crashes at the point after this many on this thread; `None` never.
pub(crate) fn after(points: Option<u32>) {
    POINTS_LEFT.set(points);
}

/// A place where a crash may happen.
pub(crate) fn point() -> Result<()> {
    match POINTS_LEFT.get() {
        None => Ok(()),
        Some(0) => {
            POINTS_LEFT.set(None);
            Err(sqlx::Error::Io(io::Error::other("crashed here by a test")).into())
        }
        Some(left) => {
            POINTS_LEFT.set(Some(left - 1));
            Ok(())
        }
    }
}
