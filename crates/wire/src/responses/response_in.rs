//! A Responses response, read.

use serde_json::Value;

use super::USAGE_FIELDS;
use super::item_in::{IdPolicy, read_item};
use super::namespace::flatten_call;
use super::price_details::is_web_search;
use crate::Dialect;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::JsonFields;
use crate::json_path::JsonPath;
use crate::neutral::{Content, Response, StopReason, refusal_details};
use crate::openai::{mark_refusal, read_failure, read_usage, service_tier};

pub(crate) fn read_response(body: Value, context: &ReadContext) -> Result<Response, WireError> {
    let root = JsonPath::Root;
    let refusal = refusal_of(&body);
    let mut fields = JsonFields::from_value(body, &root)?;
    let id = fields.opt_string("id")?;
    let model = fields.opt_string("model")?;
    let mut response = Response::new(
        Dialect::Responses,
        id.unwrap_or_else(|| context.id.clone()),
        model.unwrap_or_else(|| context.model.clone()),
    );
    if let Some(error) = fields.take("error") {
        return Err(WireError::UpstreamFailed(Box::new(read_failure(&error))));
    }
    if let Some(usage) = fields.take("usage") {
        response.usage = read_usage(usage, &root.key("usage"), &USAGE_FIELDS)?;
    }
    let output = fields.list("output")?;
    let searches = output.iter().filter(|item| is_web_search(item)).count();
    response.usage.set_web_searches(searches as u64);
    response
        .usage
        .set_tier(service_tier(fields.peek("service_tier")));
    for (i, item) in output.into_iter().enumerate() {
        let item = read_item(item, &root.key("output").index(i), IdPolicy::Keep)?;
        response.content.extend(item.blocks);
    }
    for block in &mut response.content {
        flatten_call(block, &context.names);
        if let Content::ToolUse { name, .. } = &mut block.content {
            *name = context.names.original(std::mem::take(name));
        }
        if refusal.is_some() && block.as_text() == refusal.as_deref() {
            mark_refusal(block);
        }
    }
    let status = fields.opt_string("status")?;
    let reason = incomplete_reason(fields.take("incomplete_details").as_ref());
    let calls = has_calls(&response);
    let stop = stop_reason(
        status.as_deref(),
        reason.as_deref(),
        calls,
        refusal.is_some(),
    );
    response.stop_reason = Some(stop);
    response.stop_details = refusal.map(|text| refusal_details(Some(&text)));
    for written_anew in ["object", "created_at"] {
        fields.take(written_anew);
    }
    response.rest = fields.rest();
    Ok(response)
}

fn has_calls(response: &Response) -> bool {
    response
        .content
        .iter()
        .any(|block| matches!(block.content, Content::ToolUse { .. }))
}

fn refusal_of(body: &Value) -> Option<String> {
    let items = body.get("output")?.as_array()?;
    items.iter().find_map(refusal_in).map(str::to_owned)
}

/// The refusal that a message holds.
pub(super) fn refusal_in(item: &Value) -> Option<&str> {
    let parts = item.get("content")?.as_array()?;
    parts.iter().find_map(|part| part.get("refusal")?.as_str())
}

pub(super) fn incomplete_reason(details: Option<&Value>) -> Option<String> {
    Some(details?.get("reason")?.as_str()?.to_owned())
}

pub(super) fn stop_reason(
    status: Option<&str>,
    reason: Option<&str>,
    calls: bool,
    refused: bool,
) -> StopReason {
    match (status, reason) {
        (_, Some("content_filter")) => StopReason::Refusal,
        (Some("incomplete"), Some("max_output_tokens") | None) => StopReason::MaxTokens,
        // Other limits of the server's: the response may be gone on with.
        (Some("incomplete"), Some(_)) => StopReason::PauseTurn,
        _ if refused => StopReason::Refusal,
        _ if calls => StopReason::ToolUse,
        _ => StopReason::EndTurn,
    }
}
