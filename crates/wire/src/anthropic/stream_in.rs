//! A Messages stream, read: from server-sent events, or from the JSON events inside
//! Bedrock's frames.

use serde_json::Value;

use super::block_in::read_block;
use super::error::read_error_value;
use super::response_in::original_name;
use super::usage::{read_usage, update_usage, with_compactions};
use crate::Dialect;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::{JsonFields, parse};
use crate::json_path::JsonPath;
use crate::neutral::{
    ApiError, Block, Content, Delta, Map, ResponseDialectFields, StopReason, StreamEvent,
    TokenUsage,
};

/// Reads the events of one Messages stream. Compatible servers number their blocks in
/// many ways; they are numbered anew here.
#[derive(Debug)]
pub(crate) struct MessagesReader {
    context: ReadContext,
    /// As the server counts.
    usage: TokenUsage,
    started: bool,
    ended: bool,
    /// The upstream's number of the open block.
    open: Option<u64>,
    growth: BlockGrowth,
    /// The input that the open call began with, until there is more of it.
    input: Option<Value>,
    blocks: usize,
}

impl MessagesReader {
    pub(crate) fn new(context: ReadContext) -> Self {
        MessagesReader {
            context,
            usage: TokenUsage::default(),
            started: false,
            ended: false,
            open: None,
            growth: BlockGrowth::Any,
            input: None,
            blocks: 0,
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Takes one event's JSON.
    pub(crate) fn read_event(
        &mut self,
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let root = JsonPath::Root;
        let mut fields = JsonFields::from_value(parse(data)?, &root)?;
        let kind = fields.string("type")?;
        match kind.as_str() {
            "message_start" if !self.started => {
                self.started = true;
                out.push(self.start(fields.require("message")?)?);
            }
            "ping" => out.push(StreamEvent::Ping),
            "error" => {
                self.ended = true;
                let error = read_error_value(None, Value::Object(fields.rest()));
                out.push(StreamEvent::Error(error));
            }
            _ if !self.started => self.fail("an event before message_start", out),
            "content_block_start" => self.block_start(&mut fields, out)?,
            "content_block_delta" => {
                let delta = read_delta(fields.require("delta")?)?;
                if self.open == Some(index(&mut fields)?) {
                    self.block_delta(delta, out);
                } else if !is_negligible(&delta) {
                    self.fail("a delta for a block that is not open", out);
                }
            }
            "content_block_stop" => {
                // Some servers, such as llama.cpp, end all blocks after the last one; a block
                // has ended when the next began.
                let ended = fields.opt_u64("index")?;
                if ended.is_none() || ended == self.open {
                    self.close(out);
                }
            }
            "message_delta" => {
                self.close(out);
                out.push(self.delta(fields)?);
            }
            "message_stop" => {
                self.close(out);
                self.ended = true;
                out.push(StreamEvent::MessageStop);
            }
            "message_start" => self.fail("a second message_start", out),
            _ => out.push(StreamEvent::Other {
                name: kind,
                data: fields.rest(),
            }),
        }
        Ok(())
    }

    fn block_start(
        &mut self,
        fields: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let value = with_empty_input(fields.require("content_block")?);
        let mut block = read_block(value, &JsonPath::Root.key("content_block"))?;
        original_name(&mut block, &self.context);
        self.close(out);
        self.open = Some(index(fields)?);
        self.growth = BlockGrowth::from_content(&block.content);
        let first_delta = self.take_content(&mut block);
        self.push_start(block, out);
        if let Some(delta) = first_delta {
            self.push_delta(delta, out);
        }
        Ok(())
    }

    /// What a block begins with: some servers, such as LiteLLM, put the first delta there. The
    /// input of a call may be repeated by the deltas that follow.
    fn take_content(&mut self, block: &mut Block) -> Option<Delta> {
        match &mut block.content {
            Content::Text(text) if !text.is_empty() => Some(Delta::Text(std::mem::take(text))),
            Content::Thinking { thinking, .. } if !thinking.is_empty() => {
                Some(Delta::Thinking(std::mem::take(thinking)))
            }
            Content::ToolUse { input, .. } | Content::ServerToolUse { input, .. }
                if input.as_object().is_some_and(|input| !input.is_empty()) =>
            {
                self.input = Some(std::mem::replace(input, Value::Object(Map::new())));
                None
            }
            _ => None,
        }
    }

    /// More of the open block. Some servers, such as SGLang between two calls, name it for text
    /// or thoughts that belong to no block.
    fn block_delta(&mut self, delta: Delta, out: &mut Vec<StreamEvent>) {
        let (growth, text, block) = match &delta {
            Delta::Text(text) => (BlockGrowth::Text, text, Block::text("")),
            Delta::Thinking(text) => (BlockGrowth::Thought, text, empty_thought()),
            Delta::InputJson(json) if !json.is_empty() => {
                self.input = None;
                if matches!(self.growth, BlockGrowth::Text | BlockGrowth::Thought) {
                    return self.fail("arguments for a block that is no call", out);
                }
                return self.push_delta(delta, out);
            }
            Delta::Signature(_)
                if matches!(self.growth, BlockGrowth::Text | BlockGrowth::Input) =>
            {
                return;
            }
            _ => return self.push_delta(delta, out),
        };
        match self.growth {
            // It only describes the block.
            BlockGrowth::Whole if growth == BlockGrowth::Text => {}
            BlockGrowth::Any => self.push_delta(delta, out),
            own if own == growth => self.push_delta(delta, out),
            _ if text.trim().is_empty() => {}
            _ => {
                let number = self.open;
                self.close(out);
                self.open = number;
                self.growth = growth;
                self.push_start(block, out);
                self.push_delta(delta, out);
            }
        }
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(input) = self.input.take() {
            self.push_delta(Delta::InputJson(input.to_string()), out);
        }
        if self.open.take().is_some() {
            out.push(StreamEvent::BlockStop {
                index: self.blocks.saturating_sub(1),
            });
        }
    }

    fn push_start(&mut self, block: Block, out: &mut Vec<StreamEvent>) {
        let index = self.blocks;
        out.push(StreamEvent::BlockStart { index, block });
        self.blocks += 1;
    }

    fn push_delta(&self, delta: Delta, out: &mut Vec<StreamEvent>) {
        let index = self.blocks.saturating_sub(1);
        out.push(StreamEvent::BlockDelta { index, delta });
    }

    fn fail(&mut self, why: &str, out: &mut Vec<StreamEvent>) {
        self.ended = true;
        out.push(StreamEvent::Error(ApiError::invalid_stream(why)));
    }

    fn start(&mut self, message: Value) -> Result<StreamEvent, WireError> {
        let path = &JsonPath::Root.key("message");
        let mut fields = JsonFields::from_value(message, path)?;
        if let Some(usage) = fields.take("usage") {
            self.usage = read_usage(usage, &path.key("usage"))?;
        }
        let id = fields.opt_string("id")?;
        let model = fields.opt_string("model")?;
        for written_anew in ["type", "role", "content", "stop_reason", "stop_sequence"] {
            fields.take(written_anew);
        }
        Ok(StreamEvent::MessageStart {
            id: id.unwrap_or_else(|| self.context.id.clone()),
            model: model.unwrap_or_else(|| self.context.model.clone()),
            usage: with_compactions(&self.usage),
            rest: fields.rest(),
        })
    }

    fn delta(&mut self, mut fields: JsonFields<'_>) -> Result<StreamEvent, WireError> {
        if let Some(usage) = fields.take("usage") {
            update_usage(&mut self.usage, usage, &JsonPath::Root.key("usage"))?;
        }
        let path = &JsonPath::Root.key("delta");
        let mut delta = JsonFields::from_value(fields.require("delta")?, path)?;
        let mut own = ResponseDialectFields {
            body: fields.rest(),
            ..ResponseDialectFields::default()
        };
        own.body.retain(|_, value| !value.is_null());
        Ok(StreamEvent::MessageDelta {
            stop_reason: delta
                .opt_string("stop_reason")?
                .map(StopReason::from_anthropic),
            stop_sequence: delta.opt_string("stop_sequence")?,
            stop_details: delta.take("stop_details"),
            container: delta.take("container"),
            usage: with_compactions(&self.usage),
            rest: own.write(Dialect::Messages),
        })
    }
}

/// What a block grows by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockGrowth {
    Text,
    Thought,
    Input,
    /// Nothing: it is whole from the start.
    Whole,
    /// Whatever its deltas are.
    Any,
}

impl BlockGrowth {
    fn from_content(content: &Content) -> Self {
        match content {
            Content::Text(_) => BlockGrowth::Text,
            Content::Thinking { .. } => BlockGrowth::Thought,
            Content::ToolUse { .. } | Content::ServerToolUse { .. } => BlockGrowth::Input,
            Content::Image(_) | Content::Document { .. } => BlockGrowth::Whole,
            _ => BlockGrowth::Any,
        }
    }
}

fn empty_thought() -> Block {
    Block::new(Content::Thinking {
        thinking: String::new(),
        signature: String::new(),
    })
}

fn index(fields: &mut JsonFields<'_>) -> Result<u64, WireError> {
    fields.opt_u64("index")?.ok_or_else(|| WireError::Missing {
        field: "index".to_owned(),
    })
}

/// Some servers send a tool's input as `null` or a string first, or not at all; it always grows
/// from an empty object.
fn with_empty_input(mut block: Value) -> Value {
    let kind = block.get("type").and_then(Value::as_str);
    if matches!(kind, Some("tool_use" | "server_tool_use"))
        && !block.get("input").is_some_and(Value::is_object)
        && let Some(fields) = block.as_object_mut()
    {
        fields.insert("input".to_owned(), Value::Object(Map::new()));
    }
    block
}

/// Whether a delta of a block that has ended can be left out: one without content, or the
/// signature of a thought that has been passed on without it.
fn is_negligible(delta: &Delta) -> bool {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::InputJson(text) => text.is_empty(),
        Delta::Signature(_) => true,
        Delta::Other(_) | Delta::Rest(_) => false,
    }
}

fn read_delta(value: Value) -> Result<Delta, WireError> {
    let path = &JsonPath::Root.key("delta");
    let mut fields = JsonFields::from_value(value, path)?;
    let kind = fields.string("type")?;
    Ok(match kind.as_str() {
        "text_delta" => Delta::Text(fields.string("text")?),
        "input_json_delta" => Delta::InputJson(fields.string("partial_json")?),
        "thinking_delta" => Delta::Thinking(fields.string("thinking")?),
        "signature_delta" => Delta::Signature(fields.string("signature")?),
        _ => {
            let mut map = fields.rest();
            map.insert("type".to_owned(), kind.into());
            Delta::Other(map)
        }
    })
}
