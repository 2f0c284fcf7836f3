//! A Responses stream, written for a client.

use serde_json::{Value, json};

use super::response_out::{UNSAYABLE, item_id, refusal_item, status, usage, write_item};
use super::shape::{add_own, head, set_status};
use super::stream_item::{Item, Told};
use super::stream_message::MessageItem;
use super::stream_thought::ThoughtItem;
use super::{hosted, namespace, own_item};
use crate::Dialect;
use crate::context::ReplyContext;
use crate::drops::{Dropped, Drops};
use crate::fields::Path;
use crate::neutral::{
    ApiError, Block, Content, Delta, ErrorKind, Map, OwnAnswer, StreamEvent, without_own,
};
use crate::openai::{Spoken, explanation, render_error};
use crate::sse::write_json;

/// Writes the events of one stream. Keeps the items told so far: the last event
/// repeats them all.
#[derive(Debug)]
pub(crate) struct ResponsesWriter {
    context: ReplyContext,
    id: String,
    model: String,
    sequence: u64,
    spoken: Spoken,
    open: Open,
    output: Vec<Value>,
    /// The response as the last event tells it.
    last: Option<Map>,
    /// The whole answer, once it has been told, for those who want to keep it.
    told: Option<Map>,
    drops: Drops,
}

/// The item being told.
#[derive(Debug)]
enum Open {
    Nothing,
    Message(Box<MessageItem>),
    Thought(Box<ThoughtItem>),
    Call(Box<Item>),
    /// An item that the provider's servers are at work on: it is told as they tell it.
    Hosted,
}

impl ResponsesWriter {
    pub(crate) fn new(context: ReplyContext) -> Self {
        ResponsesWriter {
            context,
            id: String::new(),
            model: String::new(),
            sequence: 0,
            spoken: Spoken::default(),
            open: Open::Nothing,
            output: Vec::new(),
            last: None,
            told: None,
            drops: Drops::default(),
        }
    }

    /// What of the stream so far could not be said.
    pub(crate) fn take_dropped(&mut self) -> Vec<Dropped> {
        std::mem::take(&mut self.drops).into_vec()
    }

    /// The whole answer, once it has been told.
    pub(crate) fn take_response(&mut self) -> Option<Map> {
        self.told.take()
    }

    pub(crate) fn write(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        match event {
            StreamEvent::MessageStart { id, model, .. } => {
                self.id = self.context.id_for(id, "resp_");
                self.model = self.context.model_or(model).to_owned();
                let response = head(&self.id, &self.model, &self.context);
                self.tell("response.created", json!({"response": response}), out);
                self.tell("response.in_progress", json!({"response": response}), out);
            }
            StreamEvent::BlockStart { index, block } => self.start(*index, block, out),
            StreamEvent::BlockDelta { index, delta } => {
                if let Delta::Other(_) = delta {
                    let path = Path::Root.key("content");
                    self.drops.add(path.index(*index).key("delta"), UNSAYABLE);
                }
                if let Delta::Text(text) = delta {
                    self.spoken.push(text);
                }
                let told = match &mut self.open {
                    Open::Message(message) => message.grow(delta),
                    Open::Thought(thought) => thought.grow(delta),
                    Open::Call(call) => call.grow(delta),
                    Open::Nothing | Open::Hosted => Vec::new(),
                };
                self.tell_item(told, out);
            }
            StreamEvent::BlockStop { .. } => self.stop(out),
            StreamEvent::MessageDelta { .. } => self.last = Some(self.end(event, out)),
            StreamEvent::MessageStop => self.finish(out),
            StreamEvent::Ping => out.extend_from_slice(b": ping\n\n"),
            StreamEvent::Error(error) => self.fail(error, out),
            StreamEvent::Other { name, data } if name.starts_with(hosted::PREFIX) => {
                self.progress(name, data, out);
            }
            StreamEvent::Other { name, .. } => self.drops.add(name.as_str(), UNSAYABLE),
        }
    }

    /// When the answer was complete, if that is known only at its end.
    pub(crate) fn set_completed(&mut self, at: u64) {
        self.context.completed = Some(at);
    }

    fn start(&mut self, index: usize, block: &Block, out: &mut Vec<u8>) {
        if let Open::Message(message) = &mut self.open {
            if own_item::continues(block) && matches!(block.content, Content::Text(_)) {
                let told = message.next_part(block);
                self.tell_item(told, out);
                return;
            }
            self.close(out);
        }
        let id = item_id(block, &self.id, self.output.len());
        let (open, told) = match (&block.content, Item::new(id.clone(), block, &self.context)) {
            (Content::Text(_), _) => {
                let message = MessageItem::new(id, block);
                let told = message.start();
                (Open::Message(Box::new(message)), told)
            }
            (Content::Thinking { .. }, _) => {
                let thought = ThoughtItem::new(id, block);
                let told = thought.start();
                (Open::Thought(Box::new(thought)), told)
            }
            (_, Some(call)) => {
                let told = call.start();
                (Open::Call(Box::new(call)), told)
            }
            (_, None) => return self.whole(index, block, &id, out),
        };
        self.open = open;
        self.tell_item(told, out);
    }

    /// An item that is whole when it is told.
    fn whole(&mut self, index: usize, block: &Block, id: &str, out: &mut Vec<u8>) {
        let announced = matches!(self.open, Open::Hosted);
        let Some(item) = write_item(block, id, &self.context, None) else {
            let path = Path::Root.key("content");
            self.drops.add(path.index(index), UNSAYABLE);
            return;
        };
        self.open = Open::Nothing;
        let mut told = vec![("response.output_item.done", json!({"item": item}))];
        if !announced {
            told.insert(0, ("response.output_item.added", json!({"item": item})));
        }
        self.tell_item(told, out);
        self.output.push(item);
    }

    /// What the provider's own servers tell of the item they are at work on, numbered as
    /// this stream numbers its items.
    fn progress(&mut self, name: &str, data: &Map, out: &mut Vec<u8>) {
        let mut fields = Value::Object(data.clone());
        match (&mut self.open, name) {
            (Open::Message(message), "response.output_text.delta") => {
                if let Some(logprobs) = data.get("logprobs") {
                    message.expect_logprobs(logprobs.clone());
                }
                return;
            }
            (Open::Message(message), "response.output_text.annotation.added") => {
                message.locate(&mut fields);
            }
            (Open::Thought(thought), "response.reasoning_summary_part.added") => {
                let told = thought.next_part();
                return self.tell_item(told, out);
            }
            (Open::Thought(thought), "response.reasoning_text.delta") => {
                return thought.tells_content();
            }
            (_, "response.output_item.added") => {
                self.close(out);
                self.open = Open::Hosted;
            }
            (Open::Hosted, _) => {}
            _ => return,
        }
        if let Some(map) = fields.as_object_mut() {
            map.insert("output_index".to_owned(), self.output.len().into());
        }
        self.tell(name, fields, out);
    }

    /// A block has ended, and its item with it, unless it is a message with more parts.
    fn stop(&mut self, out: &mut Vec<u8>) {
        if let Open::Message(message) = &mut self.open {
            let (told, is_last) = message.stop_part();
            self.tell_item(told, out);
            if !is_last {
                return;
            }
        }
        self.close(out);
    }

    /// Ends the item being told, if one is.
    fn close(&mut self, out: &mut Vec<u8>) {
        let (told, item) = match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Message(message) => message.stop(),
            Open::Thought(thought) => thought.stop(),
            Open::Call(call) => call.stop(),
            Open::Nothing | Open::Hosted => return,
        };
        self.tell_item(told, out);
        self.output
            .push(namespace::restored(item, &self.context.client_tools));
    }

    fn end(&mut self, event: &StreamEvent, out: &mut Vec<u8>) -> Map {
        self.close(out);
        let mut response = head(&self.id, &self.model, &self.context);
        if let StreamEvent::MessageDelta {
            stop_reason,
            stop_details,
            container,
            usage: cost,
            rest,
            ..
        } = event
        {
            response.extend(without_own(rest));
            add_own(
                &mut response,
                &OwnAnswer::read(Dialect::Responses, rest).body,
            );
            let refusal = explanation(stop_details.as_ref());
            if let (true, Some(why)) = (self.spoken.is_empty(), refusal) {
                self.refuse(why, out);
            }
            let told = refusal.is_some_and(|why| self.spoken.allows(why));
            let (status, details) = status(stop_reason.as_ref(), told);
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
        let told = vec![
            ("response.output_item.added", json!({"item": item})),
            ("response.output_item.done", json!({"item": item})),
        ];
        self.tell_item(told, out);
        self.output.push(item);
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let mut response = match self.last.take() {
            Some(response) => response,
            None => head(&self.id, &self.model, &self.context),
        };
        let completed = response.get("status").and_then(Value::as_str) == Some("completed");
        if let (true, Some(at)) = (completed, self.context.completed) {
            response.insert("completed_at".to_owned(), at.into());
        }
        let output = std::mem::take(&mut self.output);
        response.insert("output".to_owned(), output.into());
        let name = match response.get("status").and_then(Value::as_str) {
            Some("incomplete") => "response.incomplete",
            _ => "response.completed",
        };
        if self.context.keep_response {
            self.told = Some(response.clone());
        }
        self.tell(name, json!({"response": response}), out);
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
        self.tell("error", fields, out);
        if self.id.is_empty() {
            return;
        }
        let mut response = head(&self.id, &self.model, &self.context);
        response.insert("status".to_owned(), "failed".into());
        response.insert(
            "error".to_owned(),
            json!({"code": failure_code(error.kind), "message": error.message}),
        );
        let output = std::mem::take(&mut self.output);
        response.insert("output".to_owned(), output.into());
        self.tell("response.failed", json!({"response": response}), out);
    }

    fn tell_item(&mut self, told: Vec<Told>, out: &mut Vec<u8>) {
        let index = self.output.len();
        for (name, mut fields) in told {
            if let Some(map) = fields.as_object_mut() {
                map.insert("output_index".to_owned(), index.into());
                namespace::restore(map, &self.context.client_tools);
            }
            self.tell(name, fields, out);
        }
    }

    fn tell(&mut self, name: &str, fields: Value, out: &mut Vec<u8>) {
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

/// The codes a failed response may carry are few.
fn failure_code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::RateLimit => "rate_limit_exceeded",
        ErrorKind::InvalidRequest | ErrorKind::TooLarge => "invalid_prompt",
        _ => "server_error",
    }
}
