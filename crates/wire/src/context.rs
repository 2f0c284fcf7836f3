//! What has to be remembered between a request and its response.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::call_ids::known_call_ids;
use crate::dropped::Dropped;
use crate::models::Capabilities;
use crate::neutral::{ClientTools, Map, Request, ToolKind};
use crate::tool_names::ToolNameMap;

/// What the target model or server can do, where servers of one dialect differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Messages and InvokeModel require a token limit; this is sent when the client set
    /// none.
    pub default_max_tokens: u64,
    /// Whether temperature, top_p and top_k may be sent. The newest Anthropic models
    /// refuse them.
    pub sampling: bool,
    /// Whether the model supports effort levels (`low`, `high`). If not, Messages and
    /// Gemini get a thinking budget instead.
    pub effort_levels: bool,
    /// Whether a system message is allowed in the middle of a Messages or Converse
    /// conversation, between the user and the model. Where it is not, it becomes tagged text
    /// of the user.
    pub system_in_place: bool,
    /// Whether Gemini is instructed to accept past calls without a thought signature.
    /// Gemini 3 refuses them otherwise; older models have no such check.
    pub unsigned_calls: bool,
    /// Whether a Chat server expects the old `max_tokens` field.
    pub legacy_max_tokens: bool,
    /// Which thoughts a Chat server gets back as text.
    pub reasoning_content: ReasoningContent,
    /// Whether a Chat server refuses past calls without `reasoning_content`, so that a
    /// blank one is sent where none is known.
    pub reasoning_required: bool,
    /// Whether a Chat server accepts `reasoning_details` from a client.
    pub reasoning_details: bool,
    /// Whether a Chat server accepts Gemini's signatures, in `extra_content` of calls.
    pub google_signatures: bool,
    /// Whether a Chat server accepts `thinking: {"type": "disabled"}`.
    pub thinking_switch: bool,
    /// Whether each model of a Chat server that can think does so by default, and all others
    /// refuse an effort.
    pub default_thinking: bool,
    /// Whether a Chat server checks messages by Mistral's rules: ids of calls have nine
    /// letters and digits, and after results only the model speaks.
    pub mistral_rules: bool,
    /// Whether a Chat server refuses requests with fields that Mistral does not have.
    pub mistral_fields: bool,
    /// Whether a Chat server refuses several messages of the user or the model in a row.
    pub alternating_roles: bool,
    /// Fields of a request that a Chat server refuses, although most servers accept them.
    pub refused_fields: &'static [&'static str],
    /// Whether a Chat server refuses functions of which only some are strict.
    pub uniform_strict: bool,
    /// Whether a Chat server accepts free-form tools. If not, they become functions of one
    /// text.
    pub custom_tools: bool,
    /// Whether a Chat server accepts fields that only OpenAI has, such as `store`.
    pub openai_fields: bool,
    /// Whether a Chat server accepts the schema of a response. If not, the model is
    /// instructed to follow it.
    pub response_schemas: bool,
    /// Whether an OpenAI server accepts `prompt_cache_breakpoint` marks.
    pub cache_breakpoints: bool,
    /// What is known of the model by its name.
    pub capabilities: Capabilities,
    /// A tag of the upstream server: state that a Chat server returned is sent back to no
    /// other.
    pub server: String,
}

/// Which thoughts a Chat server gets back as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningContent {
    /// Its own thoughts, under the field name it used, next to calls.
    #[default]
    WhereGiven,
    /// All, as `reasoning_content`.
    Always,
    /// None.
    Never,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            default_max_tokens: 8192,
            sampling: true,
            effort_levels: true,
            system_in_place: true,
            unsigned_calls: false,
            legacy_max_tokens: false,
            reasoning_content: ReasoningContent::default(),
            reasoning_required: false,
            reasoning_details: false,
            google_signatures: false,
            thinking_switch: false,
            default_thinking: false,
            mistral_rules: false,
            mistral_fields: false,
            alternating_roles: false,
            refused_fields: &[],
            uniform_strict: false,
            custom_tools: true,
            openai_fields: true,
            response_schemas: true,
            cache_breakpoints: false,
            capabilities: Capabilities::default(),
            server: String::new(),
        }
    }
}

/// A request in an upstream's dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedRequest {
    /// The body to send.
    pub body: Value,
    /// What the dialect does not support.
    pub dropped: Vec<Dropped>,
    /// What is needed to read the response.
    pub context: ReadContext,
}

/// What is needed to read an upstream's response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadContext {
    /// An id chosen by the caller, used when the upstream sends none, and to generate ids of
    /// tool calls without one. Must be unique per response.
    pub id: String,
    /// The requested model, used when the upstream names none.
    pub model: String,
    pub(crate) names: ToolNameMap,
    /// The tag of the upstream server.
    pub(crate) server: String,
    /// Stop sequences the upstream cannot look for itself.
    pub(crate) stop_sequences: Vec<String>,
    /// The ids of the conversation's calls, which no call of the response gets. `None` if the ids
    /// of the response stay as they are, as when the client gets its bytes unchanged.
    pub(crate) call_ids: Option<Arc<HashSet<String>>>,
}

impl ReadContext {
    pub(crate) fn for_request(request: &Request) -> Self {
        ReadContext {
            id: "msg_unnamed".to_owned(),
            model: request.model.clone(),
            names: ToolNameMap::from_request(request),
            server: String::new(),
            stop_sequences: Vec::new(),
            call_ids: Some(known_call_ids(&request.messages)),
        }
    }

    /// The same, with an id for the response.
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }
}

/// What is needed to write a response in a client's dialect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplyContext {
    /// The id sent to the client; the upstream's, with the dialect's prefix, when `None`.
    pub id: Option<String>,
    /// The model name sent to the client; the upstream's when `None`.
    pub model: Option<String>,
    /// When the response was created, in seconds of the Unix epoch.
    pub created: u64,
    /// When the response was complete; the time of creation when `None`.
    pub completed: Option<u64>,
    /// Whether a Chat stream ends with a chunk of usage.
    pub include_usage: bool,
    /// Whether the writer of a Responses stream retains the whole response, for
    /// [`StreamWriter::take_response`](crate::StreamWriter::take_response).
    pub keep_response: bool,
    /// The numbers of items of a Responses stream, in order, that are not part of its
    /// response: [`StreamWriter::abandoned_items`](crate::StreamWriter::abandoned_items).
    pub skipped_items: Vec<usize>,
    /// Whether a Gemini client is shown thoughts.
    pub show_thoughts: bool,
    /// Whether a Gemini stream is one JSON array, and no events.
    pub json_array: bool,
    /// Names of the tools whose argument is free text.
    pub(crate) freeform: Vec<String>,
    /// The tools that have more than a plain name in the client's dialect.
    pub(crate) client_tools: Arc<ClientTools>,
    /// The toolsets of a Messages client, whose members other vendors' models call by names that
    /// begin with the toolset's.
    pub(crate) toolsets: Vec<&'static str>,
    /// Whether a Chat client gets a call as `function_call`.
    pub(crate) function_calls: bool,
    /// Settings a Responses response repeats.
    pub(crate) echo: Map,
}

impl ReplyContext {
    /// Has a Responses response repeat a setting that is not in the request as the model
    /// was sent it.
    pub fn echo_setting(&mut self, key: &str, value: Value) {
        self.echo.insert(key.to_owned(), value);
    }

    /// The number by which the item at this place of a response is named, as in its stream.
    pub(crate) fn item_number(&self, place: usize) -> usize {
        let mut number = place;
        for skipped in &self.skipped_items {
            number += usize::from(*skipped <= number);
        }
        number
    }

    pub(crate) fn completed_at(&self) -> u64 {
        self.completed.unwrap_or(self.created).max(self.created)
    }

    /// The id for the client, with the dialect's prefix.
    pub(crate) fn id_for(&self, upstream: &str, prefix: &str) -> String {
        let id = self.id.as_deref().unwrap_or(upstream);
        if id.starts_with(prefix) {
            id.to_owned()
        } else {
            format!("{prefix}{id}")
        }
    }

    pub(crate) fn model_or<'a>(&'a self, upstream: &'a str) -> &'a str {
        self.model.as_deref().unwrap_or(upstream)
    }
}

pub(crate) fn freeform(request: &Request) -> Vec<String> {
    request
        .tools
        .iter()
        .filter(|tool| matches!(tool.kind, ToolKind::Freeform { .. }))
        .map(|tool| tool.name.clone())
        .collect()
}
