//! Reads a Messages response.

use serde_json::Value;

use super::block_in::read_block;
use super::error::read_error_value;
use super::request_in::each;
use super::usage::{read_usage, with_compactions};
use crate::Dialect;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::JsonFields;
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, Response, StopReason};

pub(crate) fn read_response(body: Value, context: &ReadContext) -> Result<Response, WireError> {
    let root = JsonPath::Root;
    let mut fields = JsonFields::from_value(body, &root)?;
    // A gateway error with a success status.
    let failed = fields.peek("type").and_then(Value::as_str) == Some("error");
    if failed && fields.peek("error").is_some_and(Value::is_object) {
        let error = read_error_value(None, Value::Object(fields.rest()));
        return Err(WireError::UpstreamFailed(Box::new(error)));
    }
    let id = fields.opt_string("id")?;
    let model = fields.opt_string("model")?;
    let mut response = Response::new(
        Dialect::Messages,
        id.unwrap_or_else(|| context.id.clone()),
        model.unwrap_or_else(|| context.model.clone()),
    );
    let content = fields.list("content")?;
    response.content = each(content, &root.key("content"), read_block)?;
    for block in &mut response.content {
        original_name(block, context);
    }
    response.stop_reason = fields
        .opt_string("stop_reason")?
        .map(StopReason::from_anthropic);
    response.stop_sequence = fields.opt_string("stop_sequence")?;
    response.stop_details = fields.take("stop_details");
    response.container = fields.take("container");
    if let Some(usage) = fields.take("usage") {
        response.usage = with_compactions(&read_usage(usage, &root.key("usage"))?);
    }
    // Written anew in every dialect.
    fields.take("type");
    fields.take("role");
    response.rest = fields.rest();
    Ok(response)
}

/// Puts the client's name of a tool back.
pub(super) fn original_name(block: &mut Block, context: &ReadContext) {
    if let Content::ToolUse { name, .. } = &mut block.content {
        *name = context.names.original(std::mem::take(name));
    }
}
