//! What one connection does, in one atomic word, and how it is asked to close.
//!
//! The thread that serves a connection changes the word with every request; the table of
//! all connections only reads it. So a request costs a few atomic additions and no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::Context;

use futures_util::task::AtomicWaker;

/// Requests under way: the lowest 16 bits.
const REQUEST: u64 = 1;
const REQUESTS: u64 = 0xffff;
/// Answers of which a piece waits for the client to read: 15 bits.
const UNREAD: u64 = 1 << 16;
const UNREADS: u64 = 0x7fff << 16;
/// No request may begin any more.
const CLOSED: u64 = 1 << 31;
/// Counts answers that were given to their end and pieces that were read; it may wrap
/// around. Requests that begin or are given up are not counted: whoever reads no answer
/// makes no progress by asking for more.
const EVENT: u64 = 1 << 32;

/// How a connection is to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Close {
    /// After the requests that are under way.
    Gracefully = 1,
    /// At once.
    Now = 2,
}

/// What one connection does.
#[derive(Debug, Default)]
pub(crate) struct Link {
    activity: AtomicU64,
    /// The strictest [`Close`] so far; 0 for none.
    close: AtomicU8,
    waker: AtomicWaker,
}

/// A look at what a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Activity(u64);

impl Activity {
    /// Whether no request is under way.
    pub(super) fn is_idle(self) -> bool {
        self.0 & REQUESTS == 0
    }

    /// Whether no request was ever answered, and none is under way.
    pub(super) fn is_unused(self) -> bool {
        self.0 & !CLOSED == 0
    }

    /// Whether nothing was read and no request ended since.
    pub(super) fn made_no_progress_since(self, before: Activity) -> bool {
        self.0 / EVENT == before.0 / EVENT
    }

    /// Whether requests are under way, and all of them wait for the client to read.
    pub(super) fn is_unread(self) -> bool {
        !self.is_idle() && self.0 & REQUESTS == (self.0 & UNREADS) >> UNREADS.trailing_zeros()
    }
}

impl Link {
    /// Begins a request, unless the connection is being closed.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<Underway> {
        let before = self.activity.fetch_add(REQUEST, Ordering::Relaxed);
        let underway = Underway {
            link: Arc::clone(self),
            unread: false,
            finished: false,
        };
        (before & CLOSED == 0).then_some(underway)
    }

    pub(super) fn activity(&self) -> Activity {
        Activity(self.activity.load(Ordering::Relaxed))
    }

    /// Closes the connection at once if no request is under way. None can begin after.
    pub(super) fn close_if_idle(&self) -> bool {
        let closed = self
            .activity
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
                let idle = Activity(word).is_idle() && word & CLOSED == 0;
                idle.then_some(word | CLOSED)
            });
        if closed.is_ok() {
            self.close(Close::Now);
        }
        closed.is_ok()
    }

    /// Asks for the connection to be closed.
    pub(super) fn close(&self, how: Close) {
        self.close.fetch_max(how as u8, Ordering::AcqRel);
        self.waker.wake();
    }

    /// How the connection is to close, if it is. The task is woken when that changes.
    pub(crate) fn poll_close(&self, context: &Context<'_>) -> Option<Close> {
        self.waker.register(context.waker());
        match self.close.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Close::Gracefully),
            _ => Some(Close::Now),
        }
    }
}

/// A request, until its answer has been given away or is dropped.
#[derive(Debug)]
pub(crate) struct Underway {
    link: Arc<Link>,
    /// Whether a piece of its answer waits for the client.
    unread: bool,
    /// Whether all of the answer was given away.
    finished: bool,
}

impl Underway {
    /// A piece of the answer was given away.
    pub(super) fn gave(&mut self) {
        if !self.unread {
            self.unread = true;
            self.add(UNREAD);
        }
    }

    /// The next piece is wanted, so that the one before has been taken.
    pub(super) fn wanted(&mut self) {
        if self.unread {
            self.unread = false;
            self.add(EVENT - UNREAD);
        }
    }

    /// All of the answer was given away.
    pub(super) fn finish(&mut self) {
        self.finished = true;
    }

    fn add(&self, change: u64) {
        self.link.activity.fetch_add(change, Ordering::Relaxed);
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let event = if self.finished { EVENT } else { 0 };
        let unread = if self.unread { UNREAD } else { 0 };
        self.add(event.wrapping_sub(REQUEST + unread));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_unused_then_busy_then_idle() {
        let link = Arc::new(Link::default());
        assert!(link.activity().is_unused() && link.activity().is_idle());
        let mut first = link.begin().unwrap();
        let second = link.begin().unwrap();
        assert!(!link.activity().is_idle());
        first.finish();
        drop(first);
        assert!(!link.activity().is_idle());
        assert!(!link.close_if_idle(), "a request is under way");
        drop(second);
        assert!(link.activity().is_idle() && !link.activity().is_unused());
    }

    #[test]
    fn answers_that_wait_for_the_client_are_told_from_those_that_wait_for_us() {
        let link = Arc::new(Link::default());
        let mut first = link.begin().unwrap();
        let mut second = link.begin().unwrap();
        first.gave();
        first.gave();
        assert!(!link.activity().is_unread());
        second.gave();
        assert!(link.activity().is_unread());
        first.wanted();
        assert!(!link.activity().is_unread());
        drop(first);
        assert!(link.activity().is_unread());
        drop(second);
        assert!(!link.activity().is_unread() && link.activity().is_idle());
    }

    #[test]
    fn no_request_begins_once_an_idle_connection_is_closed() {
        let link = Arc::new(Link::default());
        assert!(link.close_if_idle());
        assert!(!link.close_if_idle(), "it is closed already");
        assert!(link.begin().is_none());
        assert!(link.activity().is_idle());
    }

    #[test]
    fn a_closing_connection_never_becomes_more_patient() {
        let link = Link::default();
        link.close(Close::Now);
        link.close(Close::Gracefully);
        let waker = std::task::Waker::noop();
        assert_eq!(
            link.poll_close(&Context::from_waker(waker)),
            Some(Close::Now)
        );
    }
}
