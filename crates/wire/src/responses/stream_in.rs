//! A Responses stream, read.

use serde_json::Value;

use super::item_in::read_block;
use super::response_in::{failure, incomplete_reason, stop_reason};
use super::{USAGE, sealed};
use crate::blocks::{Blocks, Open};
use crate::calls::{Calls, Fragment};
use crate::chat::escaped;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::{Fields, Path, parse};
use crate::neutral::{ApiError, Content, Map, StreamEvent, Usage, refusal_details};
use crate::openai::read_usage;

/// Reads the events of one stream.
#[derive(Debug)]
pub(crate) struct ResponsesReader {
    context: ReadContext,
    started: bool,
    ended: bool,
    blocks: Blocks,
    calls: Calls,
    refusal: String,
    /// Whether the item being told has grown by deltas; some servers tell only its end.
    grown: bool,
}

impl ResponsesReader {
    pub(crate) fn new(context: ReadContext) -> Self {
        ResponsesReader {
            context,
            started: false,
            ended: false,
            blocks: Blocks::default(),
            calls: Calls::default(),
            refusal: String::new(),
            grown: false,
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// The stream's bytes have ended without the answer's end.
    pub(crate) fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        self.fail(ApiError::cut_short(), out);
    }

    /// Takes one event's JSON.
    pub(crate) fn event(
        &mut self,
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        if data.trim_ascii() == b"[DONE]" {
            return Ok(());
        }
        let root = Path::Root;
        let mut fields = Fields::of(parse(data)?, &root)?;
        let kind = fields.string("type")?;
        if !self.started && kind.starts_with("response.") && kind != "response.failed" {
            self.start(fields.peek("response"), out);
        }
        match kind.as_str() {
            "response.output_item.added" => self.added(&mut fields, out),
            "response.output_text.delta" => self.text(&mut fields, out),
            "response.refusal.delta" => {
                let delta = fields.peek("delta").and_then(Value::as_str);
                self.refusal.push_str(delta.unwrap_or_default());
                self.text(&mut fields, out)
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let delta = fields.string("delta")?;
                self.think(delta, out);
                Ok(())
            }
            "response.reasoning_summary_part.added" => {
                if fields.opt_u64("summary_index")?.unwrap_or(0) > 0 {
                    self.think("\n\n".to_owned(), out);
                }
                Ok(())
            }
            "response.function_call_arguments.delta" => self.arguments(&mut fields, false, out),
            "response.custom_tool_call_input.delta" => self.arguments(&mut fields, true, out),
            "response.output_item.done" => self.item_done(&mut fields, out),
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(fields.need("response")?, out)
            }
            "error" => {
                let error = fields.take("error");
                let error = error.unwrap_or_else(|| Value::Object(fields.rest()));
                self.fail(failure(&error), out);
                Ok(())
            }
            // Everything else repeats what deltas and items have told.
            _ => Ok(()),
        }
    }

    /// The answer begins, usually with an event of its own.
    fn start(&mut self, response: Option<&Value>, out: &mut Vec<StreamEvent>) {
        self.started = true;
        let text = |key: &str| Some(response?.get(key)?.as_str()?.to_owned());
        out.push(StreamEvent::MessageStart {
            id: text("id").unwrap_or_else(|| self.context.id.clone()),
            model: text("model").unwrap_or_else(|| self.context.model.clone()),
            usage: Usage::default(),
            rest: Default::default(),
        });
    }

    fn added(
        &mut self,
        fields: &mut Fields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        self.grown = false;
        let index = fields.opt_u64("output_index")?;
        let item = fields.need("item")?;
        let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = text("type").unwrap_or_default();
        if kind == "function_call" || kind == "custom_tool_call" {
            let fragment = Fragment {
                index,
                id: text("call_id"),
                name: text("name"),
                arguments: String::new(),
                freeform: kind == "custom_tool_call",
                signature: None,
            };
            self.fragment(fragment, out);
        }
        Ok(())
    }

    fn arguments(
        &mut self,
        fields: &mut Fields<'_>,
        freeform: bool,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        self.grown = true;
        let delta = fields.string("delta")?;
        let fragment = Fragment {
            index: fields.opt_u64("output_index")?,
            id: None,
            name: None,
            arguments: if freeform { escaped(&delta) } else { delta },
            freeform,
            signature: None,
        };
        self.fragment(fragment, out);
        Ok(())
    }

    fn fragment(&mut self, fragment: Fragment, out: &mut Vec<StreamEvent>) {
        let told = self
            .calls
            .push(fragment, &mut self.blocks, &self.context, out);
        if let Err(why) = told {
            self.fail(ApiError::nonsense(why), out);
        }
    }

    fn text(
        &mut self,
        fields: &mut Fields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        self.grown = true;
        let delta = fields.string("delta")?;
        self.end_calls(out);
        self.blocks.text(delta, out);
        Ok(())
    }

    fn think(&mut self, delta: String, out: &mut Vec<StreamEvent>) {
        self.grown = true;
        self.end_calls(out);
        self.blocks.thinking(delta, out);
    }

    fn end_calls(&mut self, out: &mut Vec<StreamEvent>) {
        if matches!(self.blocks.open(), Open::Call(_))
            && let Err(why) = self.calls.finish(&mut self.blocks, &self.context, out)
        {
            self.fail(ApiError::nonsense(why), out);
        }
    }

    /// An item is whole: what deltas did not tell is told now.
    fn item_done(
        &mut self,
        fields: &mut Fields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let index = fields.opt_u64("output_index")?;
        let root = Path::Root;
        let path = root.key("item");
        let mut item = Fields::of(fields.need("item")?, &path)?;
        let kind = item.string("type")?;
        match kind.as_str() {
            "message" => self.message_done(&item, out),
            "reasoning" => self.reasoning_done(&mut item, out)?,
            "function_call" | "custom_tool_call" => self.call_done(&kind, index, &mut item, out)?,
            _ => {
                self.end_calls(out);
                self.blocks.whole(read_block(kind, item)?, out);
            }
        }
        self.grown = false;
        Ok(())
    }

    fn message_done(&mut self, item: &Fields<'_>, out: &mut Vec<StreamEvent>) {
        if !self.grown {
            let parts = item.peek("content").and_then(Value::as_array);
            for part in parts.into_iter().flatten() {
                if let Some(text) = part.get("text").and_then(Value::as_str) {
                    self.end_calls(out);
                    self.blocks.text(text.to_owned(), out);
                }
            }
        }
        if self.blocks.open() == Open::Text {
            self.blocks.close(out);
        }
    }

    fn reasoning_done(
        &mut self,
        item: &mut Fields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let id = item.opt_string("id")?.unwrap_or_default();
        let encrypted = item.opt_string("encrypted_content")?;
        if let Some(encrypted) = encrypted {
            self.end_calls(out);
            match sealed::thought(&id, String::new(), Some(&encrypted)) {
                Content::Thinking { signature, .. } => self.blocks.signature(signature, out),
                content => self.blocks.whole(crate::neutral::Block::new(content), out),
            }
        }
        if self.blocks.open() == Open::Thinking {
            self.blocks.close(out);
        }
        Ok(())
    }

    fn call_done(
        &mut self,
        kind: &str,
        index: Option<u64>,
        item: &mut Fields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let freeform = kind == "custom_tool_call";
        let key = if freeform { "input" } else { "arguments" };
        let text = item.opt_string(key)?.unwrap_or_default();
        let fragment = Fragment {
            index,
            id: item.opt_string("call_id")?,
            name: item.opt_string("name")?,
            arguments: match (self.grown, freeform) {
                (true, _) => String::new(),
                (false, true) => escaped(&text),
                (false, false) => text,
            },
            freeform,
            signature: None,
        };
        self.fragment(fragment, out);
        if self.calls.all_complete() {
            self.end_calls(out);
        }
        Ok(())
    }

    fn end(&mut self, response: Value, out: &mut Vec<StreamEvent>) -> Result<(), WireError> {
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            self.fail(failure(error), out);
            return Ok(());
        }
        self.end_calls(out);
        self.blocks.close(out);
        if self.ended {
            return Ok(());
        }
        let usage = match response.get("usage").filter(|usage| !usage.is_null()) {
            Some(usage) => read_usage(usage.clone(), &Path::Root.key("usage"), &USAGE)?,
            None => Usage::default(),
        };
        let refused = !self.refusal.is_empty();
        let status = response.get("status").and_then(Value::as_str);
        let reason = incomplete_reason(response.get("incomplete_details"));
        let calls = !self.calls.is_empty();
        out.push(StreamEvent::MessageDelta {
            stop_reason: Some(stop_reason(status, reason.as_deref(), calls, refused)),
            stop_sequence: None,
            stop_details: refused.then(|| refusal_details(Some(&self.refusal))),
            container: None,
            usage,
            rest: Map::new(),
        });
        out.push(StreamEvent::MessageStop);
        self.ended = true;
        Ok(())
    }

    fn fail(&mut self, error: ApiError, out: &mut Vec<StreamEvent>) {
        if !self.ended {
            self.ended = true;
            out.push(StreamEvent::Error(error));
        }
    }
}
