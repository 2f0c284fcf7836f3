//! A Messages stream, read: from server-sent events, or from the JSON events inside
//! Bedrock's frames.

use serde_json::Value;

use super::block_in::read_block;
use super::error::read_error_value;
use super::response_in::original_name;
use super::usage::{read_usage, update_usage};
use crate::Dialect;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::{JsonFields, parse};
use crate::json_path::JsonPath;
use crate::neutral::{
    ApiError, Content, Delta, Map, ResponseDialectFields, StopReason, StreamEvent, TokenUsage,
};

/// Reads the events of one Messages stream. Compatible servers number their blocks in
/// many ways; they are numbered anew here.
#[derive(Debug)]
pub(crate) struct MessagesReader {
    context: ReadContext,
    usage: TokenUsage,
    started: bool,
    ended: bool,
    /// The upstream's number of the open block.
    open: Option<u64>,
    /// Whether the open block is whole, so that text for it only describes it.
    whole: bool,
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
            whole: false,
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
                if self.open != Some(index(&mut fields)?) {
                    if !is_negligible(&delta) {
                        self.fail("a delta for a block that is not open", out);
                    }
                } else if !(self.whole && matches!(delta, Delta::Text(_))) {
                    out.push(StreamEvent::BlockDelta {
                        index: self.blocks.saturating_sub(1),
                        delta,
                    });
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
        self.whole = matches!(block.content, Content::Image(_) | Content::Document { .. });
        out.push(StreamEvent::BlockStart {
            index: self.blocks,
            block,
        });
        self.blocks += 1;
        Ok(())
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        if self.open.take().is_some() {
            out.push(StreamEvent::BlockStop {
                index: self.blocks.saturating_sub(1),
            });
        }
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
            usage: self.usage.clone(),
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
            usage: self.usage.clone(),
            rest: own.write(Dialect::Messages),
        })
    }
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
