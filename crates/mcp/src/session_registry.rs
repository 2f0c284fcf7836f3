//! HTTP sessions by owner, and how many each owner may have.
//!
//! A session that started with `initialize` has an id and belongs to its owner. A client of
//! 2026-07-28 or later has no session id: all requests of one owner share one stateless
//! session, so that files of one request exist in the next.

use crate::principal::{McpPrincipal, SessionOwner};
use crate::session::McpSession;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All sessions.
pub(crate) struct SessionRegistry {
    /// Concurrent sessions of one owner.
    max_sessions: usize,
    /// Time without a request after which a stateless session ends.
    idle_timeout: Duration,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Remaining sessions of each owner.
    permits: HashMap<String, Arc<Semaphore>>,
    /// Sessions with an id.
    owners: HashMap<String, SessionOwner>,
    /// Sessions without an id.
    stateless: HashMap<SessionOwner, StatelessSession>,
    /// All sessions, to be closed on shutdown.
    sessions: Vec<Weak<McpSession>>,
}

struct StatelessSession {
    session: Arc<McpSession>,
    last_used: Instant,
}

/// An owner has reached its session limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManySessions {
    pub(crate) max: usize,
}

impl SessionRegistry {
    pub(crate) fn new(max_sessions: usize, idle_timeout: Duration) -> Self {
        SessionRegistry {
            max_sessions,
            idle_timeout,
            inner: Mutex::default(),
        }
    }

    /// A new session. It counts until it is dropped.
    pub(crate) fn create(
        &self,
        principal: &McpPrincipal,
    ) -> Result<Arc<McpSession>, TooManySessions> {
        let mut inner = self.lock();
        self.create_session(&mut inner, principal)
    }

    /// The owner's stateless session, created if needed.
    pub(crate) fn stateless(
        &self,
        principal: &McpPrincipal,
    ) -> Result<Arc<McpSession>, TooManySessions> {
        let mut inner = self.lock();
        self.remove_idle(&mut inner);
        let now = Instant::now();
        if let Some(entry) = inner.stateless.get_mut(&principal.session_owner()) {
            entry.last_used = now;
            return Ok(Arc::clone(&entry.session));
        }
        let session = self.create_session(&mut inner, principal)?;
        let entry = StatelessSession {
            session: Arc::clone(&session),
            last_used: now,
        };
        inner.stateless.insert(principal.session_owner(), entry);
        Ok(session)
    }

    /// Sets the owner of a session.
    pub(crate) fn set_owner(&self, id: &str, owner: SessionOwner) {
        self.lock().owners.insert(id.to_owned(), owner);
    }

    /// Whether a session exists and belongs to this owner.
    pub(crate) fn is_owned_by(&self, id: &str, owner: &SessionOwner) -> bool {
        self.lock().owners.get(id) == Some(owner)
    }

    /// Removes ended sessions and idle stateless ones.
    pub(crate) fn remove_ended(&self, is_open: impl Fn(&str) -> bool) {
        let mut inner = self.lock();
        inner.owners.retain(|id, _| is_open(id));
        self.remove_idle(&mut inner);
        let max = self.max_sessions;
        inner
            .permits
            .retain(|_, permits| permits.available_permits() < max);
    }

    /// Removes and returns all sessions.
    pub(crate) fn take_all(&self) -> Vec<Arc<McpSession>> {
        let mut inner = std::mem::take(&mut *self.lock());
        let sessions = inner.sessions.drain(..);
        sessions.filter_map(|session| session.upgrade()).collect()
    }

    fn create_session(
        &self,
        inner: &mut Inner,
        principal: &McpPrincipal,
    ) -> Result<Arc<McpSession>, TooManySessions> {
        let permit = self.acquire_permit(inner, &principal.owner)?;
        let session = Arc::new(McpSession::new(Arc::clone(&principal.provider)).with_guard(permit));
        inner.sessions.retain(|session| session.strong_count() > 0);
        inner.sessions.push(Arc::downgrade(&session));
        Ok(session)
    }

    fn acquire_permit(
        &self,
        inner: &mut Inner,
        owner: &str,
    ) -> Result<OwnedSemaphorePermit, TooManySessions> {
        let permits = inner.permits.entry(owner.to_owned());
        let permits = permits.or_insert_with(|| Arc::new(Semaphore::new(self.max_sessions)));
        let permit = Arc::clone(permits).try_acquire_owned();
        permit.map_err(|_| TooManySessions {
            max: self.max_sessions,
        })
    }

    /// A session in use is never idle.
    fn remove_idle(&self, inner: &mut Inner) {
        let idle_timeout = self.idle_timeout;
        inner.stateless.retain(|_, entry| {
            Arc::strong_count(&entry.session) > 1 || entry.last_used.elapsed() < idle_timeout
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
