//! `GET /v1/admin/audit`: the audit log, in pages, or all of it as lines of JSON.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use prowess_store::{
    AuditFilter, Error as StoreError, PagePosition, PageRequest, SortOrder, Store, TenantId,
    Timestamp,
};

use super::{list_json, tenant_of};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Query;
use crate::page;
use crate::render::audit_event_json;

/// The media type of lines of JSON.
const LINES: &str = "application/x-ndjson";
/// Entries that an export reads at once.
const EXPORT_ENTRIES: u32 = 500;

pub(super) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    principal.require(Permission::Administer)?;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let requested = RequestedEntries::parse(&principal, &query)?;
    let request = page::parse_anthropic(&query, SortOrder::Descending)?;
    if wants_lines(&headers) {
        let request = PageRequest {
            limit: EXPORT_ENTRIES,
            ..request
        };
        let lines = lines(app.store().clone(), requested, request);
        return Ok(([(CONTENT_TYPE, LINES)], Body::from_stream(lines)).into_response());
    }
    let page = app
        .store()
        .audit_events(&requested.filter(), &request)
        .await?;
    Ok(Json(list_json(&page, audit_event_json)).into_response())
}

fn wants_lines(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(ACCEPT).into_iter();
    let mut kinds = accepts.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    kinds.any(|kind| {
        kind.split(';')
            .next()
            .is_some_and(|kind| kind.trim() == LINES)
    })
}

/// Which entries are asked for.
#[derive(Clone)]
struct RequestedEntries {
    tenant: Option<TenantId>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    actor: Option<String>,
    action: Option<String>,
    object: Option<String>,
}

impl RequestedEntries {
    fn parse(principal: &Principal, query: &Query) -> Result<Self, HttpError> {
        let text = |name| query.get(name).map(str::to_owned);
        Ok(RequestedEntries {
            tenant: tenant_of(principal, query)?,
            since: query.time("since")?,
            until: query.time("until")?,
            actor: text("actor"),
            action: text("action"),
            object: text("object"),
        })
    }

    fn filter(&self) -> AuditFilter<'_> {
        AuditFilter {
            tenant: self.tenant.as_ref(),
            since: self.since,
            until: self.until,
            actor: self.actor.as_deref(),
            action: self.action.as_deref(),
            object: self.object.as_deref(),
        }
    }
}

/// All entries from the first page on, one per line.
fn lines(
    store: Store,
    requested: RequestedEntries,
    first: PageRequest,
) -> impl stream::Stream<Item = Result<Bytes, StoreError>> + Send {
    stream::try_unfold(Some(first), move |request| {
        let (store, requested) = (store.clone(), requested.clone());
        async move {
            let Some(request) = request else {
                return Ok(None);
            };
            let page = store.audit_events(&requested.filter(), &request).await?;
            let lines = page
                .items
                .iter()
                .map(|event| format!("{}\n", audit_event_json(event)));
            let lines = Bytes::from(lines.collect::<String>());
            let next = page.next.map(|cursor| PageRequest {
                from: PagePosition::After(cursor),
                ..request
            });
            Ok(Some((lines, next)))
        }
    })
}
