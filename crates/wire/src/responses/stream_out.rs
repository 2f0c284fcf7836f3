//! A Responses stream, written for a client.

use serde_json::{Value, json};

use super::response_out::{UNSAYABLE, head, item_id, refusal_item, status, usage, write_item};
use super::stream_item::{Item, Told};
use crate::context::ReplyContext;
use crate::drops::{Dropped, Drops};
use crate::fields::Path;
use crate::neutral::{ApiError, Block, Delta, ErrorKind, Map, StreamEvent};
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
    item: Option<Item>,
    output: Vec<Value>,
    /// The response as the last event tells it.
    last: Option<Map>,
    /// The whole answer, once it has been told, for those who want to keep it.
    told: Option<Map>,
    drops: Drops,
}

impl ResponsesWriter {
    pub(crate) fn new(context: ReplyContext) -> Self {
        ResponsesWriter {
            context,
            id: String::new(),
            model: String::new(),
            sequence: 0,
            spoken: Spoken::default(),
            item: None,
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
                let told = self.item.as_mut().map(|item| item.grow(delta));
                self.tell_item(told.unwrap_or_default(), out);
            }
            StreamEvent::BlockStop { .. } => self.stop(out),
            StreamEvent::MessageDelta { .. } => self.last = Some(self.end(event, out)),
            StreamEvent::MessageStop => self.finish(out),
            StreamEvent::Ping => out.extend_from_slice(b": ping\n\n"),
            StreamEvent::Error(error) => self.fail(error, out),
            StreamEvent::Other { name, .. } => self.drops.add(name.as_str(), UNSAYABLE),
        }
    }

    fn start(&mut self, index: usize, block: &Block, out: &mut Vec<u8>) {
        let id = item_id(block, &self.id, self.output.len());
        if let Some(item) = Item::new(id.clone(), block, &self.context) {
            let told = item.start();
            self.item = Some(item);
            self.tell_item(told, out);
            return;
        }
        match write_item(block, &id, &self.context, None) {
            Some(item) => {
                let told = vec![
                    ("response.output_item.added", json!({"item": item})),
                    ("response.output_item.done", json!({"item": item})),
                ];
                self.tell_item(told, out);
                self.output.push(item);
            }
            None => self
                .drops
                .add(Path::Root.key("content").index(index), UNSAYABLE),
        }
    }

    fn stop(&mut self, out: &mut Vec<u8>) {
        if let Some(item) = self.item.take() {
            let (told, item) = item.stop();
            self.tell_item(told, out);
            self.output.push(item);
        }
    }

    fn end(&mut self, event: &StreamEvent, out: &mut Vec<u8>) -> Map {
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
            response.extend(rest.clone());
            let refusal = explanation(stop_details.as_ref());
            if let (true, Some(why)) = (self.spoken.is_empty(), refusal) {
                self.refuse(why, out);
            }
            let told = refusal.is_some_and(|why| self.spoken.allows(why));
            let (status, details) = status(stop_reason.as_ref(), told);
            response.insert("status".to_owned(), status.into());
            response.insert("incomplete_details".to_owned(), details);
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
