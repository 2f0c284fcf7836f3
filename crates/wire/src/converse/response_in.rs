//! Reads a Converse response.

use serde_json::{Value, json};

use super::citations::{CITATIONS, CITATIONS_CONTENT, take_citations};
use super::server_tools;
use crate::Dialect;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::{JsonFields, as_whole_number};
use crate::json_path::JsonPath;
use crate::neutral::{
    ApiError, Block, Content, ErrorKind, MediaSource, PriceDetails, Response, ServiceTier,
    StopReason, TokenUsage,
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
    response.usage.set_tier(service_tier(&fields));
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
        let (id, name) = (call.string("toolUseId")?, call.string("name")?);
        let input = call.take("input").unwrap_or_else(|| json!({}));
        if server_tools::is_server_call(call.peek("type")) {
            server_tools::read_call(&id, name, input)
        } else {
            let name = context.names.original(name);
            Content::ToolUse { id, name, input }
        }
    } else if let Some(result) = fields.take("toolResult") {
        let path = path.key("toolResult");
        let mut result = JsonFields::from_value(result, &path)?;
        let kind = result.opt_string("type")?.unwrap_or_default();
        let content = result.opt_list("content")?.unwrap_or_default();
        server_tools::read_result(&result.string("toolUseId")?, &kind, &content)
    } else if let Some(thought) = fields.take("reasoningContent") {
        read_thought(thought, &path.key("reasoningContent"))?
    } else if let Some(cited) = fields.take(CITATIONS_CONTENT) {
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

/// Text with its sources. The text is the response; sources that are no citations in Anthropic's
/// form stay under their own name.
fn read_cited(mut cited: Value) -> Block {
    let texts = cited.get("content").and_then(Value::as_array);
    let texts = texts.into_iter().flatten();
    let text: String = texts
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    let mut block = Block::text(text);
    if let Some(map) = cited.as_object_mut() {
        map.shift_remove("content");
        let citations = take_citations(map);
        if !citations.is_empty() {
            block.rest.insert(CITATIONS.to_owned(), citations.into());
        }
        if !map.is_empty() {
            block.rest.insert(CITATIONS_CONTENT.to_owned(), cited);
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
        thinking: text.opt_string("text")?.unwrap_or_default(),
        signature: text.opt_string("signature")?.unwrap_or_default(),
    })
}

pub(super) fn read_usage(value: Value, path: &JsonPath<'_>) -> Result<TokenUsage, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let details = PriceDetails {
        cache_creation_1h_tokens: hour_tokens(fields.peek("cacheDetails")),
        ..PriceDetails::default()
    };
    let mut count = |key: &str| fields.opt_u64(key).map(Option::unwrap_or_default);
    Ok(TokenUsage {
        input_tokens: count("inputTokens")?,
        output_tokens: count("outputTokens")?,
        cache_read_input_tokens: count("cacheReadInputTokens")?,
        cache_creation_input_tokens: count("cacheWriteInputTokens")?,
        details: details.into_option(),
        ..TokenUsage::default()
    })
}

/// The tokens that stay in a cache for an hour, of a list by time.
fn hour_tokens(details: Option<&Value>) -> u64 {
    let details = details.and_then(Value::as_array).into_iter().flatten();
    let hours = details.filter(|one| one.get("ttl").and_then(Value::as_str) == Some("1h"));
    let tokens = hours.filter_map(|one| one.get("inputTokens").and_then(as_whole_number));
    tokens.fold(0, u64::saturating_add)
}

/// The service tier of a whole response, or of the last event of a stream.
pub(super) fn service_tier(fields: &JsonFields<'_>) -> Option<ServiceTier> {
    ServiceTier::from_word(fields.peek("serviceTier")?.get("type")?.as_str()?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_cache_writes_and_the_tier_are_read() {
        let response = |details: Value| {
            let body = json!({
                "output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
                "stopReason": "end_turn",
                "usage": {"inputTokens": 1, "outputTokens": 2, "cacheWriteInputTokens": 30,
                    "cacheDetails": details},
                "serviceTier": {"type": "flex"},
            });
            read_response(body, &ReadContext::default()).unwrap().usage
        };
        let usage = response(json!([{"ttl": "1h", "inputTokens": 20},
            {"ttl": "5m", "inputTokens": 10}]));
        assert_eq!(usage.cache_creation_input_tokens, 30);
        assert_eq!(usage.details.unwrap().cache_creation_1h_tokens, 20);
        for none in [
            json!(null),
            json!([{"ttl": "5m", "inputTokens": 30}]),
            json!(3),
        ] {
            let usage = response(none);
            assert_eq!(usage.tier(), Some(ServiceTier::Flex));
            assert_eq!(usage.details.unwrap().cache_creation_1h_tokens, 0);
        }
    }
}
