//! `GET /v1/messages/batches/{message_batch}/results`

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use prowess_store::{BatchKind, Error as StoreError, Store, TenantId};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::batches::anthropic;
use crate::error::HttpError;
use crate::extract::PathParams;

/// Results read at once. Each may be as large as a response.
const PAGE_RESULTS: u32 = 16;

pub(crate) async fn results(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let tenant = &principal.tenant;
    let batch = app.store().batch(tenant, BatchKind::Messages, &id).await?;
    if batch.ended_at.is_none() {
        let message = format!("batch `{id}` has no results yet; wait until it has ended");
        return Err(HttpError::bad_request("batch-in-progress", message));
    }
    let lines = lines(app.store().clone(), tenant.clone(), id);
    let headers = [(CONTENT_TYPE, "application/x-jsonl")];
    Ok((headers, Body::from_stream(lines)).into_response())
}

fn lines(
    store: Store,
    tenant: TenantId,
    batch: String,
) -> impl stream::Stream<Item = Result<Bytes, StoreError>> + Send {
    stream::try_unfold(-1, move |after| {
        let (store, tenant, batch) = (store.clone(), tenant.clone(), batch.clone());
        async move {
            let page = store.batch_results(&tenant, &batch, after, PAGE_RESULTS);
            let page = page.await?;
            let Some(last) = page.last() else {
                return Ok(None);
            };
            let next = last.seq;
            let lines = page
                .iter()
                .map(|result| anthropic::result_line(result) + "\n");
            Ok(Some((Bytes::from(lines.collect::<String>()), next)))
        }
    })
}
