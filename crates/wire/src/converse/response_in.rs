//! A Converse answer, read.

use serde_json::{Value, json};

use crate::Dialect;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::{Fields, Path};
use crate::neutral::{ApiError, Block, Content, ErrorKind, Response, StopReason, Usage};

pub(crate) fn read_response(body: Value, context: &ReadContext) -> Result<Response, WireError> {
    let root = Path::Root;
    let mut fields = Fields::of(body, &root)?;
    let mut response = Response::new(Dialect::Converse, context.id.clone(), context.model.clone());
    let path = root.key("output");
    let mut output = Fields::of(fields.need("output")?, &path)?;
    let path = path.key("message");
    let mut message = Fields::of(output.need("message")?, &path)?;
    let path = path.key("content");
    for (i, block) in message.list("content")?.into_iter().enumerate() {
        let block = read_block(block, &path.index(i), context)?;
        response.content.push(block);
    }
    let reason = fields.opt_string("stopReason")?;
    let stop = stop_reason(reason.as_deref().unwrap_or("end_turn"));
    response.stop_reason = Some(stop.map_err(|error| WireError::Failed(Box::new(error)))?);
    if let Some(usage) = fields.take("usage") {
        response.usage = read_usage(usage, &root.key("usage"))?;
    }
    response.rest = fields.rest();
    Ok(response)
}

/// A block: an object of one key, which is its kind.
fn read_block(value: Value, path: &Path<'_>, context: &ReadContext) -> Result<Block, WireError> {
    let mut fields = Fields::of(value, path)?;
    let content = if let Some(text) = fields.opt_string("text")? {
        Content::Text(text)
    } else if let Some(call) = fields.take("toolUse") {
        let path = path.key("toolUse");
        let mut call = Fields::of(call, &path)?;
        Content::ToolUse {
            id: call.string("toolUseId")?,
            name: context.names.original(call.string("name")?),
            input: call.take("input").unwrap_or_else(|| json!({})),
        }
    } else if let Some(thought) = fields.take("reasoningContent") {
        read_thought(thought, &path.key("reasoningContent"))?
    } else {
        let rest = fields.rest();
        let kind = rest.keys().next().cloned().unwrap_or_default();
        return Ok(Block {
            content: Content::Other { kind },
            cache_control: None,
            rest,
        });
    };
    Ok(Block::new(content))
}

fn read_thought(value: Value, path: &Path<'_>) -> Result<Content, WireError> {
    let mut fields = Fields::of(value, path)?;
    if let Some(data) = fields.opt_string("redactedContent")? {
        return Ok(Content::RedactedThinking { data });
    }
    let path = path.key("reasoningText");
    let mut text = Fields::of(fields.need("reasoningText")?, &path)?;
    Ok(Content::Thinking {
        thinking: text.string("text")?,
        signature: text.opt_string("signature")?.unwrap_or_default(),
    })
}

pub(super) fn read_usage(value: Value, path: &Path<'_>) -> Result<Usage, WireError> {
    let mut fields = Fields::of(value, path)?;
    let mut count = |key: &str| fields.opt_u64(key).map(Option::unwrap_or_default);
    Ok(Usage {
        input_tokens: count("inputTokens")?,
        output_tokens: count("outputTokens")?,
        cache_read_input_tokens: count("cacheReadInputTokens")?,
        cache_creation_input_tokens: count("cacheWriteInputTokens")?,
        ..Usage::default()
    })
}

/// Why it stopped. Output that came out malformed is a failure that is worth another
/// try, not an answer.
pub(super) fn stop_reason(reason: &str) -> Result<StopReason, ApiError> {
    match reason {
        "guardrail_intervened" | "content_filtered" => Ok(StopReason::Refusal),
        "malformed_model_output" | "malformed_tool_use" => Err(ApiError {
            status: 502,
            code: Some(reason.to_owned()),
            ..ApiError::new(
                ErrorKind::Api,
                format!("the model's answer could not be used: {reason}"),
            )
        }),
        other => Ok(StopReason::from_anthropic(other.to_owned())),
    }
}
