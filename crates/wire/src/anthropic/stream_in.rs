//! A Messages stream, read: from server-sent events, or from the JSON events inside
//! Bedrock's frames.

use serde_json::Value;

use super::block_in::read_block;
use super::error::read_error_value;
use super::response_in::original_name;
use super::usage::read_usage;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::{Fields, Path, parse};
use crate::neutral::{Block, Content, Delta, StopReason, StreamEvent, Usage};

/// Reads the events of one Messages stream.
#[derive(Debug)]
pub(crate) struct MessagesReader {
    context: ReadContext,
    usage: Usage,
    ended: bool,
}

impl MessagesReader {
    pub(crate) fn new(context: ReadContext) -> Self {
        MessagesReader {
            context,
            usage: Usage::default(),
            ended: false,
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Takes one event's JSON.
    pub(crate) fn event(
        &mut self,
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let root = Path::Root;
        let mut fields = Fields::of(parse(data)?, &root)?;
        let kind = fields.string("type")?;
        out.push(match kind.as_str() {
            "message_start" => self.start(fields.need("message")?)?,
            "content_block_start" => {
                let value = fields.need("content_block")?;
                let mut block = read_block(value, &root.key("content_block"))?;
                original_name(&mut block, &self.context);
                StreamEvent::BlockStart {
                    index: index(&mut fields)?,
                    block: emptied(block),
                }
            }
            "content_block_delta" => StreamEvent::BlockDelta {
                index: index(&mut fields)?,
                delta: read_delta(fields.need("delta")?)?,
            },
            "content_block_stop" => StreamEvent::BlockStop {
                index: index(&mut fields)?,
            },
            "message_delta" => self.delta(&mut fields)?,
            "message_stop" => {
                self.ended = true;
                StreamEvent::MessageStop
            }
            "ping" => StreamEvent::Ping,
            "error" => {
                self.ended = true;
                StreamEvent::Error(read_error_value(None, Value::Object(fields.rest())))
            }
            _ => StreamEvent::Other {
                name: kind,
                data: fields.rest(),
            },
        });
        Ok(())
    }

    fn start(&mut self, message: Value) -> Result<StreamEvent, WireError> {
        let path = &Path::Root.key("message");
        let mut fields = Fields::of(message, path)?;
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

    fn delta(&mut self, fields: &mut Fields<'_>) -> Result<StreamEvent, WireError> {
        if let Some(usage) = fields.take("usage") {
            let later = read_usage(usage, &Path::Root.key("usage"))?;
            self.usage.update(later);
        }
        let path = &Path::Root.key("delta");
        let mut delta = Fields::of(fields.need("delta")?, path)?;
        Ok(StreamEvent::MessageDelta {
            stop_reason: delta
                .opt_string("stop_reason")?
                .map(StopReason::from_anthropic),
            stop_sequence: delta.opt_string("stop_sequence")?,
            stop_details: delta.take("stop_details"),
            container: delta.take("container"),
            usage: self.usage.clone(),
        })
    }
}

fn index(fields: &mut Fields<'_>) -> Result<usize, WireError> {
    let index = fields.opt_u64("index")?.ok_or_else(|| WireError::Missing {
        field: "index".to_owned(),
    })?;
    Ok(usize::try_from(index).unwrap_or(usize::MAX))
}

/// Some servers send a tool's input as `null` or a string first; it always grows from
/// an empty object.
fn emptied(mut block: Block) -> Block {
    if let Content::ToolUse { input, .. } | Content::ServerToolUse { input, .. } =
        &mut block.content
        && !input.is_object()
    {
        *input = Value::Object(Default::default());
    }
    block
}

fn read_delta(value: Value) -> Result<Delta, WireError> {
    let path = &Path::Root.key("delta");
    let mut fields = Fields::of(value, path)?;
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
