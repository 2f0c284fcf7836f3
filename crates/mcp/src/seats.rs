//! Who has which session over HTTP, and how many they may have.
//!
//! A session that began with `initialize` has an id, and belongs to whoever began it. A
//! client of 2026-07-28 or later has no session: all requests of one holder share one desk,
//! so that what a tool made is there for the next request.

use crate::desk::Desk;
use crate::http::Guest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Who holds a session: an owner and one of its keys.
pub(crate) type Holder = (String, String);

/// All sessions.
pub(crate) struct Seats {
    /// Sessions of one owner at once.
    most: usize,
    /// After how long without a request a desk is cleared.
    idle: Duration,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// How many more an owner may have.
    free: HashMap<String, Arc<Semaphore>>,
    /// Sessions with an id.
    holders: HashMap<String, Holder>,
    /// Desks of those without.
    visitors: HashMap<Holder, Visitor>,
    /// Everybody's, to be cleared at the end.
    desks: Vec<Weak<Desk>>,
}

struct Visitor {
    desk: Arc<Desk>,
    last: Instant,
}

/// An owner has as many sessions as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full {
    pub(crate) most: usize,
}

impl Seats {
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Seats {
            most,
            idle,
            inner: Mutex::default(),
        }
    }

    /// A desk for a session that begins. It counts until it is dropped.
    pub(crate) fn sit(&self, guest: &Guest) -> Result<Arc<Desk>, Full> {
        let mut inner = self.lock();
        self.seat(&mut inner, guest)
    }

    /// The desk of one who has no session.
    pub(crate) fn visitor(&self, guest: &Guest) -> Result<Arc<Desk>, Full> {
        let mut inner = self.lock();
        self.forget_idle(&mut inner);
        let last = Instant::now();
        if let Some(visitor) = inner.visitors.get_mut(&guest.holder()) {
            visitor.last = last;
            return Ok(Arc::clone(&visitor.desk));
        }
        let desk = self.seat(&mut inner, guest)?;
        let visitor = Visitor {
            desk: Arc::clone(&desk),
            last,
        };
        inner.visitors.insert(guest.holder(), visitor);
        Ok(desk)
    }

    /// Notes whose session this is.
    pub(crate) fn bind(&self, id: &str, holder: Holder) {
        self.lock().holders.insert(id.to_owned(), holder);
    }

    /// Whether a session is there and is this holder's.
    pub(crate) fn is_of(&self, id: &str, holder: &Holder) -> bool {
        self.lock().holders.get(id) == Some(holder)
    }

    /// Forgets sessions that have ended and desks that nobody used for long.
    pub(crate) fn tidy(&self, is_open: impl Fn(&str) -> bool) {
        let mut inner = self.lock();
        inner.holders.retain(|id, _| is_open(id));
        self.forget_idle(&mut inner);
        let most = self.most;
        inner
            .free
            .retain(|_, seats| seats.available_permits() < most);
    }

    /// Every desk there is, and from now on none but these.
    pub(crate) fn clear(&self) -> Vec<Arc<Desk>> {
        let mut inner = std::mem::take(&mut *self.lock());
        let desks = inner.desks.drain(..);
        desks.filter_map(|desk| desk.upgrade()).collect()
    }

    fn seat(&self, inner: &mut Inner, guest: &Guest) -> Result<Arc<Desk>, Full> {
        let permit = self.permit(inner, &guest.owner)?;
        let desk = Arc::new(Desk::new(Arc::clone(&guest.supply)).holding(permit));
        inner.desks.retain(|desk| desk.strong_count() > 0);
        inner.desks.push(Arc::downgrade(&desk));
        Ok(desk)
    }

    fn permit(&self, inner: &mut Inner, owner: &str) -> Result<OwnedSemaphorePermit, Full> {
        let seats = inner.free.entry(owner.to_owned());
        let seats = seats.or_insert_with(|| Arc::new(Semaphore::new(self.most)));
        let permit = Arc::clone(seats).try_acquire_owned();
        permit.map_err(|_| Full { most: self.most })
    }

    /// A desk that is in use is never idle.
    fn forget_idle(&self, inner: &mut Inner) {
        let idle = self.idle;
        inner.visitors.retain(|_, visitor| {
            Arc::strong_count(&visitor.desk) > 1 || visitor.last.elapsed() < idle
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
