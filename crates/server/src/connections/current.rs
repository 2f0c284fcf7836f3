//! The request that the current task works on, as far as its connection is concerned.
//!
//! Who sent a request is found out deep inside of its handler. From then on the request
//! protects its connection, and counts as one of its tenant's.

use std::cell::RefCell;

use prowess_store::TenantId;

use super::ActiveRequest;
use crate::error::HttpError;
use crate::tenant_requests::TenantRequests;

tokio::task_local! {
    static CURRENT: RefCell<Option<ActiveRequest>>;
}

/// Works on a request; gives it back with what came of it.
pub(crate) async fn scope<F: Future>(
    active: ActiveRequest,
    work: F,
) -> (F::Output, Option<ActiveRequest>) {
    let work = async {
        let output = work.await;
        (output, CURRENT.with(RefCell::take))
    };
    CURRENT.scope(RefCell::new(Some(active)), work).await
}

/// The sender of the current request is known, so its connection is not closed for others.
pub(crate) fn protect() {
    with_current(ActiveRequest::protect);
}

/// Counts the current request as one of a tenant's until the end of its answer.
pub(crate) fn count(requests: &TenantRequests, tenant: &TenantId) -> Result<(), HttpError> {
    with_current(|active| active.count_for_tenant(requests, tenant)).unwrap_or(Ok(()))
}

/// Takes the current request out, for one that lasts longer than its answer.
pub(crate) fn take() -> Option<ActiveRequest> {
    CURRENT.try_with(RefCell::take).ok().flatten()
}

/// Nothing outside of a connection.
fn with_current<T>(act: impl FnOnce(&mut ActiveRequest) -> T) -> Option<T> {
    let current = |cell: &RefCell<Option<ActiveRequest>>| cell.borrow_mut().as_mut().map(act);
    CURRENT.try_with(current).ok().flatten()
}
