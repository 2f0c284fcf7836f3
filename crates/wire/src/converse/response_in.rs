//! Reads a Converse response.

use serde_json::{Value, json};

use crate::Dialect;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::JsonFields;
use crate::json_path::JsonPath;
use crate::neutral::{
    ApiError, Block, Content, ErrorKind, MediaSource, Response, StopReason, TokenUsage,
};

pub(crate) fn read_response(body: Value, context: &ReadContext) -> Result<Response, WireError> {
    let root = JsonPath::Root;
    let mut fields = JsonFields::from_value(body, &root)?;
    let mut response = Response::new(Dialect::Converse, context.id.clone(), context.model.clone());
    let output_path = root.key("output");
    let mut output = JsonFields::from_value(fields.require("output")?, &output_path)?;
    let message_path = output_path.key("message");
    let mut message = JsonFields::from_value(output.require("message")?, &message_path)?;
    let path = message_path.key("content");
    for (i, block) in message.list("content")?.into_iter().enumerate() {
        let block = read_block(block, &path.index(i), context)?;
        response.content.push(block);
    }
    let reason = fields.opt_string("stopReason")?;
    let stop = stop_reason(reason.as_deref().unwrap_or("end_turn"));
    response.stop_reason = Some(stop.map_err(|error| WireError::UpstreamFailed(Box::new(error)))?);
    if let Some(usage) = fields.take("usage") {
        response.usage = read_usage(usage, &root.key("usage"))?;
    }
    response.rest = fields.rest();
    Ok(response)
}

/// A block: an object of one key, which is its kind.
fn read_block(
    value: Value,
    path: &JsonPath<'_>,
    context: &ReadContext,
) -> Result<Block, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let content = if let Some(text) = fields.opt_string("text")? {
        Content::Text(text)
    } else if let Some(call) = fields.take("toolUse") {
        let path = path.key("toolUse");
        let mut call = JsonFields::from_value(call, &path)?;
        Content::ToolUse {
            id: call.string("toolUseId")?,
            name: context.names.original(call.string("name")?),
            input: call.take("input").unwrap_or_else(|| json!({})),
        }
    } else if let Some(thought) = fields.take("reasoningContent") {
        read_thought(thought, &path.key("reasoningContent"))?
    } else if let Some(cited) = fields.take("citationsContent") {
        return Ok(read_cited(cited));
    } else if let Some(picture) = fields.peek("image").and_then(read_image) {
        picture
    } else {
        let rest = fields.rest();
        let kind = rest.keys().next().cloned().unwrap_or_default();
        return Ok(Block {
            rest,
            ..Block::new(Content::Other { kind })
        });
    };
    Ok(Block::new(content))
}

/// Text with its sources. The text is the response; the sources are of another kind than
/// Anthropic's citations, and stay under their own name.
fn read_cited(mut cited: Value) -> Block {
    let texts = cited.get("content").and_then(Value::as_array);
    let texts = texts.into_iter().flatten();
    let text: String = texts
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    let mut block = Block::text(text);
    if let Some(map) = cited.as_object_mut() {
        map.shift_remove("content");
        if !map.is_empty() {
            block.rest.insert("citationsContent".to_owned(), cited);
        }
    }
    block
}

fn read_image(image: &Value) -> Option<Content> {
    let format = image.get("format")?.as_str()?;
    let data = image.get("source")?.get("bytes")?.as_str()?;
    Some(image_content(format, data.to_owned()))
}

pub(super) fn image_content(format: &str, data: String) -> Content {
    let media_type = format!("image/{format}");
    Content::Image(MediaSource::Base64 { media_type, data })
}

fn read_thought(value: Value, path: &JsonPath<'_>) -> Result<Content, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    if let Some(data) = fields.opt_string("redactedContent")? {
        return Ok(Content::RedactedThinking { data });
    }
    let path = path.key("reasoningText");
    let mut text = JsonFields::from_value(fields.require("reasoningText")?, &path)?;
    Ok(Content::Thinking {
        thinking: text.string("text")?,
        signature: text.opt_string("signature")?.unwrap_or_default(),
    })
}

pub(super) fn read_usage(value: Value, path: &JsonPath<'_>) -> Result<TokenUsage, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let mut count = |key: &str| fields.opt_u64(key).map(Option::unwrap_or_default);
    Ok(TokenUsage {
        input_tokens: count("inputTokens")?,
        output_tokens: count("outputTokens")?,
        cache_read_input_tokens: count("cacheReadInputTokens")?,
        cache_creation_input_tokens: count("cacheWriteInputTokens")?,
        ..TokenUsage::default()
    })
}

/// The stop reason. Malformed output is a failure that is worth a retry, not a
/// response.
pub(super) fn stop_reason(reason: &str) -> Result<StopReason, ApiError> {
    match reason {
        "guardrail_intervened" | "content_filtered" => Ok(StopReason::Refusal),
        "malformed_model_output" | "malformed_tool_use" => Err(ApiError {
            status: 502,
            code: Some(reason.to_owned()),
            ..ApiError::new(
                ErrorKind::Api,
                format!("the model's output could not be used: {reason}"),
            )
        }),
        other => Ok(match StopReason::from_anthropic(other.to_owned()) {
            // A value that no client dialect has.
            StopReason::Other(_) => StopReason::EndTurn,
            known => known,
        }),
    }
}
