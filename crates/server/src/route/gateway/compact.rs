//! `POST /v1/responses/compact` for models whose provider has no such endpoint: the model
//! writes a summary, which replaces the conversation.
//!
//! The conversation is sent to the model as one text: any model can summarise it whatever it
//! contains, and no tool call in it waits for a result.

use prowess_provider::{CallError, ClientCredentials, ClientRequest, ModelOutput, Route};
use prowess_wire::neutral::{ApiError, Block, ErrorKind, Message, Request, Response};
use prowess_wire::{ClientDialect, Dialect, ReplyContext, WireError, write_response};
use serde_json::{Value, json};

use super::clock::unix_now;
use super::conversation::compaction::encode_summary;
use super::conversation::items;
use super::error::GatewayError;
use super::model_text::{INSTRUCTIONS_LABEL, SUMMARY_INSTRUCTIONS};
use super::transcript;
use crate::meter::Meter;

/// Maximum tokens of a summary.
const MAX_SUMMARY_TOKENS: u64 = 8_192;
/// Bytes of the user's latest messages that are kept besides the summary.
const MAX_USER_MESSAGE_BYTES: usize = 64 << 10;

/// Compacts the input of a request.
pub(super) async fn compact(
    incoming: &ClientRequest<'_>,
    route: &Route,
    credentials: &ClientCredentials,
    meter: &mut Meter,
) -> Result<Value, GatewayError> {
    let history = items::parse_input(incoming.raw.get("input"))?;
    if history.is_empty() {
        let field = "input".to_owned();
        return Err(WireError::Missing { field }.into());
    }
    let mut request = summary_request(incoming, &history);
    let limits = route.targets().iter();
    let limits = limits.filter_map(|target| target.known_model()?.output);
    // No model is asked for more than it can write.
    request.max_tokens = limits.chain([MAX_SUMMARY_TOKENS]).min();
    let reply = route.call(&request, credentials).await?;
    meter.set_target(&reply.provider, &reply.model, reply.price.as_ref());
    let ModelOutput::Response(whole) = reply.output else {
        return Err(no_summary_error(reply.provider));
    };
    meter.record_usage(&whole.usage);
    meter.record_end(200);
    let summary = response_text(&whole);
    if summary.trim().is_empty() {
        return Err(no_summary_error(reply.provider));
    }
    let mut output = recent_user_messages(history);
    output.push(json!({
        "id": items::new_id("cmp"),
        "type": "compaction",
        "encrypted_content": encode_summary(&summary),
    }));
    let (written, _) = write_response(ClientDialect::Responses, &whole, &ReplyContext::default());
    Ok(json!({
        "id": items::new_id("resp"),
        "object": "response.compaction",
        "created_at": unix_now(),
        "output": output,
        "usage": written.get("usage"),
    }))
}

fn summary_request(incoming: &ClientRequest<'_>, history: &[Value]) -> Request {
    let raw = incoming.raw;
    let model = raw.get_str("model").unwrap_or_default();
    let mut request = Request::new(Dialect::Responses, model);
    request.system.push(Block::text(SUMMARY_INSTRUCTIONS));
    let mut text = String::new();
    if let Some(instructions) = raw.get_str("instructions") {
        text = format!("[{INSTRUCTIONS_LABEL}]\n{instructions}\n\n");
    }
    text.push_str(&transcript::render(history));
    request.messages.push(Message::user(text));
    request
}

fn no_summary_error(provider: String) -> GatewayError {
    let error = ApiError {
        code: Some("upstream-no-summary".to_owned()),
        ..ApiError::new(ErrorKind::Api, "the model returned no summary; try again")
    };
    GatewayError::from(CallError::Upstream {
        provider,
        error: Box::new(error),
        retry_after: None,
        should_retry: None,
    })
}

fn response_text(response: &Response) -> String {
    let texts = response.content.iter().filter_map(Block::as_text);
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The user's latest messages, up to the limit.
fn recent_user_messages(history: Vec<Value>) -> Vec<Value> {
    let mut remaining = MAX_USER_MESSAGE_BYTES;
    let mut kept = Vec::new();
    for item in history.into_iter().rev() {
        let field = |key: &str| item.get(key).and_then(Value::as_str);
        if field("type") != Some("message") || field("role") != Some("user") {
            continue;
        }
        let Some(left) = remaining.checked_sub(item.to_string().len()) else {
            break;
        };
        remaining = left;
        kept.push(items::complete(item));
    }
    kept.reverse();
    kept
}
