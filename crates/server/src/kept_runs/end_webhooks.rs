//! The webhooks that announce the end of a kept run.

use prowess_store::{KeyRecord, RunState, TenantId};

use super::stored_request::{StoredRequest, response_id};
use crate::app::App;
use crate::route::gateway::unix_now;
use crate::webhooks::payload::{EndedRun, RunWebhook, webhooks_for};

/// The webhooks of a run that ends now in this state. `key` is the one of its request, also if
/// it was revoked since; none for the operator.
pub(super) fn end_webhooks(
    app: &App,
    tenant: &TenantId,
    run: &str,
    request: &StoredRequest,
    key: Option<&KeyRecord>,
    state: RunState,
) -> Vec<RunWebhook> {
    let response = response_id(request.client(), run).filter(|id| id.starts_with("resp_"));
    let ended = EndedRun {
        run,
        response: response.as_deref(),
        tenant,
        key: key.map(|key| (key.id.as_str(), key.name.as_str())),
        requested_url: request.webhook.as_deref(),
        state,
        ended_at: i64::try_from(unix_now()).unwrap_or_default(),
    };
    webhooks_for(&app.settings().webhooks, &ended)
}
