//! The request of the current task, as far as its connection is concerned.
//!
//! The sender of a request is authenticated deep inside its handler. From then on the request
//! protects its connection from eviction and counts toward its tenant's limit.

use std::cell::RefCell;
use std::net::IpAddr;

use prowess_store::TenantId;

use super::ActiveRequest;
use super::peer::Peer;
use crate::error::HttpError;
use crate::tenant_requests::TenantRequests;

tokio::task_local! {
    static CURRENT: RefCell<Option<ActiveRequest>>;
}

/// Runs a request's future; returns the request with the output.
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

/// The sender is authenticated, so the connection must not be evicted.
pub(crate) fn protect() {
    with_current(ActiveRequest::protect);
}

/// Counts the current request toward a tenant's limit until the end of its response.
pub(crate) fn count(requests: &TenantRequests, tenant: &TenantId) -> Result<(), HttpError> {
    with_current(|active| active.count_for_tenant(requests, tenant)).unwrap_or(Ok(()))
}

/// The address of the client that sent the current request.
pub(crate) fn address() -> Option<IpAddr> {
    with_current(|active| active.address()).flatten()
}

/// The same as the address that connections are counted for: of IPv6, the network.
pub(crate) fn network() -> Option<IpAddr> {
    address().map(|address| Peer::new(address).address())
}

/// Takes the current request, for one that outlives its response.
pub(crate) fn take() -> Option<ActiveRequest> {
    CURRENT.try_with(RefCell::take).ok().flatten()
}

/// Does nothing outside of a connection.
fn with_current<T>(act: impl FnOnce(&mut ActiveRequest) -> T) -> Option<T> {
    let current = |cell: &RefCell<Option<ActiveRequest>>| cell.borrow_mut().as_mut().map(act);
    CURRENT.try_with(current).ok().flatten()
}
