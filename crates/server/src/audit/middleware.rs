//! Writes entries that no transaction of the store writes: of attempts that were refused or
//! failed, and of changes outside of the store. Requests without a valid key leave none.

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
use prowess_store::{AuditAction, AuditOutcome, NewAuditEvent, TenantId};

use super::origin::request_origin;
use super::rules::AuditRule;
use crate::app::App;
use crate::error::HttpError;
use crate::request_id::RequestId;
use crate::request_log;

/// Marks a response to a change that was not made in the store, although its route changes the
/// store.
#[derive(Clone, Copy)]
pub(crate) struct ChangedElsewhere;

/// Marks a request for a change of which its tenant may make only so many: the extractor of the
/// principal refuses it once the tenant has made them.
#[derive(Clone, Copy)]
pub(crate) struct LimitedChange;

/// Marks a response to a request that found nothing to change, such as to cancel what has ended. It
/// leaves no entry: otherwise a client that repeats it would fill the log.
#[derive(Clone, Copy)]
pub(crate) struct ChangedNothing;

impl ChangedNothing {
    /// Marks a response if nothing was changed.
    pub(crate) fn mark_if(is_unchanged: bool, mut response: Response) -> Response {
        if is_unchanged {
            response.extensions_mut().insert(ChangedNothing);
        }
        response
    }
}

/// A handler whose attempts are in the audit log, if its route has an action.
pub(crate) fn audit_attempts(
    handler: MethodRouter<App>,
    app: &App,
    rule: Option<&AuditRule>,
) -> MethodRouter<App> {
    let (action, in_transaction) = match rule {
        Some(AuditRule::InTransaction(action)) => (*action, true),
        Some(AuditRule::AfterResponse(action)) => (*action, false),
        Some(AuditRule::Not(_)) | None => return handler,
    };
    let state = Audited {
        app: app.clone(),
        action,
        in_transaction,
    };
    handler.layer(from_fn_with_state(state, record))
}

#[derive(Clone)]
struct Audited {
    app: App,
    action: AuditAction,
    /// Whether the store writes the entry of a change.
    in_transaction: bool,
}

async fn record(
    State(audited): State<Audited>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Response {
    if audited.action.is_counted() {
        request.extensions_mut().insert(LimitedChange);
    }
    let id = request.extensions().get::<RequestId>().copied();
    let headers = request.headers().clone();
    let response = next.run(request).await;
    let is_success = response.status().is_success();
    let is_written = audited.in_transaction
        && is_success
        && response.extensions().get::<ChangedElsewhere>().is_none();
    let is_unchanged = is_success && response.extensions().get::<ChangedNothing>().is_some();
    if !is_written && !is_unchanged {
        let object = object(params.ok().as_ref());
        let id = id.unwrap_or_default();
        let outcome = outcome(&response);
        let is_refused_upload = outcome != AuditOutcome::Done && is_form(&headers);
        if let Some(written) = audited.write(id, &headers, object, outcome) {
            if is_refused_upload {
                // Does not wait for the store: meanwhile the rest of the upload would be read,
                // of a client that may still be waiting for permission to send it.
                tokio::spawn(written);
            } else {
                written.await;
            }
        }
    }
    response
}

/// Whether a request uploads files.
fn is_form(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    content_type.is_some_and(|kind| kind.to_ascii_lowercase().starts_with(b"multipart/"))
}

/// The ids in the path, as the client sent them.
fn object(params: Option<&RawPathParams>) -> Option<String> {
    let values = params?.iter().map(|(_, value)| value);
    let ids = values.collect::<Vec<_>>().join("/");
    (!ids.is_empty()).then_some(ids)
}

impl Audited {
    /// What writes the entry, if there is to be one.
    fn write(
        &self,
        id: RequestId,
        headers: &HeaderMap,
        object: Option<String>,
        outcome: AuditOutcome,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let info = request_log::current()?;
        // Whoever sends no valid key is nobody, and would fill the log.
        let (tenant, key) = info.identity()?;
        let tenant = TenantId::new(tenant).ok()?;
        if outcome != AuditOutcome::Done && !self.app.refusal_budget().take(&tenant) {
            metrics::counter!("prowess_audit_refusals_dropped_total").increment(1);
            return None;
        }
        let is_cancelled = outcome == AuditOutcome::Done && self.action.is_cancellation();
        if is_cancelled && key.is_some() && !self.app.store().take_cancellation(&tenant) {
            metrics::counter!("prowess_audit_cancellations_dropped_total").increment(1);
            return None;
        }
        let origin = request_origin(&self.app, key, id, headers);
        let (store, action) = (self.app.store().clone(), self.action);
        Some(async move {
            let event = NewAuditEvent {
                tenant: &tenant,
                action,
                object: object.as_deref(),
                outcome,
            };
            if let Err(error) = store.record_audit_event(&origin, &event).await {
                let action = action.as_str();
                tracing::error!(action, %error, "cannot write an entry of the audit log");
            }
        })
    }
}

fn outcome(response: &Response) -> AuditOutcome {
    let status = response.status();
    let code = || match response.extensions().get::<HttpError>() {
        Some(error) => error.code.to_owned(),
        None => format!("status-{}", status.as_u16()),
    };
    if status.is_success() {
        AuditOutcome::Done
    } else if status < StatusCode::INTERNAL_SERVER_ERROR {
        AuditOutcome::Refused(code())
    } else {
        AuditOutcome::Failed(code())
    }
}
