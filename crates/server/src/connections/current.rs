//! The request that the current task works on, as far as its connection is concerned.
//!
//! Who sent a request is found out deep inside of its handler. From then on the request
//! protects its connection, and counts as one of its tenant's.

use std::cell::RefCell;

use prowess_store::TenantId;

use super::Underway;
use crate::error::ApiError;
use crate::requests::TenantRequests;

tokio::task_local! {
    static CURRENT: RefCell<Option<Underway>>;
}

/// Works on a request; gives it back with what came of it.
pub(crate) async fn scope<F: Future>(underway: Underway, work: F) -> (F::Output, Option<Underway>) {
    let work = async {
        let output = work.await;
        (output, CURRENT.with(RefCell::take))
    };
    CURRENT.scope(RefCell::new(Some(underway)), work).await
}

/// The sender of the current request is known, so its connection is not closed for others.
pub(crate) fn protect() {
    with_current(Underway::protect);
}

/// Counts the current request as one of a tenant's until the end of its answer.
pub(crate) fn count(requests: &TenantRequests, tenant: &TenantId) -> Result<(), ApiError> {
    with_current(|underway| underway.count(requests, tenant)).unwrap_or(Ok(()))
}

/// Takes the current request out, for one that lasts longer than its answer.
pub(crate) fn take() -> Option<Underway> {
    CURRENT.try_with(RefCell::take).ok().flatten()
}

/// Nothing outside of a connection.
fn with_current<T>(act: impl FnOnce(&mut Underway) -> T) -> Option<T> {
    let current = |cell: &RefCell<Option<Underway>>| cell.borrow_mut().as_mut().map(act);
    CURRENT.try_with(current).ok().flatten()
}
