//! Admitting a run that was claimed: what its key's limits have left now, which is less than when
//! its request was admitted if others ran meanwhile.

use std::sync::Arc;

use prowess_provider::Route;
use prowess_store::KeyRecord;

use super::stored_request::StoredRequest;
use crate::app::App;
use crate::limits::{Estimate, RequestRefusal, SpendReservation};

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunProgress {
    /// No step is finished.
    Waiting,
    /// Steps are finished, and the run goes on whatever its key has left.
    Resumed,
}

/// Reserves what a run may use of its key's limits. The request itself was counted when it was
/// sent.
///
/// # Errors
/// When the key has not enough left for a run that has not begun.
pub(super) async fn admit(
    app: &App,
    key: &Arc<KeyRecord>,
    route: &Route,
    request: &StoredRequest,
    progress: RunProgress,
) -> Result<Option<SpendReservation>, RequestRefusal> {
    let (limits, store) = (app.limits(), app.store());
    let client = request.client();
    let estimate = request.with_body(|body, raw| Estimate::for_client(client, body, raw));
    if progress == RunProgress::Resumed {
        return Ok(limits.reserve_always(store, key, route, estimate).await);
    }
    let admitted = limits.admit(store, key, route, estimate).await;
    match &admitted {
        Ok(_) => app.local_runs().shorten_delay(&key.id),
        // Before the run is back in the queue, where it would be claimed again at once.
        Err(refusal) if refusal.retry => app.local_runs().delay_key(&key.id),
        Err(_) => {}
    }
    admitted
}
