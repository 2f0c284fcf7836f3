//! A Responses stream, read.

use serde_json::Value;

use super::grown_items::{GrowingItemKind, GrownItems, ItemKey};
use super::hosted_queue::HostedItemQueue;
use super::item_in::{IdPolicy, read_block};
use super::namespace::called_name;
use super::response_in::{incomplete_reason, stop_reason};
use super::stream_item_in::{MessageItemReader, ReasoningItemReader, TextDelta};
use super::{USAGE_FIELDS, response_shape};
use crate::Dialect;
use crate::blocks::{BlockEmitter, OpenBlockKind};
use crate::calls::{CallAssembler, CallFragment};
use crate::chat::escaped;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::{JsonFields, parse};
use crate::json_path::JsonPath;
use crate::neutral::{
    ApiError, Content, Map, ResponseDialectFields, StreamEvent, TokenUsage, refusal_details,
};
use crate::openai::{empty_refusal, read_error_value, read_failure, read_usage, service_tier};

/// Reads the events of one stream.
#[derive(Debug)]
pub(crate) struct ResponsesReader {
    pub(super) context: ReadContext,
    started: bool,
    ended: bool,
    pub(super) blocks: BlockEmitter,
    pub(super) calls: CallAssembler,
    pub(super) refusal: String,
    pub(super) grown: GrownItems,
    pub(super) hosted: HostedItemQueue,
    /// The open message and thought, where their start was sent.
    pub(super) message: Option<MessageItemReader>,
    pub(super) thought: ReasoningItemReader,
    /// How often OpenAI's servers have searched the web.
    pub(super) web_searches: u64,
}

impl ResponsesReader {
    pub(crate) fn new(context: ReadContext) -> Self {
        ResponsesReader {
            context,
            started: false,
            ended: false,
            blocks: BlockEmitter::default(),
            calls: CallAssembler::default(),
            refusal: String::new(),
            grown: GrownItems::default(),
            hosted: HostedItemQueue::default(),
            message: None,
            thought: ReasoningItemReader::default(),
            web_searches: 0,
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// The stream's bytes have ended without the response's end.
    pub(crate) fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        self.fail(ApiError::truncated(), out);
    }

    /// Takes one event's JSON.
    pub(crate) fn read_event(
        &mut self,
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        if data.trim_ascii() == b"[DONE]" {
            return Ok(());
        }
        if !self.hosted.push(parse(data)?, data.len()) {
            self.fail(
                ApiError::invalid_stream("an output item that never ends"),
                out,
            );
            return Ok(());
        }
        while let Some(event) = self.hosted.next() {
            self.take(event, out)?;
        }
        Ok(())
    }

    fn take(&mut self, event: Value, out: &mut Vec<StreamEvent>) -> Result<(), WireError> {
        let root = JsonPath::Root;
        let mut fields = JsonFields::from_value(event, &root)?;
        let kind = fields.string("type")?;
        if !self.started && kind.starts_with("response.") && kind != "response.failed" {
            self.start(fields.peek("response"), out);
        }
        match kind.as_str() {
            "response.output_item.added" => self.added(&mut fields, out),
            "response.output_text.delta" => self.text(&mut fields, false, out),
            "response.refusal.delta" => {
                let delta = fields.peek("delta").and_then(Value::as_str);
                self.refusal.push_str(delta.unwrap_or_default());
                self.text(&mut fields, true, out)
            }
            "response.reasoning_summary_text.delta" => {
                self.grow(GrowingItemKind::Reasoning, &fields);
                let delta = fields.string("delta")?;
                self.think(delta, out);
                Ok(())
            }
            "response.reasoning_text.delta" => {
                let is_first = self.grow(GrowingItemKind::Reasoning, &fields);
                let delta = fields.string("delta")?;
                self.think_in_content(delta, is_first, out);
                Ok(())
            }
            "response.reasoning_summary_part.added" => {
                if fields.opt_u64("summary_index")?.unwrap_or(0) > 0 {
                    self.grow(GrowingItemKind::Reasoning, &fields);
                    self.next_thought(kind, out);
                }
                Ok(())
            }
            "response.content_part.done" => {
                if let (Some(message), Some(part)) = (&mut self.message, fields.take("part")) {
                    message.end_part(part);
                }
                Ok(())
            }
            "response.function_call_arguments.delta" => self.arguments(&mut fields, false, out),
            "response.custom_tool_call_input.delta" => self.arguments(&mut fields, true, out),
            "response.output_item.done" => self.item_done(&mut fields, out),
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(fields.require("response")?, out)
            }
            "error" => {
                let error = fields.take("error");
                let error = error.unwrap_or_else(|| Value::Object(fields.rest()));
                self.fail(read_error_value(None, &error), out);
                Ok(())
            }
            _ => {
                self.pass(kind, fields, out);
                Ok(())
            }
        }
    }

    /// Progress events of the item in progress, and annotations of the open text. Everything
    /// else repeats deltas and items.
    fn pass(&mut self, name: String, mut fields: JsonFields<'_>, out: &mut Vec<StreamEvent>) {
        let index = fields.peek("output_index").and_then(Value::as_u64);
        let points = name == "response.output_text.annotation.added"
            && self.message.is_some()
            && self.blocks.open() == OpenBlockKind::Text;
        if points || self.hosted.is_open(index) {
            fields.take("sequence_number");
            let data = fields.rest();
            out.push(StreamEvent::Other { name, data });
        }
    }

    /// The response begins, usually with a separate event.
    fn start(&mut self, response: Option<&Value>, out: &mut Vec<StreamEvent>) {
        self.started = true;
        let text = |key: &str| Some(response?.get(key)?.as_str()?.to_owned());
        out.push(StreamEvent::MessageStart {
            id: text("id").unwrap_or_else(|| self.context.id.clone()),
            model: text("model").unwrap_or_else(|| self.context.model.clone()),
            usage: TokenUsage::default(),
            rest: Default::default(),
        });
    }

    fn added(
        &mut self,
        fields: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let index = fields.opt_u64("output_index")?;
        let item = fields.require("item")?;
        let key = ItemKey::from_item(&item, index);
        let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = text("type").unwrap_or_default();
        match kind.as_str() {
            "message" => {
                // The end of the one before may come later.
                self.close_block(OpenBlockKind::Text, out);
                self.message = Some(MessageItemReader::new(&item));
                self.grown.begin(GrowingItemKind::Message, &key);
            }
            "reasoning" => {
                self.close_block(OpenBlockKind::Thinking, out);
                self.thought = ReasoningItemReader::new(&item);
                self.grown.begin(GrowingItemKind::Reasoning, &key);
            }
            "function_call" | "custom_tool_call" => {
                self.grown.begin(GrowingItemKind::Call, &key);
            }
            _ => self.announce(index, item.clone(), out)?,
        }
        if kind == "function_call" || kind == "custom_tool_call" {
            let fragment = CallFragment {
                index,
                id: text("call_id"),
                name: called_name(|key| item.get(key), &self.context.names),
                arguments: String::new(),
                freeform: kind == "custom_tool_call",
                signature: None,
            };
            self.fragment(fragment, out);
        }
        Ok(())
    }

    /// Ends the open block, if it is of this kind.
    pub(super) fn close_block(&mut self, kind: OpenBlockKind, out: &mut Vec<StreamEvent>) {
        if self.blocks.open() == kind {
            self.blocks.close(out);
        }
    }

    /// The item of a delta grows; returns whether it is the first delta.
    fn grow(&mut self, kind: GrowingItemKind, fields: &JsonFields<'_>) -> bool {
        self.grown.grow(kind, &ItemKey::from_delta(fields))
    }

    /// An item of OpenAI's servers is in progress. While a call is open the item waits for its
    /// end.
    fn announce(
        &mut self,
        index: Option<u64>,
        item: Value,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let is_call_open =
            matches!(self.blocks.open(), OpenBlockKind::Call(_)) && !self.calls.all_complete();
        if index.is_none() || is_call_open || !is_hosted(&item) {
            return Ok(());
        }
        self.end_calls(out);
        self.blocks.close(out);
        self.hosted.begin(index);
        out.push(StreamEvent::Other {
            name: "response.output_item.added".to_owned(),
            data: Map::from_iter([("item".to_owned(), item)]),
        });
        Ok(())
    }

    fn arguments(
        &mut self,
        fields: &mut JsonFields<'_>,
        freeform: bool,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        self.grow(GrowingItemKind::Call, fields);
        let delta = fields.string("delta")?;
        let fragment = CallFragment {
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

    pub(super) fn fragment(&mut self, fragment: CallFragment, out: &mut Vec<StreamEvent>) {
        let pushed = self
            .calls
            .push(fragment, &mut self.blocks, &self.context, out);
        if let Err(why) = pushed {
            self.fail(ApiError::invalid_stream(why), out);
        }
    }

    fn text(
        &mut self,
        fields: &mut JsonFields<'_>,
        refused: bool,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        self.grow(GrowingItemKind::Message, fields);
        let text = TextDelta {
            text: fields.string("delta")?,
            refused,
            logprobs: fields.take("logprobs"),
        };
        self.end_calls(out);
        match &mut self.message {
            Some(message) => {
                let place = fields.opt_u64("content_index")?;
                message.grow(place, text, &mut self.blocks, out);
            }
            None if refused => self.blocks.text_in(empty_refusal, text.text, out),
            None => self.blocks.text(text.text, out),
        }
        Ok(())
    }

    fn think(&mut self, delta: String, out: &mut Vec<StreamEvent>) {
        self.end_calls(out);
        let thought = &self.thought;
        self.blocks.begin_thought(|| thought.rest(), out);
        self.blocks.thinking(delta, out);
    }

    /// The thought itself, which has other event names than its summary.
    fn think_in_content(&mut self, delta: String, is_first: bool, out: &mut Vec<StreamEvent>) {
        if is_first || self.blocks.open() != OpenBlockKind::Thinking {
            self.end_calls(out);
            let thought = &self.thought;
            self.blocks.begin_thought(|| thought.rest(), out);
            out.push(StreamEvent::Other {
                name: "response.reasoning_text.delta".to_owned(),
                data: Map::new(),
            });
        }
        self.think(delta, out);
    }

    /// The next part of a thought's summary, separate from the one before.
    fn next_thought(&mut self, name: String, out: &mut Vec<StreamEvent>) {
        if self.blocks.open() == OpenBlockKind::Thinking {
            let data = Map::new();
            out.push(StreamEvent::Other { name, data });
        }
        self.think("\n\n".to_owned(), out);
    }

    pub(super) fn end_calls(&mut self, out: &mut Vec<StreamEvent>) {
        if matches!(self.blocks.open(), OpenBlockKind::Call(_))
            && let Err(why) = self.calls.finish(&mut self.blocks, &self.context, out)
        {
            self.fail(ApiError::invalid_stream(why), out);
        }
    }

    fn end(&mut self, response: Value, out: &mut Vec<StreamEvent>) -> Result<(), WireError> {
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            self.fail(read_failure(error), out);
            return Ok(());
        }
        self.unstreamed_items(&response, out)?;
        self.end_calls(out);
        self.blocks.close(out);
        if self.ended {
            return Ok(());
        }
        let mut usage = match response.get("usage").filter(|usage| !usage.is_null()) {
            Some(usage) => read_usage(usage.clone(), &JsonPath::Root.key("usage"), &USAGE_FIELDS)?,
            None => TokenUsage::default(),
        };
        usage.set_web_searches(self.web_searches);
        usage.set_tier(service_tier(response.get("service_tier")));
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
            rest: ResponseDialectFields {
                body: response_shape::provider_fields(&response),
                ..ResponseDialectFields::default()
            }
            .write(Dialect::Responses),
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

/// Whether an item is one of the provider's own servers, that no codec translates.
fn is_hosted(item: &Value) -> bool {
    let path = JsonPath::Root;
    let path = path.key("item");
    let read = JsonFields::from_value(item.clone(), &path).and_then(|mut fields| {
        let kind = fields.string("type")?;
        read_block(kind, fields, IdPolicy::Keep)
    });
    match read.map(|block| block.content) {
        Ok(Content::Other { .. } | Content::ServerToolUse { .. } | Content::Image(_)) => true,
        Ok(Content::ServerToolResult { .. }) => true,
        Ok(_) | Err(_) => false,
    }
}
