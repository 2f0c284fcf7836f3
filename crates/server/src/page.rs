//! Parses the page of a list that is requested, in each dialect.

use prowess_store::{
    MAX_PAGE_ITEMS, MAX_PAGE_OFFSET, PageCursor, PagePosition, PageRequest, SortOrder,
};
use prowess_wire::excerpt;

use crate::error::HttpError;
use crate::extract::Query;

/// Default limit of OpenAI's lists, and of Anthropic's.
const DEFAULT_LIMIT: u32 = 20;

/// Highest and default limit of OpenAI's list of files.
pub(crate) const MAX_OPENAI_FILES: u32 = 10_000;

/// `limit` and `page`, as in Anthropic's API, or `offset`, as in LiteLLM's.
pub(crate) fn parse_anthropic(query: &Query, order: SortOrder) -> Result<PageRequest, HttpError> {
    let from = match (query.get("page"), parse_offset(query)?) {
        (Some(_), Some(_)) => return Err(exclusive_error("page and offset")),
        (Some(page), None) => PagePosition::After(PageCursor::decode(page)?),
        (None, offset) => offset.unwrap_or_default(),
    };
    Ok(PageRequest {
        limit: parse_limit(query, DEFAULT_LIMIT)?,
        order,
        from,
    })
}

/// `limit`, `after_id` and `before_id`, as in Anthropic's betas.
pub(crate) fn parse_anthropic_by_id(query: &Query) -> Result<PageRequest, HttpError> {
    let from = match (query.get("after_id"), query.get("before_id")) {
        (Some(_), Some(_)) => {
            return Err(exclusive_error("after_id and before_id"));
        }
        (Some(id), None) => PagePosition::After(PageCursor::from_id(id)),
        (None, Some(id)) => PagePosition::Before(PageCursor::from_id(id)),
        (None, None) => PagePosition::Start,
    };
    Ok(PageRequest {
        limit: parse_filled_limit(query)?,
        order: SortOrder::Descending,
        from,
    })
}

/// `limit`, which has a number if it is there: lists that no earlier client knows refuse
/// `limit=`.
pub(crate) fn parse_filled_limit(query: &Query) -> Result<u32, HttpError> {
    if query.all("limit").any(str::is_empty) {
        return Err(limit_error("", MAX_PAGE_ITEMS));
    }
    parse_limit(query, DEFAULT_LIMIT)
}

/// `limit`, `after` and `order`, as in OpenAI's API, or `offset`, as in LiteLLM's.
pub(crate) fn parse_openai(query: &Query) -> Result<PageRequest, HttpError> {
    let limit = parse_limit(query, DEFAULT_LIMIT)?;
    parse_openai_position(query, limit)
}

/// The same for OpenAI's list of files, whose limit is beyond that of a page here. The page is
/// shorter then, and says that there are more: clients continue by themselves.
pub(crate) fn parse_openai_files(query: &Query) -> Result<PageRequest, HttpError> {
    let limit = parse_limit_up_to(query, MAX_OPENAI_FILES, MAX_OPENAI_FILES)?;
    parse_openai_position(query, limit.min(MAX_PAGE_ITEMS))
}

fn parse_openai_position(query: &Query, limit: u32) -> Result<PageRequest, HttpError> {
    let order = parse_order(query)?;
    let from = match (query.get("after"), parse_offset(query)?) {
        (Some(_), Some(_)) => return Err(exclusive_error("after and offset")),
        (Some(id), None) => PagePosition::After(PageCursor::from_id(id)),
        (None, offset) => offset.unwrap_or_default(),
    };
    Ok(PageRequest { limit, order, from })
}

fn exclusive_error(which: &str) -> HttpError {
    HttpError::bad_request("query-invalid", format!("{which} are mutually exclusive"))
}

fn parse_offset(query: &Query) -> Result<Option<PagePosition>, HttpError> {
    let what = format!("a number from 0 to {MAX_PAGE_OFFSET}");
    match query.parse_value("offset", &what)? {
        None => Ok(None),
        Some(count) if count <= MAX_PAGE_OFFSET => Ok(Some(PagePosition::Offset(count))),
        Some(count) => {
            let message = format!("offset: `{count}` is not {what}");
            Err(HttpError::bad_request("query-invalid", message).with_detail("param", "offset"))
        }
    }
}

/// `order`, as in OpenAI's API.
fn parse_order(query: &Query) -> Result<SortOrder, HttpError> {
    match query.get("order") {
        None | Some("desc") => Ok(SortOrder::Descending),
        Some("asc") => Ok(SortOrder::Ascending),
        Some(other) => {
            let message = format!("order: `{}` is not asc or desc", excerpt(other));
            Err(HttpError::bad_request("query-invalid", message).with_detail("param", "order"))
        }
    }
}

/// A whole list, newest first, in the requested order.
pub(crate) fn apply_order<T>(mut all: Vec<T>, query: &Query) -> Result<Vec<T>, HttpError> {
    if parse_order(query)? == SortOrder::Ascending {
        all.reverse();
    }
    Ok(all)
}

/// A limit out of range is an error, not clamped.
pub(crate) fn parse_limit(query: &Query, default: u32) -> Result<u32, HttpError> {
    parse_limit_up_to(query, default, MAX_PAGE_ITEMS)
}

/// The same for a list whose items cost more.
pub(crate) fn parse_limit_up_to(query: &Query, default: u32, max: u32) -> Result<u32, HttpError> {
    let Some(text) = query.get("limit") else {
        return Ok(default);
    };
    let limit = text.parse().ok();
    let limit = limit.filter(|limit| (1..=max).contains(limit));
    limit.ok_or_else(|| limit_error(text, max))
}

fn limit_error(text: &str, max: u32) -> HttpError {
    let text = excerpt(text);
    let message = format!("limit: `{text}` is not a number from 1 to {max}");
    HttpError::bad_request("query-invalid", message).with_detail("param", "limit")
}
