//! Reads a generateContent response.

use serde_json::Value;

use super::code_execution;
use super::error::read_error_value;
use super::price_details::web_searches;
use super::response_part_in::{
    OutputState, ResponsePart, ResponsePartContent, block_reason, read_part, read_usage,
    stop_reason,
};
use crate::Dialect;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::JsonFields;
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, Response, StopReason, refusal_details};
use crate::signature_envelope::encode_gemini_signature;
use crate::tool_names::generated_call_id;

pub(crate) fn read_response(body: Value, context: &ReadContext) -> Result<Response, WireError> {
    let root = JsonPath::Root;
    let mut fields = JsonFields::from_value(body, &root)?;
    // A gateway error with a success status.
    if let Some(error) = fields.peek("error").filter(|error| error.is_object()) {
        let error = read_error_value(None, error);
        return Err(WireError::UpstreamFailed(Box::new(error)));
    }
    let id = fields.opt_string("responseId")?;
    let model = fields.opt_string("modelVersion")?;
    let mut response = Response::new(
        Dialect::Gemini,
        id.unwrap_or_else(|| context.id.clone()),
        model.unwrap_or_else(|| context.model.clone()),
    );
    if let Some(usage) = fields.take("usageMetadata") {
        response.usage = read_usage(usage, &root.key("usageMetadata"))?;
    }
    let blocked = block_reason(fields.take("promptFeedback").as_ref());
    let candidates = fields.opt_list("candidates")?.unwrap_or_default();
    match candidates.into_iter().next() {
        Some(candidate) => read_candidate(candidate, context, &mut response)?,
        None if blocked.is_some() => {}
        None => {
            return Err(WireError::Missing {
                field: "candidates[0]".to_owned(),
            });
        }
    }
    if let Some(reason) = blocked {
        response.stop_reason = Some(StopReason::Refusal);
        response.stop_details = Some(refusal_details(Some(&reason)));
    }
    response.rest = fields.rest();
    Ok(response)
}

fn read_candidate(
    value: Value,
    context: &ReadContext,
    response: &mut Response,
) -> Result<(), WireError> {
    let root = JsonPath::Root;
    let candidates = root.key("candidates");
    let path = candidates.index(0);
    let mut candidate = JsonFields::from_value(value, &path)?;
    if let Some(content) = candidate.take("content") {
        let path = path.key("content");
        let parts = JsonFields::from_value(content, &path)?.opt_list("parts")?;
        let path = path.key("parts");
        let mut code_runs = 0;
        for (i, part) in parts.unwrap_or_default().into_iter().enumerate() {
            let path = path.index(i);
            let part = read_part(part, &path, context)?;
            // Only streams bring calls in pieces.
            if let ResponsePartContent::Piece(_) = &part.content {
                let field = path.key("functionCall").key("name").to_string();
                return Err(WireError::Missing { field });
            }
            add_part(part, &mut code_runs, response);
        }
    }
    let calls = response
        .content
        .iter()
        .any(|block| matches!(block.content, Content::ToolUse { .. }));
    let answered = match (calls, response.content.is_empty()) {
        (true, _) => OutputState::Calls,
        (false, false) => OutputState::Content,
        (false, true) => OutputState::Empty,
    };
    let reason = candidate.opt_string("finishReason")?;
    let stop = stop_reason(reason.as_deref().unwrap_or("STOP"), answered)
        .map_err(|error| WireError::UpstreamFailed(Box::new(error)))?;
    if stop == StopReason::Refusal {
        let message = candidate.opt_string("finishMessage")?.or(reason);
        response.stop_details = Some(refusal_details(message.as_deref()));
    }
    response.stop_reason = Some(stop);
    let searches = web_searches(candidate.peek("groundingMetadata"));
    response.usage.set_web_searches(searches);
    // Only one candidate is ever requested.
    candidate.take("index");
    response.message_rest = candidate.rest();
    Ok(())
}

/// A part's signature becomes that of the thought before it, which is created if needed.
fn add_part(part: ResponsePart, code_runs: &mut usize, response: &mut Response) {
    if let ResponsePartContent::Thought(text) = part.content {
        push_thought(text, response);
        sign(part.signature, response);
        return;
    }
    sign(part.signature, response);
    match part.content {
        ResponsePartContent::Text(text) if text.is_empty() => {}
        ResponsePartContent::Text(text) => {
            match response.content.last_mut().map(|block| &mut block.content) {
                Some(Content::Text(known)) => known.push_str(&text),
                _ => response.content.push(Block::text(text)),
            }
        }
        ResponsePartContent::Call { id, name, args } => {
            let n = response.content.len();
            let id = id.unwrap_or_else(|| generated_call_id(&response.id, n));
            response.content.push(Block::tool_use(id, name, args));
        }
        ResponsePartContent::Whole(mut block) => {
            code_execution::add_id(&mut block.rest, &response.id, code_runs);
            response.content.push(block);
        }
        ResponsePartContent::Thought(_) | ResponsePartContent::Piece(_) => {}
    }
}

fn push_thought(text: String, response: &mut Response) {
    match response.content.last_mut().map(|block| &mut block.content) {
        Some(Content::Thinking {
            thinking,
            signature,
        }) if signature.is_empty() => thinking.push_str(&text),
        _ => response.content.push(Block::new(Content::Thinking {
            thinking: text,
            signature: String::new(),
        })),
    }
}

fn sign(found: Option<String>, response: &mut Response) {
    let Some(found) = found else {
        return;
    };
    let envelope = encode_gemini_signature(&found);
    match response.content.last_mut().map(|block| &mut block.content) {
        Some(Content::Thinking { signature, .. }) if signature.is_empty() => *signature = envelope,
        _ => response.content.push(Block::new(Content::Thinking {
            thinking: String::new(),
            signature: envelope,
        })),
    }
}
