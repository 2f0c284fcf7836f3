//! Pages of OpenAI's lists with a limit of up to a hundred.

use prowess_store::SortOrder;
use serde_json::{Value, json};

use crate::error::HttpError;
use crate::extract::Query;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// The requested page.
pub(super) struct ListQuery {
    pub(super) limit: u32,
    pub(super) order: SortOrder,
    /// After the item with this id.
    pub(super) after: Option<String>,
}

impl ListQuery {
    /// Parses a query, with this default order.
    pub(super) fn parse(query: &Query, default_order: SortOrder) -> Result<ListQuery, HttpError> {
        let limit = query
            .parse_value("limit", "a number")?
            .unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(invalid_param("limit", "must be 1 to 100"));
        }
        let order = match query.get("order") {
            None => default_order,
            Some("desc") => SortOrder::Descending,
            Some("asc") => SortOrder::Ascending,
            Some(_) => return Err(invalid_param("order", "must be asc or desc")),
        };
        Ok(ListQuery {
            limit,
            order,
            after: query.get("after").map(str::to_owned),
        })
    }

    /// A page of the found items: one more than the limit when there are more.
    pub(super) fn to_page(&self, mut items: Vec<Value>) -> Value {
        let limit = self.limit as usize;
        let has_more = items.len() > limit;
        items.truncate(limit);
        list_json(&items, has_more)
    }
}

/// The list object of a page.
pub(super) fn list_json(items: &[Value], has_more: bool) -> Value {
    json!({
        "object": "list",
        "first_id": items.first().and_then(item_id),
        "last_id": items.last().and_then(item_id),
        "has_more": has_more,
        "data": items,
    })
}

/// An item's id.
pub(super) fn item_id(item: &Value) -> Option<&str> {
    item.get("id").and_then(Value::as_str)
}

pub(super) fn invalid_param(param: &str, what: &str) -> HttpError {
    HttpError::bad_request("query-invalid", format!("{param}: {what}")).with_detail("param", param)
}
