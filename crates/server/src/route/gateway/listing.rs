//! Lists in pages, as those of OpenAI's API that take a limit of up to a hundred.

use prowess_store::Order;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::extract::Query;

const USUAL_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// Which part of a list is asked for.
pub(super) struct Listing {
    pub(super) limit: u32,
    pub(super) order: Order,
    /// After the one of this id.
    pub(super) after: Option<String>,
}

impl Listing {
    /// From a query, in this order unless it says otherwise.
    pub(super) fn read(query: &Query, usual: Order) -> Result<Listing, ApiError> {
        let limit = query.parsed("limit", "a number")?.unwrap_or(USUAL_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(invalid("limit", "must be 1 to 100"));
        }
        let order = match query.get("order") {
            None => usual,
            Some("desc") => Order::Descending,
            Some("asc") => Order::Ascending,
            Some(_) => return Err(invalid("order", "must be asc or desc")),
        };
        Ok(Listing {
            limit,
            order,
            after: query.get("after").map(str::to_owned),
        })
    }

    /// The list of what was found: one more than the limit, when there are more.
    pub(super) fn cut(&self, mut items: Vec<Value>) -> Value {
        let limit = self.limit as usize;
        let has_more = items.len() > limit;
        items.truncate(limit);
        page(&items, has_more)
    }
}

/// The list of what is on a page.
pub(super) fn page(items: &[Value], has_more: bool) -> Value {
    json!({
        "object": "list",
        "first_id": items.first().and_then(id),
        "last_id": items.last().and_then(id),
        "has_more": has_more,
        "data": items,
    })
}

/// An item's id.
pub(super) fn id(item: &Value) -> Option<&str> {
    item.get("id").and_then(Value::as_str)
}

pub(super) fn invalid(param: &str, what: &str) -> ApiError {
    ApiError::bad_request("query-invalid", format!("{param}: {what}")).with("param", param)
}
