//! A Chat Completions stream, written for a client.

use serde_json::{Value, json};

use super::USAGE_FIELDS;
use super::former_functions::ONE_CALL;
use super::reasoning_reply::{ReasoningReply, with_details};
use super::response_out::{NO_SUCH_BLOCK, finish_reason, freeform_text};
use crate::Dialect;
use crate::anthropic::block_to_client;
use crate::arguments;
use crate::context::ReplyContext;
use crate::dropped::Dropped;
use crate::drops::Drops;
use crate::fields::put;
use crate::generated_images;
use crate::json_path::JsonPath;
use crate::neutral::{
    ANNOTATIONS, AUDIO, Block, Content, Delta, Map, ResponseDialectFields, StreamEvent, TokenUsage,
    is_audio, take_citations_for_chat, without_dialect_fields,
};
use crate::openai::{StreamedText, explanation, is_refusal, render_error, write_usage};
use crate::sse::{write_json, write_text};

/// Writes the chunks of one stream.
#[derive(Debug)]
pub(crate) struct ChatWriter {
    context: ReplyContext,
    id: String,
    model: String,
    calls: usize,
    streamed_text: StreamedText,
    /// Whether a refusal was written in its own field.
    refused: bool,
    /// Characters of text so far, and before the open text.
    characters: usize,
    characters_before: usize,
    /// Citations in the text, written once: the SDKs cannot merge several lists.
    annotations: Vec<Value>,
    /// How many thoughts were written whole.
    thoughts: usize,
    images: usize,
    reasoning: ReasoningReply,
    open: OpenPart,
    drops: Drops,
}

/// The open block.
#[derive(Debug)]
enum OpenPart {
    /// Text, or a block this dialect does not support.
    Plain,
    /// Text that is a refusal.
    Refusal,
    /// A call, and whether any of its arguments were written.
    Call(bool),
    /// A free-form call, whose text is known only when its JSON is complete.
    Freeform(String),
    /// A thought, retained to be written again with its signature.
    Thought(Box<Block>),
}

impl ChatWriter {
    pub(crate) fn new(context: ReplyContext) -> Self {
        ChatWriter {
            context,
            id: String::new(),
            model: String::new(),
            calls: 0,
            streamed_text: StreamedText::default(),
            refused: false,
            characters: 0,
            characters_before: 0,
            annotations: Vec::new(),
            thoughts: 0,
            images: 0,
            reasoning: ReasoningReply::default(),
            open: OpenPart::Plain,
            drops: Drops::default(),
        }
    }

    /// What of the stream so far could not be translated.
    pub(crate) fn take_dropped(&mut self) -> Vec<Dropped> {
        std::mem::take(&mut self.drops).into_vec()
    }

    pub(crate) fn write(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        match event {
            StreamEvent::MessageStart { id, model, .. } => {
                self.id = self.context.id_for(id, "chatcmpl-");
                self.model = self.context.model_or(model).to_owned();
                self.chunk(json!({"role": "assistant", "content": ""}), None, out);
            }
            StreamEvent::BlockStart { index, block } => self.start(*index, block, out),
            StreamEvent::BlockDelta { index, delta } => self.delta(*index, delta, out),
            StreamEvent::BlockStop { .. } | StreamEvent::BlockAbandoned { .. } => self.stop(out),
            StreamEvent::MessageDelta {
                stop_reason,
                stop_details,
                container,
                usage,
                rest,
                ..
            } => {
                let refusal = explanation(stop_details.as_ref());
                if let (true, Some(why)) = (self.streamed_text.is_empty(), refusal) {
                    self.chunk(json!({"refusal": why}), None, out);
                }
                let is_all = refusal.is_some_and(|why| self.streamed_text.allows_refusal(why));
                let is_refusal = self.refused || is_all;
                let reason = finish_reason(stop_reason.as_ref(), is_refusal, &self.context);
                let mut own = ResponseDialectFields::read(Dialect::Chat, rest);
                let citations = std::mem::take(&mut self.annotations);
                if !citations.is_empty() && !own.message.contains_key(ANNOTATIONS) {
                    own.message.insert(ANNOTATIONS.to_owned(), citations.into());
                }
                let mut rest = without_dialect_fields(rest);
                rest.extend(own.body);
                put(&mut rest, "container", container.clone());
                if !own.message.is_empty() {
                    self.chunk(Value::Object(own.message), None, out);
                }
                self.last(reason, own.choice, rest, usage, out);
            }
            StreamEvent::MessageStop => write_text(out, "", "[DONE]"),
            StreamEvent::Ping => out.extend_from_slice(b": ping\n\n"),
            StreamEvent::Error(error) => write_json(out, "", &render_error(error).body),
            StreamEvent::Other { name, data } if is_audio(name) => {
                self.chunk(json!({AUDIO: data}), None, out);
            }
            // Progress events of another dialect's servers; the block itself is reported.
            StreamEvent::Other { name, .. } if name.starts_with("response.") => {}
            StreamEvent::Other { name, .. } => self.drops.add(name.as_str(), NO_SUCH_BLOCK),
        }
    }

    fn start(&mut self, index: usize, block: &Block, out: &mut Vec<u8>) {
        self.open = OpenPart::Plain;
        match &block.content {
            Content::Text(text) => {
                if is_refusal(block) {
                    self.open = OpenPart::Refusal;
                    self.refused = true;
                }
                self.reasoning.text();
                self.characters_before = self.characters;
                if self.take_citations(&block.rest).contains_key(ANNOTATIONS) {
                    let path = JsonPath::Root.key("content");
                    let path = path.index(index);
                    self.drops.add(path.key(ANNOTATIONS), NO_SUCH_BLOCK);
                }
                if !text.is_empty() {
                    self.characters += text.chars().count();
                    self.chunk(json!({self.text_field(): text}), None, out);
                }
            }
            Content::Thinking { .. } => self.open = OpenPart::Thought(Box::new(block.clone())),
            Content::RedactedThinking { .. } => {
                self.thought(block, out);
            }
            Content::ToolUse { name, input, .. } if self.context.function_calls => {
                self.start_function_call(index, name, input, out);
            }
            Content::ToolUse { id, name, input } => {
                let freeform = self.context.freeform.contains(name);
                let mut call = if freeform {
                    json!({"index": self.calls, "id": id, "type": "custom",
                        "custom": {"name": name, "input": ""}})
                } else {
                    json!({"index": self.calls, "id": id, "type": "function",
                        "function": {"name": name, "arguments": first_arguments(input)}})
                };
                self.reasoning.call(&mut call);
                let details = self.reasoning.details_with_call(self.calls, id);
                self.calls += 1;
                self.open = if freeform {
                    OpenPart::Freeform(first_arguments(input))
                } else {
                    OpenPart::Call(!first_arguments(input).is_empty())
                };
                let delta = with_details(json!({"tool_calls": [call]}), details);
                self.chunk(delta, None, out);
            }
            Content::Image(source) => match generated_images::write_chat_image(source, self.images)
            {
                Some(image) => {
                    self.images += 1;
                    self.chunk(json!({"images": [image]}), None, out);
                }
                None => self.drop_unsupported(index),
            },
            _ => self.drop_unsupported(index),
        }
    }

    /// Begins the only call of a response to a client with `functions`.
    fn start_function_call(&mut self, index: usize, name: &str, input: &Value, out: &mut Vec<u8>) {
        if self.calls > 0 {
            let path = JsonPath::Root.key("content");
            self.drops.add(path.index(index), ONE_CALL);
            return;
        }
        self.calls = 1;
        let arguments = first_arguments(input);
        self.open = OpenPart::Call(!arguments.is_empty());
        let call = json!({"name": name, "arguments": arguments});
        self.chunk(json!({"function_call": call}), None, out);
    }

    /// The field that the open text is in.
    fn text_field(&self) -> &'static str {
        match self.open {
            OpenPart::Refusal => "refusal",
            _ => "content",
        }
    }

    fn drop_unsupported(&mut self, index: usize) {
        let path = JsonPath::Root.key("content");
        self.drops.add(path.index(index), NO_SUCH_BLOCK);
    }

    fn delta(&mut self, index: usize, delta: &Delta, out: &mut Vec<u8>) {
        match (delta, &mut self.open) {
            (Delta::Text(text), _) => {
                self.streamed_text.push(text);
                self.characters += text.chars().count();
                self.chunk(json!({self.text_field(): text}), None, out);
            }
            (Delta::Thinking(text), OpenPart::Thought(block)) => {
                if let Content::Thinking { thinking, .. } = &mut block.content {
                    thinking.push_str(text);
                }
                self.chunk(json!({"reasoning_content": text}), None, out);
            }
            (Delta::Signature(text), OpenPart::Thought(block)) => {
                if let Content::Thinking { signature, .. } = &mut block.content {
                    text.clone_into(signature);
                }
            }
            (Delta::InputJson(json), OpenPart::Freeform(text)) => text.push_str(json),
            (Delta::InputJson(json), OpenPart::Call(has_arguments)) => {
                *has_arguments |= !json.is_empty();
                self.delta_of_call(json, out);
            }
            (Delta::Rest(rest), _) => {
                let rest = self.take_citations(rest);
                let path = JsonPath::Root.key("content");
                self.drops.rest(&path.index(index), &rest);
            }
            (Delta::Other(_), _) => self.drops.add(
                JsonPath::Root.key("content").index(index).key("delta"),
                NO_SUCH_BLOCK,
            ),
            // The deltas of a block that was noted when it began.
            _ => {}
        }
    }

    /// Retains the citations among the fields of the open text, and returns the others.
    fn take_citations(&mut self, rest: &Map) -> Map {
        let mut rest = rest.clone();
        let citations = take_citations_for_chat(&mut rest, self.characters_before);
        self.annotations.extend(citations);
        rest
    }

    /// A whole thought, for the client to send back. SDKs merge lists by `index`.
    fn thought(&mut self, block: &Block, out: &mut Vec<u8>) {
        let mut thought = block_to_client(block);
        if let Some(map) = thought.as_object_mut() {
            map.insert("index".to_owned(), self.thoughts.into());
        }
        self.thoughts += 1;
        if let Content::Thinking { signature, .. } = &block.content {
            self.reasoning.thought(signature);
        }
        let details = self.reasoning.details_before_calls();
        let delta = with_details(json!({"thinking_blocks": [thought]}), details);
        self.chunk(delta, None, out);
    }

    fn delta_of_call(&self, json: &str, out: &mut Vec<u8>) {
        if self.context.function_calls {
            let delta = json!({"function_call": {"arguments": json}});
            return self.chunk(delta, None, out);
        }
        let index = self.calls.saturating_sub(1);
        let call = json!({"index": index, "function": {"arguments": json}});
        self.chunk(json!({"tool_calls": [call]}), None, out);
    }

    fn stop(&mut self, out: &mut Vec<u8>) {
        match std::mem::replace(&mut self.open, OpenPart::Plain) {
            OpenPart::Plain | OpenPart::Refusal | OpenPart::Call(true) => {}
            // A call without arguments needs an empty object.
            OpenPart::Call(false) => self.delta_of_call("{}", out),
            OpenPart::Thought(block) => {
                let signed = matches!(&block.content, Content::Thinking { signature, .. } if !signature.is_empty());
                if signed {
                    self.thought(&block, out);
                }
            }
            OpenPart::Freeform(json) => {
                let text = freeform_text(&arguments::parse(json));
                let call =
                    json!({"index": self.calls.saturating_sub(1), "custom": {"input": text}});
                self.chunk(json!({"tool_calls": [call]}), None, out);
            }
        }
    }

    fn last(
        &mut self,
        reason: &str,
        of_choice: Map,
        more: Map,
        usage: &TokenUsage,
        out: &mut Vec<u8>,
    ) {
        if let Some(details) = self.reasoning.all_details(&[]) {
            self.chunk(json!({"reasoning_details": details}), None, out);
        }
        let mut chunk = self.head();
        if let Some(map) = chunk.as_object_mut() {
            let mut choices = choices(json!({}), Some(reason));
            if let Some(choice) = choices.get_mut(0).and_then(Value::as_object_mut) {
                choice.extend(of_choice);
            }
            map.insert("choices".to_owned(), choices);
            map.extend(more);
        }
        write_json(out, "", &chunk);
        if self.context.include_usage {
            let mut chunk = self.head();
            if let Some(map) = chunk.as_object_mut() {
                map.insert("choices".to_owned(), json!([]));
                map.insert("usage".to_owned(), write_usage(usage, &USAGE_FIELDS));
            }
            write_json(out, "", &chunk);
        }
    }

    fn chunk(&self, delta: Value, reason: Option<&str>, out: &mut Vec<u8>) {
        let mut chunk = self.head();
        if let Some(map) = chunk.as_object_mut() {
            map.insert("choices".to_owned(), choices(delta, reason));
        }
        write_json(out, "", &chunk);
    }

    fn head(&self) -> Value {
        let mut head = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.context.created,
            "model": self.model,
            "choices": null,
        });
        if let (true, Some(map)) = (self.context.include_usage, head.as_object_mut()) {
            map.insert("usage".to_owned(), Value::Null);
        }
        head
    }
}

fn choices(delta: Value, reason: Option<&str>) -> Value {
    json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}])
}

/// Arguments known at the start; most providers start without any.
fn first_arguments(input: &Value) -> String {
    match input.as_object() {
        Some(map) if map.is_empty() => String::new(),
        _ => arguments::write(input),
    }
}
