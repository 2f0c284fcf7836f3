//! What one connection does, in one atomic word, and how it is asked to close.
//!
//! The thread that serves a connection changes the word with every request; the table of
//! all connections only reads it. So a request costs a few atomic additions and no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::Context;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use prowess_store::TenantId;
use tokio::time::Instant;

use crate::error::ApiError;
use crate::requests::{TenantRequest, TenantRequests};

/// Bits of each of the counters of requests; a connection has far fewer of them.
const COUNT_BITS: u32 = 14;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// Requests under way.
const REQUEST: u64 = 1;
const REQUESTS: u64 = COUNT;
/// Those of them whose sender is known: only they keep the connection from being closed
/// for others.
const PROTECTED: u64 = 1 << COUNT_BITS;
const ALL_PROTECTED: u64 = COUNT << COUNT_BITS;
/// Answers of which a piece waits for the client to read.
const UNREAD: u64 = 1 << (2 * COUNT_BITS);
const UNREADS: u64 = COUNT << (2 * COUNT_BITS);
/// No request may begin any more.
const CLOSED: u64 = 1 << (3 * COUNT_BITS);
/// Counts pieces that were read; it may wrap around. Requests that begin, end or are given
/// up are not counted: whoever reads no answer makes no progress by asking for more.
const EVENT: u64 = CLOSED << 1;

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
#[derive(Debug)]
pub(crate) struct Link {
    activity: AtomicU64,
    accepted: Instant,
    /// When the last request that was answered ended, in nanoseconds since `accepted`; 0
    /// for never.
    last_end: AtomicU64,
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

    /// Whether the connection may be closed for another: it has no request whose sender is
    /// known.
    pub(super) fn is_evictable(self) -> bool {
        self.0 & (ALL_PROTECTED | CLOSED) == 0
    }

    /// Whether nothing was read since.
    pub(super) fn made_no_progress_since(self, before: Activity) -> bool {
        self.0 / EVENT == before.0 / EVENT
    }

    /// Whether requests are under way, and all of them wait for the client to read.
    pub(super) fn is_unread(self) -> bool {
        !self.is_idle() && self.0 & REQUESTS == (self.0 & UNREADS) >> UNREADS.trailing_zeros()
    }
}

impl Default for Link {
    fn default() -> Link {
        Link {
            activity: AtomicU64::new(0),
            accepted: Instant::now(),
            last_end: AtomicU64::new(0),
            close: AtomicU8::new(0),
            waker: AtomicWaker::new(),
        }
    }
}

impl Link {
    /// Begins a request, unless the connection is being closed.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<Underway> {
        let before = self.activity.fetch_add(REQUEST, Ordering::Relaxed);
        let underway = Underway {
            link: Arc::clone(self),
            counted: REQUEST,
            answered: false,
            of_tenant: None,
        };
        (before & CLOSED == 0).then_some(underway)
    }

    pub(super) fn activity(&self) -> Activity {
        Activity(self.activity.load(Ordering::Relaxed))
    }

    /// Whether no request is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.activity().is_idle()
    }

    /// When the last request that was answered ended.
    pub(super) fn last_end(&self) -> Option<Instant> {
        match self.last_end.load(Ordering::Relaxed) {
            0 => None,
            nanoseconds => Some(self.accepted + Duration::from_nanos(nanoseconds)),
        }
    }

    /// Whether no request was ever answered, and none is under way.
    pub(super) fn is_unused(&self) -> bool {
        self.activity().is_idle() && self.last_end().is_none()
    }

    /// Closes the connection at once if no request is under way. None can begin after.
    pub(super) fn close_if_idle(&self) -> bool {
        self.close_if(|activity| activity.is_idle() && activity.is_evictable())
    }

    /// The same if no request is under way whose sender is known.
    pub(super) fn close_if_evictable(&self) -> bool {
        self.close_if(Activity::is_evictable)
    }

    fn close_if(&self, may: impl Fn(Activity) -> bool) -> bool {
        let closed = self
            .activity
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
                may(Activity(word)).then_some(word | CLOSED)
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
    /// What it adds to the counters of its connection.
    counted: u64,
    /// Whether there was an answer, read or not.
    answered: bool,
    /// Kept until the answer is dropped.
    of_tenant: Option<TenantRequest>,
}

impl Underway {
    /// Its sender is known.
    pub(crate) fn protect(&mut self) {
        self.count_once(PROTECTED, ALL_PROTECTED);
    }

    /// Its sender wants nothing at the moment: the connection may be closed for others.
    pub(crate) fn unprotect(&mut self) {
        if self.counted & ALL_PROTECTED != 0 {
            self.counted -= PROTECTED;
            self.add(PROTECTED.wrapping_neg());
        }
    }

    /// Counts it as one of a tenant's requests until this is dropped.
    pub(super) fn count(
        &mut self,
        requests: &TenantRequests,
        tenant: &TenantId,
    ) -> Result<(), ApiError> {
        if self.of_tenant.is_none() {
            self.of_tenant = Some(requests.begin(tenant)?);
        }
        Ok(())
    }

    /// There is an answer.
    pub(super) fn answered(&mut self) {
        self.answered = true;
    }

    /// A piece of the answer was given away, which is not the last.
    pub(super) fn gave(&mut self) {
        self.count_once(UNREAD, UNREADS);
    }

    /// The next piece is wanted, so that the one before has been taken.
    pub(super) fn wanted(&mut self) {
        if self.counted & UNREADS != 0 {
            self.counted -= UNREAD;
            self.add(EVENT - UNREAD);
        }
    }

    /// All of the answer was given away.
    pub(super) fn release(&mut self) {
        let counted = std::mem::take(&mut self.counted);
        if counted == 0 {
            return;
        }
        if self.answered {
            let nanoseconds = self.link.accepted.elapsed().as_nanos();
            let nanoseconds = u64::try_from(nanoseconds).unwrap_or(u64::MAX).max(1);
            self.link.last_end.store(nanoseconds, Ordering::Relaxed);
        }
        self.add(counted.wrapping_neg());
    }

    fn count_once(&mut self, one: u64, all: u64) {
        if self.counted != 0 && self.counted & all == 0 {
            self.counted += one;
            self.add(one);
        }
    }

    fn add(&self, change: u64) {
        self.link.activity.fetch_add(change, Ordering::Relaxed);
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_unused_then_busy_then_idle() {
        let link = Arc::new(Link::default());
        assert!(link.is_unused() && link.activity().is_idle());
        let mut first = link.begin().unwrap();
        let second = link.begin().unwrap();
        assert!(!link.activity().is_idle());
        first.answered();
        drop(first);
        assert!(!link.activity().is_idle());
        assert!(!link.close_if_idle(), "a request is under way");
        drop(second);
        assert!(link.activity().is_idle() && !link.is_unused());
    }

    #[test]
    fn a_request_that_was_given_up_before_its_answer_is_no_use() {
        let link = Arc::new(Link::default());
        drop(link.begin().unwrap());
        assert!(link.is_unused());
    }

    #[test]
    fn only_a_request_whose_sender_is_known_protects_its_connection() {
        let link = Arc::new(Link::default());
        let mut known = link.begin().unwrap();
        let _unknown = link.begin().unwrap();
        assert!(link.activity().is_evictable());
        known.protect();
        known.protect();
        assert!(!link.close_if_evictable());
        known.unprotect();
        known.unprotect();
        assert!(link.activity().is_evictable() && !link.activity().is_idle());
        known.protect();
        assert!(!link.close_if_evictable());
        known.release();
        known.protect();
        assert!(link.close_if_evictable(), "its answer was given away");
        assert!(!link.close_if_evictable(), "it is closed already");
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
