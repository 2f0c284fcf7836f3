//! Writes the parts of a response for a client: shared by whole responses and streams.

use serde_json::{Value, json};

use super::code_execution;
use super::response_part_in::{OF_TOOLS, OWN_COUNTS};
use super::signature::encode_thoughts;
use crate::Dialect;
use crate::arguments;
use crate::drops::Drops;
use crate::fields::put;
use crate::json_path::JsonPath;
use crate::neutral::{
    Block, Content, DIALECT_FIELDS, Map, MediaSource, StopReason, TokenUsage,
    without_dialect_fields,
};

pub(super) const NO_SUCH_PART: &str = "not supported by Gemini";

/// Gives each part the signature of the thoughts before it.
#[derive(Debug, Default)]
pub(super) struct PartSigner {
    /// Thoughts that no part carries yet.
    thoughts: Vec<Block>,
}

impl PartSigner {
    /// A whole thought.
    pub(super) fn thought(&mut self, block: Block) {
        self.thoughts.push(block);
    }

    /// A part that is no thought. Unsigned thoughts are useful only with a call: some models
    /// require the reasoning that led to it.
    pub(super) fn sign_part(&mut self, mut part: Value) -> Value {
        let is_call = part.get("functionCall").is_some();
        if (is_call || self.is_signed())
            && let Some(map) = part.as_object_mut()
        {
            let thoughts = std::mem::take(&mut self.thoughts);
            put(map, "thoughtSignature", encode_thoughts(&thoughts));
        }
        part
    }

    /// The part that carries a signature which no other part does.
    pub(super) fn trailing_part(&mut self) -> Option<Value> {
        self.is_signed().then(|| self.sign_part(text("")))
    }

    fn is_signed(&self) -> bool {
        self.thoughts.iter().any(|block| match &block.content {
            Content::Thinking { signature, .. } => !signature.is_empty(),
            _ => true,
        })
    }
}

pub(super) fn text(text: &str) -> Value {
    json!({"text": text})
}

/// A thought as it is shown.
pub(super) fn thought(text: &str) -> Value {
    json!({"text": text, "thought": true})
}

pub(super) fn call(
    id: &str,
    name: &str,
    input: &Value,
    path: &JsonPath<'_>,
    drops: &mut Drops,
) -> Value {
    let args = arguments::to_object(input, path, drops);
    json!({"functionCall": {"id": id, "name": name, "args": args}})
}

/// The parts of a block that is whole from the start.
pub(super) fn whole(
    block: &Block,
    origin: Option<Dialect>,
    path: &JsonPath<'_>,
    drops: &mut Drops,
) -> Vec<Value> {
    match &block.content {
        Content::ServerToolUse { id, name, input } if code_execution::is_code(name) => {
            vec![code_execution::write_call(id, name, input)]
        }
        Content::ServerToolResult {
            kind,
            tool_use_id,
            content,
        } if code_execution::is_result(kind) => code_execution::write_result(tool_use_id, content),
        Content::Image(source) | Content::Document { source, .. } => match media(source) {
            Some(part) => vec![part],
            None => drop_unsupported(path, drops),
        },
        // A part of Gemini's own that only its clients understand.
        Content::Other { kind } if is_own(kind, &block.rest, origin) => {
            let part = without_dialect_fields(&block.rest);
            vec![code_execution::without_added_id(part)]
        }
        _ => drop_unsupported(path, drops),
    }
}

fn is_own(kind: &str, rest: &Map, origin: Option<Dialect>) -> bool {
    origin.is_none_or(|origin| origin == Dialect::Gemini) && rest.contains_key(kind)
}

fn drop_unsupported(path: &JsonPath<'_>, drops: &mut Drops) -> Vec<Value> {
    drops.add(path, NO_SUCH_PART);
    Vec::new()
}

fn media(source: &MediaSource) -> Option<Value> {
    Some(match source {
        MediaSource::Base64 { media_type, data } => {
            json!({"inlineData": {"mimeType": media_type, "data": data}})
        }
        MediaSource::Url(url) => json!({"fileData": {"fileUri": url}}),
        MediaSource::Text { data, .. } => text(data),
        _ => return None,
    })
}

/// Calls end with STOP here, like all complete responses.
pub(super) fn finish_reason(reason: Option<&StopReason>) -> &str {
    match reason {
        Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::PauseTurn) => {
            "MAX_TOKENS"
        }
        Some(StopReason::Refusal) => "SAFETY",
        // Gemini's own values, which no other dialect has.
        Some(StopReason::Other(word)) if is_word(word) => word,
        _ => "STOP",
    }
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
}

/// Why a refusal was one.
pub(super) fn finish_message(details: Option<&Value>) -> Option<String> {
    let explanation = details?.get("explanation")?.as_str()?;
    Some(explanation.to_owned())
}

/// Cached input is part of the input here; thoughts are not part of the output, nor what Google's
/// tools added of the prompt.
pub(crate) fn write_usage(usage: &TokenUsage) -> Value {
    let own = usage.rest.get(DIALECT_FIELDS);
    let own = own.and_then(|own| own.get(OWN_COUNTS)?.as_object());
    let of_tools = own.and_then(|own| own.get(OF_TOOLS)?.as_u64());
    let input = usage.total_input();
    let prompt = input.saturating_sub(of_tools.unwrap_or(0));
    let output_tokens = usage.output_tokens.saturating_sub(usage.thinking_tokens);
    let mut map = Map::new();
    put(&mut map, "promptTokenCount", Some(prompt));
    put(&mut map, "candidatesTokenCount", Some(output_tokens));
    let total = input.saturating_add(usage.output_tokens);
    put(&mut map, "totalTokenCount", Some(total));
    for (key, count) in [
        ("cachedContentTokenCount", usage.cache_read_input_tokens),
        ("thoughtsTokenCount", usage.thinking_tokens),
    ] {
        put(&mut map, key, Some(count).filter(|count| *count > 0));
    }
    map.extend(own.cloned().unwrap_or_default());
    Value::Object(map)
}
