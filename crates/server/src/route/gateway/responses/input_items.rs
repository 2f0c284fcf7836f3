//! `GET /v1/responses/{id}/input_items`

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::{Path, Query};

const USUAL_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

/// All that was said before an answer, the latest first unless asked otherwise.
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    query: Query,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let page = Page::of(&query)?;
    let record = app.store().load_response(&caller.tenant, &id).await?;
    let items: Vec<Value> = serde_json::from_str(&record.conversation)
        .map_err(|error| ApiError::internal("response-malformed", &error))?;
    page.cut(items).map(Json)
}

struct Page {
    limit: usize,
    ascending: bool,
    after: Option<String>,
}

impl Page {
    fn of(query: &Query) -> Result<Page, ApiError> {
        let bad = |param: &str, message: &str| {
            Err(ApiError::bad_request("query-invalid", message).with("param", param))
        };
        let limit = query.parsed("limit", "a number")?.unwrap_or(USUAL_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return bad("limit", "limit: must be 1 to 100");
        }
        let ascending = match query.get("order") {
            None | Some("desc") => false,
            Some("asc") => true,
            Some(_) => return bad("order", "order: must be asc or desc"),
        };
        let after = query.get("after").map(str::to_owned);
        Ok(Page {
            limit,
            ascending,
            after,
        })
    }

    fn cut(self, mut items: Vec<Value>) -> Result<Value, ApiError> {
        if !self.ascending {
            items.reverse();
        }
        if let Some(after) = &self.after {
            let at = items.iter().position(|item| id(item) == Some(after));
            let at = at.ok_or_else(|| {
                let message = "after: there is no item of this id";
                ApiError::bad_request("query-invalid", message).with("param", "after")
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
