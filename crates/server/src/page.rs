//! Which part of a list is asked for, in each dialect.

use prowess_store::{Cursor, MAX_LIMIT, MAX_OFFSET, Order, PageRequest, Position};
use prowess_wire::excerpt;

use crate::error::ApiError;
use crate::extract::Query;

/// What OpenAI's lists give when no limit is named, and Anthropic's too.
const DEFAULT_LIMIT: u32 = 20;

/// `limit` and `page`, as Anthropic has them, or `offset`, as LiteLLM has it.
pub(crate) fn anthropic(query: &Query, order: Order) -> Result<PageRequest, ApiError> {
    let from = match (query.get("page"), offset(query)?) {
        (Some(_), Some(_)) => return Err(exclusive("page and offset")),
        (Some(page), None) => Position::After(Cursor::decode(page)?),
        (None, offset) => offset.unwrap_or_default(),
    };
    Ok(PageRequest {
        limit: limit(query, DEFAULT_LIMIT)?,
        order,
        from,
    })
}

/// `limit`, `after_id` and `before_id`, as lists of Anthropic's betas have them.
pub(crate) fn anthropic_by_id(query: &Query) -> Result<PageRequest, ApiError> {
    let from = match (query.get("after_id"), query.get("before_id")) {
        (Some(_), Some(_)) => {
            return Err(exclusive("after_id and before_id"));
        }
        (Some(id), None) => Position::After(Cursor::at(id)),
        (None, Some(id)) => Position::Before(Cursor::at(id)),
        (None, None) => Position::Start,
    };
    Ok(PageRequest {
        limit: limit(query, DEFAULT_LIMIT)?,
        order: Order::Descending,
        from,
    })
}

/// `limit`, `after` and `order`, as OpenAI has them, or `offset`, as LiteLLM has it.
pub(crate) fn openai(query: &Query) -> Result<PageRequest, ApiError> {
    let order = order(query)?;
    let from = match (query.get("after"), offset(query)?) {
        (Some(_), Some(_)) => return Err(exclusive("after and offset")),
        (Some(id), None) => Position::After(Cursor::at(id)),
        (None, offset) => offset.unwrap_or_default(),
    };
    Ok(PageRequest {
        limit: limit(query, DEFAULT_LIMIT)?,
        order,
        from,
    })
}

fn exclusive(which: &str) -> ApiError {
    ApiError::bad_request("query-invalid", format!("{which} exclude each other"))
}

fn offset(query: &Query) -> Result<Option<Position>, ApiError> {
    let what = format!("a number from 0 to {MAX_OFFSET}");
    match query.parsed("offset", &what)? {
        None => Ok(None),
        Some(count) if count <= MAX_OFFSET => Ok(Some(Position::Offset(count))),
        Some(count) => {
            let message = format!("offset: `{count}` is not {what}");
            Err(ApiError::bad_request("query-invalid", message).with("param", "offset"))
        }
    }
}

/// `order`, as OpenAI has it.
fn order(query: &Query) -> Result<Order, ApiError> {
    match query.get("order") {
        None | Some("desc") => Ok(Order::Descending),
        Some("asc") => Ok(Order::Ascending),
        Some(other) => {
            let message = format!("order: `{}` is not asc or desc", excerpt(other));
            Err(ApiError::bad_request("query-invalid", message).with("param", "order"))
        }
    }
}

/// A whole list, the newest first as it comes, in the order that is asked for.
pub(crate) fn ordered<T>(mut all: Vec<T>, query: &Query) -> Result<Vec<T>, ApiError> {
    if order(query)? == Order::Ascending {
        all.reverse();
    }
    Ok(all)
}

/// A limit that is out of bounds is told, not bent.
pub(crate) fn limit(query: &Query, default: u32) -> Result<u32, ApiError> {
    let what = format!("a number from 1 to {MAX_LIMIT}");
    let limit: u32 = query.parsed("limit", &what)?.unwrap_or(default);
    if (1..=MAX_LIMIT).contains(&limit) {
        return Ok(limit);
    }
    let message = format!("limit: `{limit}` is not {what}");
    Err(ApiError::bad_request("query-invalid", message).with("param", "limit"))
}
