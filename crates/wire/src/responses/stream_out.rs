//! A Responses stream, written for a client.

use serde_json::{Value, json};

use super::item_event::ItemEvent;
use super::response_out::{NO_SUCH_ITEM, item_id, refusal_item, status, usage, write_item};
use super::response_shape::{add_provider_fields, response_fields, set_status};
use super::stream_call::CallItem;
use super::stream_message::MessageItem;
use super::stream_thought::ThoughtItem;
use super::streamed_items::StreamedItems;
use super::{hosted_queue, namespace, source_item};
use crate::Dialect;
use crate::context::ReplyContext;
use crate::dropped::Dropped;
use crate::drops::Drops;
use crate::json_path::JsonPath;
use crate::neutral::{
    ANNOTATION_ADDED, ApiError, Block, Content, Delta, Map, ResponseDialectFields, StreamEvent,
    is_audio, without_dialect_fields,
};
use crate::openai::{StreamedText, explanation, is_refusal, render_error, write_failure};
use crate::sse::write_json;

/// Writes the events of one stream. Retains the items so far: the last event
/// repeats them all.
#[derive(Debug)]
pub(crate) struct ResponsesWriter {
    context: ReplyContext,
    id: String,
    model: String,
    sequence: u64,
    streamed_text: StreamedText,
    /// Whether a refusal was written as such.
    refused: bool,
    open: OpenItem,
    output: StreamedItems,
    /// The response in its last event.
    last: Option<Map>,
    /// The whole response after its end, when it is retained.
    completed_response: Option<Map>,
    drops: Drops,
}

/// The open item.
#[derive(Debug)]
enum OpenItem {
    Nothing,
    Message(Box<MessageItem>),
    Thought(Box<ThoughtItem>),
    Call(Box<CallItem>),
    /// An item of the provider's servers that is in progress: their events are passed on.
    Hosted,
}

impl ResponsesWriter {
    pub(crate) fn new(context: ReplyContext) -> Self {
        ResponsesWriter {
            context,
            id: String::new(),
            model: String::new(),
            sequence: 0,
            streamed_text: StreamedText::default(),
            refused: false,
            open: OpenItem::Nothing,
            output: StreamedItems::default(),
            last: None,
            completed_response: None,
            drops: Drops::default(),
        }
    }

    /// What of the stream so far could not be translated.
    pub(crate) fn take_dropped(&mut self) -> Vec<Dropped> {
        std::mem::take(&mut self.drops).into_vec()
    }

    /// The whole response, after its end.
    pub(crate) fn take_response(&mut self) -> Option<Map> {
        self.completed_response.take()
    }

    pub(crate) fn write(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        match event {
            StreamEvent::MessageStart { id, model, .. } => {
                self.id = self.context.id_for(id, "resp_");
                self.model = self.context.model_or(model).to_owned();
                let response = response_fields(&self.id, &self.model, &self.context);
                self.write_event("response.created", json!({"response": response}), out);
                self.write_event("response.in_progress", json!({"response": response}), out);
            }
            StreamEvent::BlockStart { index, block } => self.start(*index, block, out),
            StreamEvent::BlockDelta { index, delta } => {
                if let Delta::Other(_) = delta {
                    let path = JsonPath::Root.key("content");
                    self.drops
                        .add(path.index(*index).key("delta"), NO_SUCH_ITEM);
                }
                if let Delta::Text(text) = delta {
                    self.streamed_text.push(text);
                }
                let events = match &mut self.open {
                    OpenItem::Message(message) => message.grow(delta),
                    OpenItem::Thought(thought) => thought.grow(delta),
                    OpenItem::Call(call) => call.grow(delta),
                    OpenItem::Nothing | OpenItem::Hosted => Vec::new(),
                };
                self.write_item_events(events, out);
            }
            StreamEvent::BlockStop { .. } => self.stop(out),
            StreamEvent::BlockAbandoned { .. } => self.abandon(out),
            StreamEvent::MessageDelta { .. } => self.last = Some(self.end(event, out)),
            StreamEvent::MessageStop => self.finish(out),
            StreamEvent::Ping => out.extend_from_slice(b": ping\n\n"),
            StreamEvent::Error(error) => self.fail(error, out),
            StreamEvent::Other { name, data } if name.starts_with(hosted_queue::EVENT_PREFIX) => {
                self.progress(name, data, out);
            }
            // No client of this dialect can have requested speech.
            StreamEvent::Other { name, .. } if is_audio(name) => {}
            StreamEvent::Other { name, .. } => self.drops.add(name.as_str(), NO_SUCH_ITEM),
        }
    }

    /// When the response was complete, if that is known only at its end.
    pub(crate) fn set_completed(&mut self, at: u64) {
        self.context.completed = Some(at);
    }

    /// The items so far are part of the response.
    pub(crate) fn finish_step(&mut self) {
        self.output.finish_step();
    }

    /// The items since the last finished step are not part of the response.
    pub(crate) fn abandon_step(&mut self, out: &mut Vec<u8>) {
        self.close_as(Some("incomplete"), out);
        self.output.abandon_step();
    }

    /// The numbers of items that are not part of the response.
    pub(crate) fn abandoned_items(&self) -> &[usize] {
        self.output.abandoned()
    }

    fn start(&mut self, index: usize, block: &Block, out: &mut Vec<u8>) {
        self.refused |= is_refusal(block);
        if let OpenItem::Message(message) = &mut self.open {
            if source_item::continues(block) && matches!(block.content, Content::Text(_)) {
                let events = message.next_part(block);
                self.write_item_events(events, out);
                return;
            }
            self.close(out);
        }
        let id = item_id(block, &self.id, self.output.len());
        let (open, events) = match (
            &block.content,
            CallItem::new(id.clone(), block, &self.context),
        ) {
            (Content::Text(_), _) => {
                let message = MessageItem::new(id, block);
                let events = message.start();
                (OpenItem::Message(Box::new(message)), events)
            }
            (Content::Thinking { .. }, _) => {
                let thought = ThoughtItem::new(id, block);
                let events = thought.start();
                (OpenItem::Thought(Box::new(thought)), events)
            }
            (_, Some(call)) => {
                let events = call.start();
                (OpenItem::Call(Box::new(call)), events)
            }
            (_, None) => return self.whole(index, block, &id, out),
        };
        self.open = open;
        self.write_item_events(events, out);
    }

    /// An item that is complete from the start.
    fn whole(&mut self, index: usize, block: &Block, id: &str, out: &mut Vec<u8>) {
        let announced = matches!(self.open, OpenItem::Hosted);
        let Some(item) = write_item(block, id, &self.context, None) else {
            let path = JsonPath::Root.key("content");
            self.drops.add(path.index(index), NO_SUCH_ITEM);
            return;
        };
        self.open = OpenItem::Nothing;
        let mut events = vec![("response.output_item.done", json!({"item": item}))];
        if !announced {
            events.insert(0, ("response.output_item.added", json!({"item": item})));
        }
        self.write_item_events(events, out);
        self.output.push(item);
    }

    /// Progress events of the provider's servers, with the item indexes of
    /// this stream.
    fn progress(&mut self, name: &str, data: &Map, out: &mut Vec<u8>) {
        let mut fields = Value::Object(data.clone());
        match (&mut self.open, name) {
            (OpenItem::Message(message), "response.output_text.delta") => {
                if let Some(logprobs) = data.get("logprobs") {
                    message.expect_logprobs(logprobs.clone());
                }
                return;
            }
            (OpenItem::Message(message), ANNOTATION_ADDED) => {
                message.annotate(&mut fields);
            }
            (OpenItem::Thought(thought), "response.reasoning_summary_part.added") => {
                let events = thought.next_part();
                return self.write_item_events(events, out);
            }
            (OpenItem::Thought(thought), "response.reasoning_text.delta") => {
                return thought.switch_to_content();
            }
            (_, "response.output_item.added") => {
                self.close(out);
                self.open = OpenItem::Hosted;
            }
            (OpenItem::Hosted, _) => {}
            _ => return,
        }
        if let Some(map) = fields.as_object_mut() {
            map.insert("output_index".to_owned(), self.output.len().into());
        }
        self.write_event(name, fields, out);
    }

    /// A block has ended, and its item with it, unless it is a message with more parts.
    fn stop(&mut self, out: &mut Vec<u8>) {
        if let OpenItem::Message(message) = &mut self.open {
            let (events, is_last) = message.stop_part();
            self.write_item_events(events, out);
            if !is_last {
                return;
            }
        }
        self.close(out);
    }

    /// A block has ended before it was complete.
    fn abandon(&mut self, out: &mut Vec<u8>) {
        if let OpenItem::Message(message) = &mut self.open {
            let (events, _) = message.stop_part();
            self.write_item_events(events, out);
        }
        self.close_as(Some("incomplete"), out);
    }

    /// Closes the open item, if there is one.
    fn close(&mut self, out: &mut Vec<u8>) {
        self.close_as(None, out);
    }

    /// The same, with this status instead of `completed`.
    fn close_as(&mut self, status: Option<&str>, out: &mut Vec<u8>) {
        let (mut events, mut item) = match std::mem::replace(&mut self.open, OpenItem::Nothing) {
            OpenItem::Message(message) => message.stop(),
            OpenItem::Thought(thought) => thought.stop(),
            OpenItem::Call(call) => call.stop(),
            OpenItem::Nothing | OpenItem::Hosted => return,
        };
        if let Some(status) = status {
            let items = events
                .iter_mut()
                .filter_map(|(_, fields)| fields.get_mut("item"));
            for item in items.chain([&mut item]) {
                if let Some(fields) = item.as_object_mut() {
                    fields.insert("status".to_owned(), status.into());
                }
            }
        }
        self.write_item_events(events, out);
        self.output
            .push(namespace::restored(item, &self.context.client_tools));
    }

    fn end(&mut self, event: &StreamEvent, out: &mut Vec<u8>) -> Map {
        self.close(out);
        let mut response = response_fields(&self.id, &self.model, &self.context);
        if let StreamEvent::MessageDelta {
            stop_reason,
            stop_details,
            container,
            usage: cost,
            rest,
            ..
        } = event
        {
            response.extend(without_dialect_fields(rest));
            add_provider_fields(
                &mut response,
                &ResponseDialectFields::read(Dialect::Responses, rest).body,
            );
            let refusal = explanation(stop_details.as_ref());
            if let (true, Some(why)) = (self.streamed_text.is_empty(), refusal) {
                self.refuse(why, out);
            }
            let is_all = refusal.is_some_and(|why| self.streamed_text.allows_refusal(why));
            let (status, details) = status(stop_reason.as_ref(), self.refused || is_all);
            set_status(&mut response, status, details, self.context.completed_at());
            response.insert("usage".to_owned(), usage(cost));
            if let Some(container) = container {
                response.insert("container".to_owned(), container.clone());
            }
        }
        response
    }

    fn refuse(&mut self, why: &str, out: &mut Vec<u8>) {
        let item = refusal_item(&self.id, self.output.len(), why);
        let events = vec![
            ("response.output_item.added", json!({"item": item})),
            ("response.output_item.done", json!({"item": item})),
        ];
        self.write_item_events(events, out);
        self.output.push(item);
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let mut response = match self.last.take() {
            Some(response) => response,
            None => response_fields(&self.id, &self.model, &self.context),
        };
        let completed = response.get("status").and_then(Value::as_str) == Some("completed");
        if let (true, Some(at)) = (completed, self.context.completed) {
            response.insert("completed_at".to_owned(), at.into());
        }
        response.insert("output".to_owned(), self.output.take());
        let name = match response.get("status").and_then(Value::as_str) {
            Some("incomplete") => "response.incomplete",
            _ => "response.completed",
        };
        if self.context.keep_response {
            self.completed_response = Some(response.clone());
        }
        self.write_event(name, json!({"response": response}), out);
    }

    /// Some clients look for `error`, others for `response.failed`: they get both, as
    /// OpenAI sends them.
    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        let code = error.code.as_deref().unwrap_or("server_error");
        let mut fields = json!({"code": code, "message": error.message, "param": error.param});
        if let (Some(map), Some(inner)) = (
            fields.as_object_mut(),
            render_error(error).body.get_mut("error").map(Value::take),
        ) {
            // The SDKs raise an exception only when they find this object.
            map.insert("error".to_owned(), inner);
        }
        self.write_event("error", fields, out);
        if self.id.is_empty() {
            return;
        }
        let mut response = response_fields(&self.id, &self.model, &self.context);
        response.insert("status".to_owned(), "failed".into());
        response.insert("error".to_owned(), write_failure(error));
        response.insert("output".to_owned(), self.output.take());
        self.write_event("response.failed", json!({"response": response}), out);
    }

    fn write_item_events(&mut self, events: Vec<ItemEvent>, out: &mut Vec<u8>) {
        let index = self.output.len();
        for (name, mut fields) in events {
            if let Some(map) = fields.as_object_mut() {
                map.insert("output_index".to_owned(), index.into());
                namespace::restore(map, &self.context.client_tools);
            }
            self.write_event(name, fields, out);
        }
    }

    fn write_event(&mut self, name: &str, fields: Value, out: &mut Vec<u8>) {
        let mut event = Map::from_iter([
            ("type".to_owned(), name.into()),
            ("sequence_number".to_owned(), self.sequence.into()),
        ]);
        if let Value::Object(fields) = fields {
            event.extend(fields);
        }
        self.sequence += 1;
        write_json(out, name, &event);
    }
}
