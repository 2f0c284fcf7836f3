//! State of one connection in one atomic word, and requests to close it.
//!
//! The thread that serves a connection updates the word with every request; the table of all
//! connections only reads it. So a request costs a few atomic additions and no lock.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::Context;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use prowess_store::TenantId;
use tokio::time::Instant;

use crate::error::HttpError;
use crate::tenant_requests::{TenantRequest, TenantRequests};

/// Bits of each request counter; a connection has far fewer requests.
const COUNT_BITS: u32 = 14;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
/// Active requests.
const ONE_REQUEST: u64 = 1;
const REQUESTS_MASK: u64 = COUNT_MASK;
/// Those with an authenticated sender: only they protect the connection from eviction.
const ONE_PROTECTED: u64 = 1 << COUNT_BITS;
const PROTECTED_MASK: u64 = COUNT_MASK << COUNT_BITS;
/// Responses with a chunk that the client has not read yet.
const ONE_UNREAD: u64 = 1 << (2 * COUNT_BITS);
const UNREAD_MASK: u64 = COUNT_MASK << (2 * COUNT_BITS);
/// No request may begin any more.
const CLOSED_BIT: u64 = 1 << (3 * COUNT_BITS);
/// Counts chunks that were read; may wrap around. Requests that begin, end or are abandoned do
/// not count: a client that reads no response makes no progress by sending more requests.
const ONE_READ: u64 = CLOSED_BIT << 1;

/// How a connection is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum CloseMode {
    /// After its active requests.
    Gracefully = 1,
    /// Immediately.
    Now = 2,
}

/// State of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    activity: AtomicU64,
    accepted: Instant,
    /// When the last answered request ended, in nanoseconds since `accepted`; 0 for never.
    last_end: AtomicU64,
    /// The strictest [`CloseMode`] requested so far; 0 for none.
    close: AtomicU8,
    waker: AtomicWaker,
    /// The address of the client, if it is known.
    address: Option<IpAddr>,
}

/// A snapshot of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Activity(u64);

impl Activity {
    /// Whether no request is active.
    pub(super) fn is_idle(self) -> bool {
        self.0 & REQUESTS_MASK == 0
    }

    /// Whether the connection may be evicted: it has no request with an authenticated sender.
    pub(super) fn is_evictable(self) -> bool {
        self.0 & (PROTECTED_MASK | CLOSED_BIT) == 0
    }

    /// Whether no chunk was read since.
    pub(super) fn made_no_progress_since(self, before: Activity) -> bool {
        self.0 / ONE_READ == before.0 / ONE_READ
    }

    /// Whether requests are active and all of them wait for the client to read.
    pub(super) fn is_unread(self) -> bool {
        !self.is_idle()
            && self.0 & REQUESTS_MASK == (self.0 & UNREAD_MASK) >> UNREAD_MASK.trailing_zeros()
    }
}

impl Default for ConnectionState {
    fn default() -> ConnectionState {
        ConnectionState {
            activity: AtomicU64::new(0),
            accepted: Instant::now(),
            last_end: AtomicU64::new(0),
            close: AtomicU8::new(0),
            waker: AtomicWaker::new(),
            address: None,
        }
    }
}

impl ConnectionState {
    /// The state of a connection from this address.
    pub(super) fn from_address(address: IpAddr) -> ConnectionState {
        ConnectionState {
            address: Some(address),
            ..ConnectionState::default()
        }
    }

    /// Begins a request unless the connection is closing.
    pub(crate) fn begin_request(self: &Arc<Self>) -> Option<ActiveRequest> {
        let before = self.activity.fetch_add(ONE_REQUEST, Ordering::Relaxed);
        let active = ActiveRequest {
            state: Arc::clone(self),
            counted: ONE_REQUEST,
            answered: false,
            tenant_request: None,
        };
        (before & CLOSED_BIT == 0).then_some(active)
    }

    pub(super) fn activity(&self) -> Activity {
        Activity(self.activity.load(Ordering::Relaxed))
    }

    /// Whether no request is active.
    pub(super) fn is_idle(&self) -> bool {
        self.activity().is_idle()
    }

    /// When the last answered request ended.
    pub(super) fn last_end(&self) -> Option<Instant> {
        match self.last_end.load(Ordering::Relaxed) {
            0 => None,
            nanoseconds => Some(self.accepted + Duration::from_nanos(nanoseconds)),
        }
    }

    /// Whether no request was ever answered and none is active.
    pub(super) fn is_unused(&self) -> bool {
        self.activity().is_idle() && self.last_end().is_none()
    }

    /// Closes the connection immediately if no request is active. None can begin afterwards.
    pub(super) fn close_if_idle(&self) -> bool {
        self.close_if(|activity| activity.is_idle() && activity.is_evictable())
    }

    /// The same if no request with an authenticated sender is active.
    pub(super) fn close_if_evictable(&self) -> bool {
        self.close_if(Activity::is_evictable)
    }

    fn close_if(&self, condition: impl Fn(Activity) -> bool) -> bool {
        let closed = self
            .activity
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
                condition(Activity(word)).then_some(word | CLOSED_BIT)
            });
        if closed.is_ok() {
            self.close(CloseMode::Now);
        }
        closed.is_ok()
    }

    /// Requests that the connection be closed.
    pub(super) fn close(&self, mode: CloseMode) {
        self.close.fetch_max(mode as u8, Ordering::AcqRel);
        self.waker.wake();
    }

    /// How the connection is to be closed, if it is. Wakes the task when that changes.
    pub(crate) fn poll_close(&self, context: &Context<'_>) -> Option<CloseMode> {
        self.waker.register(context.waker());
        match self.close.load(Ordering::Acquire) {
            0 => None,
            1 => Some(CloseMode::Gracefully),
            _ => Some(CloseMode::Now),
        }
    }
}

/// An active request, until its response was passed on or is dropped.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    state: Arc<ConnectionState>,
    /// What it adds to the counters of its connection.
    counted: u64,
    /// Whether there was a response, read or not.
    answered: bool,
    /// Held until the response is dropped.
    tenant_request: Option<TenantRequest>,
}

impl ActiveRequest {
    /// The address of the client.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.state.address
    }

    /// The sender is authenticated.
    pub(crate) fn protect(&mut self) {
        self.count_once(ONE_PROTECTED, PROTECTED_MASK);
    }

    /// The sender is idle: the connection may be evicted.
    pub(crate) fn unprotect(&mut self) {
        if self.counted & PROTECTED_MASK != 0 {
            self.counted -= ONE_PROTECTED;
            self.add(ONE_PROTECTED.wrapping_neg());
        }
    }

    /// Counts it toward a tenant's limit until dropped.
    pub(super) fn count_for_tenant(
        &mut self,
        requests: &TenantRequests,
        tenant: &TenantId,
    ) -> Result<(), HttpError> {
        if self.tenant_request.is_none() {
            self.tenant_request = Some(requests.begin(tenant)?);
        }
        Ok(())
    }

    /// Takes what counts it toward its tenant's limit, for its response.
    pub(super) fn take_count(&mut self) -> Option<TenantRequest> {
        self.tenant_request.take()
    }

    /// A response exists.
    pub(super) fn mark_answered(&mut self) {
        self.answered = true;
    }

    /// A chunk of the response, not the last, was passed on.
    pub(super) fn on_chunk_sent(&mut self) {
        self.count_once(ONE_UNREAD, UNREAD_MASK);
    }

    /// The next chunk is polled, so the previous one was read.
    pub(super) fn on_chunk_read(&mut self) {
        if self.counted & UNREAD_MASK != 0 {
            self.counted -= ONE_UNREAD;
            self.add(ONE_READ - ONE_UNREAD);
        }
    }

    /// The whole response was passed on.
    pub(super) fn release(&mut self) {
        let counted = std::mem::take(&mut self.counted);
        if counted == 0 {
            return;
        }
        if self.answered {
            let nanoseconds = self.state.accepted.elapsed().as_nanos();
            let nanoseconds = u64::try_from(nanoseconds).unwrap_or(u64::MAX).max(1);
            self.state.last_end.store(nanoseconds, Ordering::Relaxed);
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
        self.state.activity.fetch_add(change, Ordering::Relaxed);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_unused_then_busy_then_idle() {
        let state = Arc::new(ConnectionState::default());
        assert!(state.is_unused() && state.activity().is_idle());
        let mut first = state.begin_request().unwrap();
        let second = state.begin_request().unwrap();
        assert!(!state.activity().is_idle());
        first.mark_answered();
        drop(first);
        assert!(!state.activity().is_idle());
        assert!(!state.close_if_idle(), "a request is under way");
        drop(second);
        assert!(state.activity().is_idle() && !state.is_unused());
    }

    #[test]
    fn a_request_that_was_given_up_before_its_answer_is_no_use() {
        let state = Arc::new(ConnectionState::default());
        drop(state.begin_request().unwrap());
        assert!(state.is_unused());
    }

    #[test]
    fn only_a_request_whose_sender_is_known_protects_its_connection() {
        let state = Arc::new(ConnectionState::default());
        let mut known = state.begin_request().unwrap();
        let _unknown = state.begin_request().unwrap();
        assert!(state.activity().is_evictable());
        known.protect();
        known.protect();
        assert!(!state.close_if_evictable());
        known.unprotect();
        known.unprotect();
        assert!(state.activity().is_evictable() && !state.activity().is_idle());
        known.protect();
        assert!(!state.close_if_evictable());
        known.release();
        known.protect();
        assert!(state.close_if_evictable(), "its answer was given away");
        assert!(!state.close_if_evictable(), "it is closed already");
    }

    #[test]
    fn answers_that_wait_for_the_client_differ_from_those_that_wait_for_us() {
        let state = Arc::new(ConnectionState::default());
        let mut first = state.begin_request().unwrap();
        let mut second = state.begin_request().unwrap();
        first.on_chunk_sent();
        first.on_chunk_sent();
        assert!(!state.activity().is_unread());
        second.on_chunk_sent();
        assert!(state.activity().is_unread());
        first.on_chunk_read();
        assert!(!state.activity().is_unread());
        drop(first);
        assert!(state.activity().is_unread());
        drop(second);
        assert!(!state.activity().is_unread() && state.activity().is_idle());
    }

    #[test]
    fn no_request_begins_once_an_idle_connection_is_closed() {
        let state = Arc::new(ConnectionState::default());
        assert!(state.close_if_idle());
        assert!(!state.close_if_idle(), "it is closed already");
        assert!(state.begin_request().is_none());
        assert!(state.activity().is_idle());
    }

    #[test]
    fn a_closing_connection_never_becomes_more_patient() {
        let state = ConnectionState::default();
        state.close(CloseMode::Now);
        state.close(CloseMode::Gracefully);
        let waker = std::task::Waker::noop();
        assert_eq!(
            state.poll_close(&Context::from_waker(waker)),
            Some(CloseMode::Now)
        );
    }
}
