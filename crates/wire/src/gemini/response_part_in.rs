//! Reads Gemini's parts and counts: shared by whole responses and streams.

use serde_json::{Value, json};

use super::partial_calls::{CallPiece, PartialCall};
use super::price_details::price_details;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::JsonFields;
use crate::json_path::JsonPath;
use crate::neutral::{
    ApiError, Block, Content, DIALECT_FIELDS, ErrorKind, Map, MediaSource, StopReason, TokenUsage,
};

/// The content of a part, and its signature.
pub(super) struct ResponsePart {
    pub(super) signature: Option<String>,
    pub(super) content: ResponsePartContent,
}

pub(super) enum ResponsePartContent {
    Text(String),
    Thought(String),
    Call {
        id: Option<String>,
        name: String,
        args: Value,
    },
    /// A piece of a call whose arguments come one by one.
    Piece(CallPiece),
    Whole(Block),
}

pub(super) fn read_part(
    value: Value,
    path: &JsonPath<'_>,
    context: &ReadContext,
) -> Result<ResponsePart, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let signature = fields.opt_string("thoughtSignature")?;
    let thought = fields.opt_bool("thought")?.unwrap_or(false);
    let content = if let Some(text) = fields.opt_string("text")? {
        if thought {
            ResponsePartContent::Thought(text)
        } else {
            ResponsePartContent::Text(text)
        }
    } else if let Some(call) = fields.take("functionCall") {
        read_call(call, &path.key("functionCall"), context)?
    } else if let Some(data) = fields.take("inlineData") {
        let path = path.key("inlineData");
        let mut data = JsonFields::from_value(data, &path)?;
        ResponsePartContent::Whole(Block::new(generated_media(
            data.string("mimeType")?,
            data.string("data")?,
        )))
    } else {
        // `executableCode` and the like: retained under their own name.
        other_part(fields.rest())
    };
    Ok(ResponsePart { signature, content })
}

/// An image, or other generated media, such as a recording.
fn generated_media(media_type: String, data: String) -> Content {
    let picture = media_type.starts_with("image/");
    let source = MediaSource::Base64 { media_type, data };
    if picture {
        Content::Image(source)
    } else {
        Content::Document {
            source,
            title: None,
        }
    }
}

fn read_call(
    value: Value,
    path: &JsonPath<'_>,
    context: &ReadContext,
) -> Result<ResponsePartContent, WireError> {
    let mut call = JsonFields::from_value(value, path)?;
    let id = call.opt_string("id")?.filter(|id| !id.is_empty());
    let name = call.opt_string("name")?;
    let name = name.map(|name| context.names.original(name));
    let args = call.take("args").unwrap_or_else(|| json!({}));
    let places = call.opt_list("partialArgs")?.unwrap_or_default();
    let goes_on = call.opt_bool("willContinue")?.unwrap_or(false);
    Ok(match name {
        Some(name) if !goes_on && places.is_empty() => ResponsePartContent::Call { id, name, args },
        name => ResponsePartContent::Piece(CallPiece {
            begins: name.map(|name| PartialCall::new(id, name, args)),
            places,
        }),
    })
}

fn other_part(rest: Map) -> ResponsePartContent {
    match rest.keys().next() {
        Some(kind) => {
            let content = Content::Other { kind: kind.clone() };
            ResponsePartContent::Whole(Block {
                rest,
                ..Block::new(content)
            })
        }
        None => ResponsePartContent::Text(String::new()),
    }
}

pub(super) fn read_usage(value: Value, path: &JsonPath<'_>) -> Result<TokenUsage, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let details = price_details(|key| fields.peek(key)).into_option();
    let mut count = |key: &str| fields.opt_u64(key).map(Option::unwrap_or_default);
    let cached = count("cachedContentTokenCount")?;
    let thinking_tokens = count("thoughtsTokenCount")?;
    let of_tools = count(OF_TOOLS)?;
    let prompt = count("promptTokenCount")?.saturating_add(of_tools);
    let output = count("candidatesTokenCount")?;
    Ok(TokenUsage {
        input_tokens: prompt.saturating_sub(cached),
        output_tokens: output.saturating_add(thinking_tokens),
        cache_read_input_tokens: cached,
        thinking_tokens,
        details,
        rest: own_counts(fields, of_tools),
        ..TokenUsage::default()
    })
}

/// What Gemini's counts of this dialect alone are retained under.
pub(super) const OWN_COUNTS: &str = "gemini";

/// The part of the input that Google's own tools added. Here it is counted apart.
pub(super) const OF_TOOLS: &str = "toolUsePromptTokenCount";

/// Counts that only this dialect has, such as those of each modality, for its clients.
fn own_counts(fields: JsonFields<'_>, of_tools: u64) -> Map {
    let mut own = fields.rest();
    own.shift_remove("totalTokenCount");
    own.retain(|_, value| !value.is_null());
    if of_tools > 0 {
        own.insert(OF_TOOLS.to_owned(), of_tools.into());
    }
    if own.is_empty() {
        return Map::new();
    }
    Map::from_iter([(DIALECT_FIELDS.to_owned(), json!({OWN_COUNTS: own}))])
}

/// What there is of a response when it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputState {
    Empty,
    Content,
    Calls,
}

/// The stop reason. A malformed call is a failure that is worth a retry, not a response.
/// For an unknown reason the content decides: calls must be reported as such or the client
/// would not run them, and an empty response means that something stopped the model.
pub(super) fn stop_reason(reason: &str, answered: OutputState) -> Result<StopReason, ApiError> {
    match reason {
        "STOP" | "FINISH_REASON_UNSPECIFIED" if answered != OutputState::Calls => {
            Ok(StopReason::EndTurn)
        }
        "MAX_TOKENS" => Ok(StopReason::MaxTokens),
        // A limit of the server's: there would be more.
        "CONTINUATION" if answered != OutputState::Calls => Ok(StopReason::MaxTokens),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "ESCALATION"
        | "PUP_LIMITED_DISABLED" => Ok(StopReason::Refusal),
        image if image.starts_with("IMAGE_") => Ok(StopReason::Refusal),
        "MALFORMED_FUNCTION_CALL"
        | "MALFORMED_RESPONSE"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS" => Err(unusable(502, ErrorKind::Api, reason)),
        // The conversation is at fault: the same again would end the same.
        "MISSING_THOUGHT_SIGNATURE" => Err(unusable(400, ErrorKind::InvalidRequest, reason)),
        _ => Ok(match answered {
            OutputState::Calls => StopReason::ToolUse,
            OutputState::Content => StopReason::EndTurn,
            OutputState::Empty => StopReason::Refusal,
        }),
    }
}

fn unusable(status: u16, kind: ErrorKind, reason: &str) -> ApiError {
    ApiError {
        status,
        code: Some(reason.to_lowercase()),
        ..ApiError::new(
            kind,
            format!("the model's output could not be used: {reason}"),
        )
    }
}

/// The reason why a prompt was blocked.
pub(super) fn block_reason(feedback: Option<&Value>) -> Option<String> {
    Some(feedback?.get("blockReason")?.as_str()?.to_owned())
}
