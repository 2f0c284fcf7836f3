//! Who has which session over HTTP, and how many they may have.
//!
//! A session that began with `initialize` has an id, and belongs to whoever began it. A
//! client of 2026-07-28 or later has no session: all requests of one holder share one desk,
//! so that what a tool made is there for the next request.

use crate::http::McpPrincipal;
use crate::session::McpSession;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Who holds a session: an owner and one of its keys.
pub(crate) type SessionOwner = (String, String);

/// All sessions.
pub(crate) struct SessionRegistry {
    /// Sessions of one owner at once.
    max_sessions: usize,
    /// After how long without a request a desk is cleared.
    idle_timeout: Duration,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// How many more an owner may have.
    permits: HashMap<String, Arc<Semaphore>>,
    /// Sessions with an id.
    owners: HashMap<String, SessionOwner>,
    /// Desks of those without.
    stateless: HashMap<SessionOwner, StatelessSession>,
    /// Everybody's, to be cleared at the end.
    sessions: Vec<Weak<McpSession>>,
}

struct StatelessSession {
    session: Arc<McpSession>,
    last_used: Instant,
}

/// An owner has as many sessions as it may.
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

    /// A desk for a session that begins. It counts until it is dropped.
    pub(crate) fn create(
        &self,
        principal: &McpPrincipal,
    ) -> Result<Arc<McpSession>, TooManySessions> {
        let mut inner = self.lock();
        self.create_session(&mut inner, principal)
    }

    /// The desk of one who has no session.
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

    /// Notes whose session this is.
    pub(crate) fn set_owner(&self, id: &str, owner: SessionOwner) {
        self.lock().owners.insert(id.to_owned(), owner);
    }

    /// Whether a session is there and is this holder's.
    pub(crate) fn is_owned_by(&self, id: &str, owner: &SessionOwner) -> bool {
        self.lock().owners.get(id) == Some(owner)
    }

    /// Forgets sessions that have ended and desks that nobody used for long.
    pub(crate) fn remove_ended(&self, is_open: impl Fn(&str) -> bool) {
        let mut inner = self.lock();
        inner.owners.retain(|id, _| is_open(id));
        self.remove_idle(&mut inner);
        let max = self.max_sessions;
        inner
            .permits
            .retain(|_, permits| permits.available_permits() < max);
    }

    /// Every desk there is, and from now on none but these.
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

    /// A desk that is in use is never idle.
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
