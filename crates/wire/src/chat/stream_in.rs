//! A Chat Completions stream, read.

use serde_json::Value;

use super::USAGE_FIELDS;
use super::content_in::{ChatContentPart, read_content_parts, take_images};
use super::extra_content;
use super::finish::stop_reason;
use super::google_thoughts;
use super::reasoning_in::StreamedReasoning;
use super::response_in::{failure, former_call};
use crate::Dialect;
use crate::blocks::{BlockEmitter, OpenBlockKind};
use crate::calls::{CallAssembler, CallFragment};
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::{JsonFields, parse};
use crate::json_path::JsonPath;
use crate::neutral::{
    ANNOTATIONS, AUDIO, ApiError, Block, Content, Map, ResponseDialectFields, StreamEvent,
    TokenUsage, add_choice, annotation_event, audio_event, citations_from_chat, merge,
    refusal_details,
};
use crate::openai::{empty_refusal, read_usage, service_tier};

/// Fields of every chunk, which writers write anew.
const ENVELOPE: [&str; 4] = ["id", "object", "created", "model"];

/// The most text that may come between fragments of a call.
const MAX_LATE_TEXT_BYTES: usize = 1 << 20;

/// Reads the chunks of one stream.
#[derive(Debug)]
pub(crate) struct ChatReader {
    context: ReadContext,
    started: bool,
    ended: bool,
    blocks: BlockEmitter,
    calls: CallAssembler,
    /// Texts that came between fragments of a call: emitted after the calls.
    late_texts: Vec<LateText>,
    late_bytes: usize,
    /// Whether the last text was of a refusal.
    refusing: bool,
    reasoning: StreamedReasoning,
    /// Whether the last text was a thought of Google's.
    after_thought: bool,
    /// The last signature that was emitted: gateways repeat it with the call.
    signature: Option<String>,
    refusal: String,
    /// How many texts have begun.
    texts: usize,
    /// Citations of the first text that were not announced yet.
    citations: Vec<Value>,
    finish_reason: Option<String>,
    usage: TokenUsage,
    /// Fields of the chunks that only this dialect has.
    own: ResponseDialectFields,
    own_bytes: usize,
}

impl ChatReader {
    pub(crate) fn new(context: ReadContext) -> Self {
        ChatReader {
            context,
            started: false,
            ended: false,
            blocks: BlockEmitter::default(),
            calls: CallAssembler::default(),
            late_texts: Vec::new(),
            late_bytes: 0,
            refusing: false,
            reasoning: StreamedReasoning::default(),
            after_thought: false,
            signature: None,
            refusal: String::new(),
            texts: 0,
            citations: Vec::new(),
            finish_reason: None,
            usage: TokenUsage::default(),
            own: ResponseDialectFields::default(),
            own_bytes: 0,
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Takes one event's data.
    pub(crate) fn read_event(
        &mut self,
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        if data.trim_ascii() == b"[DONE]" {
            self.end(out);
            return Ok(());
        }
        let root = JsonPath::Root;
        let mut fields = JsonFields::from_value(parse(data)?, &root)?;
        if let Some(error) = failure(fields.take("error").as_ref()) {
            self.fail(error, out);
            return Ok(());
        }
        if !self.started && is_preface(&fields) {
            let mut rest = unknown_fields(fields, &ENVELOPE);
            rest.shift_remove("choices");
            self.own.body.extend(rest);
            return Ok(());
        }
        self.start(&mut fields, out)?;
        if let Some(usage) = fields.take("usage") {
            self.usage = read_usage(usage, &root.key("usage"), &USAGE_FIELDS)?;
        }
        self.read_groq(fields.peek("x_groq"), out)?;
        if self.ended {
            return Ok(());
        }
        let choices = fields.opt_list("choices")?.unwrap_or_default();
        // Only one choice can be requested, but some servers send several.
        let is_first =
            |choice: &Value| matches!(choice.get("index").and_then(Value::as_u64), None | Some(0));
        if let Some(choice) = choices.into_iter().find(is_first) {
            self.choice(choice, out)?;
        }
        self.own.body.extend(unknown_fields(fields, &ENVELOPE));
        Ok(())
    }

    /// The stream's bytes have ended. Servers that forget `[DONE]` have still ended
    /// well if they sent a finish reason.
    pub(crate) fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        if self.finish_reason.is_some() {
            self.end(out);
        } else {
            self.fail(ApiError::truncated(), out);
        }
    }

    fn start(
        &mut self,
        fields: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        let id = fields.opt_string("id")?.filter(|id| !id.is_empty());
        let model = fields.opt_string("model")?.filter(|m| !m.is_empty());
        out.push(StreamEvent::MessageStart {
            id: id.unwrap_or_else(|| self.context.id.clone()),
            model: model.unwrap_or_else(|| self.context.model.clone()),
            usage: TokenUsage::default(),
            rest: Default::default(),
        });
        Ok(())
    }

    /// Groq's own field: the usage, whether requested or not, and the error that ended the
    /// stream.
    fn read_groq(
        &mut self,
        groq: Option<&Value>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let field = |key: &str| groq?.get(key).filter(|value| !value.is_null());
        if let Some(usage) = field("usage") {
            let path = JsonPath::Root;
            self.usage = read_usage(usage.clone(), &path.key("x_groq"), &USAGE_FIELDS)?;
        }
        if let Some(error) = failure(field("error")) {
            self.fail(error, out);
        }
        Ok(())
    }

    fn choice(&mut self, choice: Value, out: &mut Vec<StreamEvent>) -> Result<(), WireError> {
        let root = JsonPath::Root;
        let choices = root.key("choices");
        let path = choices.index(0);
        let mut choice = JsonFields::from_value(choice, &path)?;
        if let Some(error) = failure(choice.peek("error")) {
            self.fail(error, out);
            return Ok(());
        }
        // Moonshot counts in the last choice.
        if let Some(usage) = choice.take("usage") {
            self.usage = read_usage(usage, &path.key("usage"), &USAGE_FIELDS)?;
        }
        if let Some(delta) = choice.take("delta") {
            let path = path.key("delta");
            self.delta(JsonFields::from_value(delta, &path)?, out)?;
        }
        // Some servers send an empty reason until there is one.
        let reason = choice.opt_string("finish_reason")?;
        if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
            self.finish_reason = Some(reason);
        }
        self.keep(unknown_fields(choice, &["index"]), Place::Choice);
        Ok(())
    }

    fn delta(
        &mut self,
        mut delta: JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        self.thoughts(&mut delta, out)?;
        let is_thought = google_thoughts::take_mark(&mut delta);
        for part in read_content_parts(delta.take("content")) {
            match part {
                ChatContentPart::Text(text) if text.is_empty() => {}
                ChatContentPart::Text(text) if is_thought => {
                    self.after_thought = true;
                    self.end_calls(out);
                    let thought = google_thoughts::thought(&text).to_owned();
                    self.blocks.thinking(thought, out);
                }
                ChatContentPart::Text(text) if std::mem::take(&mut self.after_thought) => {
                    self.text(google_thoughts::answer(&text).to_owned(), out);
                }
                ChatContentPart::Text(text) => self.text(text, out),
                ChatContentPart::Thought(text) => {
                    self.end_calls(out);
                    self.blocks.thinking(text, out);
                }
                ChatContentPart::Image(picture) => self.image(picture, out),
            }
        }
        for picture in take_images(&mut delta) {
            self.image(picture, out);
        }
        if let Some(refusal) = delta.opt_string("refusal")? {
            self.refuse(refusal, out);
        }
        let path = delta.path().key("tool_calls");
        let mut calls = delta.opt_list("tool_calls")?.unwrap_or_default();
        if calls.is_empty() {
            calls.extend(former_call(&mut delta));
        }
        if !calls.is_empty() {
            self.write_signature(&calls, out);
        }
        for (i, call) in calls.into_iter().enumerate() {
            let mut fragment = read_fragment(call, &path.index(i), &self.context)?;
            fragment.signature = fragment
                .signature
                .filter(|signature| self.signature.as_ref() != Some(signature));
            let pushed = self
                .calls
                .push(fragment, &mut self.blocks, &self.context, out);
            if let Err(why) = pushed {
                self.fail(ApiError::invalid_stream(why), out);
                break;
            }
        }
        self.cite(delta.peek(ANNOTATIONS), out);
        if delta.peek(AUDIO).is_some_and(Value::is_object)
            && let Some(Value::Object(audio)) = delta.take(AUDIO)
            && !self.ended
        {
            out.push(audio_event(audio));
        }
        let rest = unknown_fields(delta, &["role", "reasoning_details"]);
        self.keep(rest, Place::Message);
        Ok(())
    }

    /// Announces citations while their text is open. Chat counts characters of the whole
    /// message, so those in a later text have no place.
    fn cite(&mut self, annotations: Option<&Value>, out: &mut Vec<StreamEvent>) {
        if self.ended || self.own_bytes > MAX_OWN_BYTES {
            return;
        }
        self.citations.extend(citations_from_chat(annotations));
        if self.texts == 1 && self.blocks.open() == OpenBlockKind::Text {
            out.extend(self.citations.drain(..).map(annotation_event));
        }
    }

    fn thoughts(
        &mut self,
        delta: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let text = match self.reasoning.take(delta) {
            Ok(text) => text,
            Err(why) => {
                self.fail(ApiError::invalid_stream(why), out);
                return Ok(());
            }
        };
        if !text.is_empty() {
            self.end_calls(out);
            self.blocks.thinking(text, out);
        }
        // Gateways repeat the thought as a block; only what is new in it counts.
        for block in delta.opt_list("thinking_blocks")?.unwrap_or_default() {
            let text = |key: &str| {
                let value = block.get(key).and_then(Value::as_str).unwrap_or_default();
                value.to_owned()
            };
            let (signature, data) = (text("signature"), text("data"));
            if !signature.is_empty() {
                self.reasoning.mark_signed(&signature);
                self.signature = Some(signature.clone());
                self.blocks.signature(signature, out);
                self.blocks.close(out);
            } else if !data.is_empty() {
                self.write_signature(&[], out);
                let block = Block::new(Content::RedactedThinking { data });
                self.blocks.whole(block, out);
            }
        }
        Ok(())
    }

    /// Encodes the server's reasoning state, so that it can be sent back. Details may name
    /// calls: those so far, and those that begin now.
    fn write_signature(&mut self, beginning: &[Value], out: &mut Vec<StreamEvent>) {
        let mut ids = self.calls.ids(&self.context);
        for call in beginning {
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
            if !id.is_empty() && !ids.iter().any(|known| known == id) {
                ids.push(id.to_owned());
            }
        }
        self.reasoning
            .write_signature(&ids, &self.context, &mut self.blocks, out);
    }

    fn image(&mut self, picture: Content, out: &mut Vec<StreamEvent>) {
        self.end_calls(out);
        self.write_signature(&[], out);
        if !self.ended {
            self.blocks.whole(Block::new(picture), out);
        }
    }

    /// Other content follows: the calls so far are complete.
    fn end_calls(&mut self, out: &mut Vec<StreamEvent>) {
        if matches!(self.blocks.open(), OpenBlockKind::Call(_))
            && let Err(why) = self.calls.finish(&mut self.blocks, &self.context, out)
        {
            self.fail(ApiError::invalid_stream(why), out);
        }
    }

    /// More of a refusal, which is a text apart from others.
    fn refuse(&mut self, refusal: String, out: &mut Vec<StreamEvent>) {
        self.refusal.push_str(&refusal);
        self.grow_text(true, refusal, out);
    }

    fn text(&mut self, text: String, out: &mut Vec<StreamEvent>) {
        self.grow_text(false, text, out);
    }

    /// More of the answer, or of a refusal.
    fn grow_text(&mut self, refusing: bool, text: String, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        if matches!(self.blocks.open(), OpenBlockKind::Call(_)) {
            if !self.late_texts.is_empty() || !self.calls.all_complete() {
                self.delay(LateText { refusing, text }, out);
                return;
            }
            self.end_calls(out);
        }
        let continues = std::mem::replace(&mut self.refusing, refusing) == refusing;
        if !continues && self.blocks.open() == OpenBlockKind::Text {
            self.blocks.close(out);
        }
        if self.blocks.open() != OpenBlockKind::Text {
            self.write_signature(&[], out);
            self.texts += 1;
        }
        self.blocks.text_in(|| empty_text(refusing), text, out);
    }

    /// Retains a text until the calls are complete.
    fn delay(&mut self, late: LateText, out: &mut Vec<StreamEvent>) {
        self.late_bytes += late.text.len();
        if self.late_bytes > MAX_LATE_TEXT_BYTES {
            self.fail(ApiError::invalid_stream("a tool call that never ends"), out);
            return;
        }
        match self.late_texts.last_mut() {
            Some(last) if last.refusing == late.refusing => last.text.push_str(&late.text),
            _ => self.late_texts.push(late),
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        if !self.started {
            self.fail(ApiError::truncated(), out);
            return;
        }
        if let Err(why) = self.calls.finish(&mut self.blocks, &self.context, out) {
            self.fail(ApiError::invalid_stream(why), out);
            return;
        }
        for LateText { refusing, text } in std::mem::take(&mut self.late_texts) {
            self.blocks.close(out);
            self.blocks.text_in(|| empty_text(refusing), text, out);
        }
        self.write_signature(&[], out);
        self.blocks.close(out);
        let refused = !self.refusal.is_empty();
        let reason = self.finish_reason.as_deref();
        let stop = match stop_reason(reason, !self.calls.is_empty(), refused) {
            Ok(stop) => stop,
            Err(error) => return self.fail(error, out),
        };
        self.usage
            .set_tier(service_tier(self.own.body.get("service_tier")));
        out.push(StreamEvent::MessageDelta {
            stop_reason: Some(stop),
            stop_sequence: None,
            stop_details: refused.then(|| refusal_details(Some(&self.refusal))),
            container: None,
            usage: self.usage.clone(),
            rest: std::mem::take(&mut self.own).write(Dialect::Chat),
        });
        out.push(StreamEvent::MessageStop);
        self.ended = true;
    }

    /// Retains the fields of a choice or its message that only this dialect has.
    fn keep(&mut self, rest: Map, place: Place) {
        if rest.is_empty() {
            return;
        }
        self.own_bytes += serde_json::to_string(&rest).map_or(0, |text| text.len());
        if self.own_bytes > MAX_OWN_BYTES {
            return;
        }
        match place {
            Place::Choice => add_choice(&mut self.own.choice, rest),
            Place::Message => merge(&mut self.own.message, rest),
        }
    }

    fn fail(&mut self, error: ApiError, out: &mut Vec<StreamEvent>) {
        if !self.ended {
            self.ended = true;
            out.push(StreamEvent::Error(error));
        }
    }
}

/// Maximum bytes of retained fields that grow from chunk to chunk.
const MAX_OWN_BYTES: usize = 8 << 20;

/// A text that came between fragments of a call.
#[derive(Debug)]
struct LateText {
    /// Whether it is of a refusal.
    refusing: bool,
    text: String,
}

/// A text that grows.
fn empty_text(refusing: bool) -> Block {
    if refusing {
        empty_refusal()
    } else {
        Block::text("")
    }
}

/// Where a field of a chunk comes from.
#[derive(Debug, Clone, Copy)]
enum Place {
    Choice,
    Message,
}

/// The fields that were not read, except known ones.
fn unknown_fields(fields: JsonFields<'_>, known: &[&str]) -> Map {
    let mut rest = fields.rest();
    rest.retain(|key, value| !value.is_null() && !known.contains(&key.as_str()));
    rest
}

fn read_fragment(
    value: Value,
    path: &JsonPath<'_>,
    context: &ReadContext,
) -> Result<CallFragment, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let extra = fields.take(extra_content::FIELD).filter(Value::is_object);
    let freeform = fields.peek("custom").is_some_and(Value::is_object);
    let mut fragment = CallFragment {
        index: fields.opt_u64("index")?,
        id: fields.opt_string("id")?,
        name: None,
        arguments: String::new(),
        freeform,
        signature: extra.map(|extra| extra_content::encode_extra(&extra, Some(&context.server))),
    };
    let key = if freeform { "custom" } else { "function" };
    let path = path.key(key);
    let Some(inner) = fields.take(key) else {
        return Ok(fragment);
    };
    let mut inner = JsonFields::from_value(inner, &path)?;
    fragment.name = inner.opt_string("name")?;
    fragment.arguments = if freeform {
        escaped(&inner.opt_string("input")?.unwrap_or_default())
    } else {
        match inner.take("arguments") {
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
            None => String::new(),
        }
    };
    Ok(fragment)
}

/// Text escaped for the inside of a JSON string.
pub(crate) fn escaped(text: &str) -> String {
    let json = Value::from(text).to_string();
    let inner = json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

/// Whether a chunk comes before the response: Azure first sends the prompt's filter
/// results, without an id.
fn is_preface(fields: &JsonFields<'_>) -> bool {
    let choices = fields.peek("choices").and_then(Value::as_array);
    let nameless = fields.peek("id").and_then(Value::as_str) == Some("");
    nameless && choices.is_some_and(Vec::is_empty)
}
