//! The scheduling class of a thread of this process.
//!
//! It is in this crate because no dependency has a safe wrapper for the call. Callers
//! decide which thread gets which class.

use crate::sys;
use std::io;

/// A scheduling class of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulingClass {
    /// Shares the processors with all other threads.
    Normal,
    /// Runs before every normal thread, taking turns with others of this class. Threads
    /// and processes that it starts are normal.
    Realtime,
}

/// Gives the thread with this id (of any process that may be changed) a class.
///
/// # Errors
/// When the thread is gone, or the system does not allow it.
pub fn set_class(thread: i32, class: SchedulingClass) -> io::Result<()> {
    let (policy, priority) = match class {
        SchedulingClass::Normal => (libc::SCHED_OTHER, 0),
        SchedulingClass::Realtime => (libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, 1),
    };
    sys::set_scheduler(thread, policy, priority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_gets_the_call_with_every_c_library() {
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        set_class(own, SchedulingClass::Normal).unwrap();
        // Above the highest id that a thread can have.
        let gone = set_class(i32::MAX, SchedulingClass::Normal).unwrap_err();
        let no_such_thread = rustix::io::Errno::SRCH.raw_os_error();
        assert_eq!(gone.raw_os_error(), Some(no_such_thread));
    }
}
