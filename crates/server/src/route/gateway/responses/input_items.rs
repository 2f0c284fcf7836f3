//! `GET /v1/responses/{id}/input_items`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::{Error as StoreError, TenantId};
use serde_json::{Value, json};

use super::kept;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::route::gateway::StoredRecorder;
use crate::stored_answer::StoredAnswer;

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

/// All items before a response, latest first by default.
pub(super) async fn list(
    State(app): State<App>,
    principal: Principal,
    query: Query,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let page = ItemsPage::parse(&query)?;
    let mut answer = StoredAnswer::begin(&app, &principal.tenant).await?;
    let items = earlier_items(&app, &principal.tenant, &id, &mut answer).await?;
    answer.count([items.as_str()]).await?;
    let items: Vec<Value> = serde_json::from_str(&items)
        .map_err(|error| HttpError::internal("response-malformed", &error))?;
    Ok(answer.send(Json(page.apply(items)?).into_response()))
}

/// The items before a response, as JSON. A response in the background that is not complete, or
/// never was, is stored with its run only.
async fn earlier_items(
    app: &App,
    tenant: &TenantId,
    id: &str,
    answer: &mut StoredAnswer,
) -> Result<String, HttpError> {
    let missing = match app.store().load_response(tenant, id).await {
        Err(error @ StoreError::NotFound { .. }) => error,
        found => return Ok(found?.conversation),
    };
    let kept = kept::find(app, tenant, id, answer).await?;
    let recorder = kept
        .as_ref()
        .and_then(|run| run.request().recorder.as_ref());
    let items = recorder.and_then(StoredRecorder::earlier_items);
    Ok(items.map(str::to_owned).ok_or(missing)?)
}

struct ItemsPage {
    limit: usize,
    ascending: bool,
    after: Option<String>,
}

impl ItemsPage {
    fn parse(query: &Query) -> Result<ItemsPage, HttpError> {
        let bad = |param: &str, message: &str| {
            Err(HttpError::bad_request("query-invalid", message).with_detail("param", param))
        };
        let limit = query
            .parse_value("limit", "a number")?
            .unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return bad("limit", "limit: must be 1 to 100");
        }
        let ascending = match query.get("order") {
            None | Some("desc") => false,
            Some("asc") => true,
            Some(_) => return bad("order", "order: must be asc or desc"),
        };
        let after = query.get("after").map(str::to_owned);
        Ok(ItemsPage {
            limit,
            ascending,
            after,
        })
    }

    fn apply(self, mut items: Vec<Value>) -> Result<Value, HttpError> {
        if !self.ascending {
            items.reverse();
        }
        if let Some(after) = &self.after {
            let at = items.iter().position(|item| id(item) == Some(after));
            let at = at.ok_or_else(|| {
                let message = "after: no item has this id";
                HttpError::bad_request("query-invalid", message).with_detail("param", "after")
            })?;
            items.drain(..=at);
        }
        let has_more = items.len() > self.limit;
        items.truncate(self.limit);
        Ok(json!({
            "object": "list",
            "first_id": items.first().and_then(id),
            "last_id": items.last().and_then(id),
            "has_more": has_more,
            "data": items,
        }))
    }
}

fn id(item: &Value) -> Option<&str> {
    item.get("id").and_then(Value::as_str)
}
