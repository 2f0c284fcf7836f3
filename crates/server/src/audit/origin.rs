//! Who sent a request, and from where.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use prowess_store::{AuditActor, AuditOrigin, KeyRecord, Store};

use crate::app::App;
use crate::auth::Principal;
use crate::connections::current;
use crate::error::HttpError;
use crate::request_id::RequestId;

/// The store, whose changes are written to the audit log as made by the sender of the request.
/// The principal must be extracted before.
pub(crate) struct AuditedStore(pub(crate) Store);

impl FromRequestParts<App> for AuditedStore {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, HttpError> {
        let Some(principal) = parts.extensions.get::<Principal>() else {
            let what = "a handler asked for the audited store before the principal";
            return Err(HttpError::internal("audit-without-principal", &what));
        };
        let id = parts.extensions.get::<RequestId>().copied();
        let key = principal.key().map(AsRef::as_ref);
        let origin = request_origin(app, key, id.unwrap_or_default(), &parts.headers);
        Ok(AuditedStore(app.store().audited(origin)))
    }
}

/// The origin of a request, which has this key or none. Behind a proxy the address is the
/// proxy's.
pub(super) fn request_origin(
    app: &App,
    key: Option<&KeyRecord>,
    id: RequestId,
    headers: &HeaderMap,
) -> AuditOrigin {
    let actor = match key {
        Some(key) => AuditActor::from_key(key),
        None if app.settings().master_key.is_some() => AuditActor::Master,
        None => AuditActor::Loopback,
    };
    let peer = current::address().map(|address| address.to_canonical().to_string());
    let agent = headers.get(USER_AGENT);
    let agent = agent.map(|agent| String::from_utf8_lossy(agent.as_bytes()));
    AuditOrigin::of_request(actor, peer, id.to_string(), agent.as_deref())
}
