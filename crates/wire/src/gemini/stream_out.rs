//! Writes a streamGenerateContent stream for a client: as events, or as the elements of
//! one JSON array for clients that did not request events.

use serde_json::{Value, json};

use super::error::render_error;
use super::response_part_out::{
    NO_SUCH_PART, PartSigner, call, finish_message, finish_reason, text, thought, whole,
    write_usage,
};
use crate::Dialect;
use crate::arguments;
use crate::context::ReplyContext;
use crate::dropped::Dropped;
use crate::drops::Drops;
use crate::fields::put;
use crate::json_path::JsonPath;
use crate::neutral::{
    Block, Content, Delta, Map, ResponseDialectFields, StopReason, StreamEvent, is_audio,
    without_dialect_fields,
};
use crate::sse::write_json;

/// Writes the fragments of one stream.
#[derive(Debug)]
pub(crate) struct GeminiWriter {
    context: ReplyContext,
    id: String,
    model: String,
    signing: PartSigner,
    open: OpenPart,
    /// How many elements of an array were written.
    written: usize,
    drops: Drops,
}

/// The open block.
#[derive(Debug)]
enum OpenPart {
    /// Written as it comes, or complete already.
    Plain,
    /// A thought, retained for its signature.
    Thought(Box<Block>),
    /// A call, written when its arguments are complete.
    Call(Box<Block>, String),
}

impl GeminiWriter {
    pub(crate) fn new(context: ReplyContext) -> Self {
        GeminiWriter {
            context,
            id: String::new(),
            model: String::new(),
            signing: PartSigner::default(),
            open: OpenPart::Plain,
            written: 0,
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
                id.clone_into(&mut self.id);
                if let Some(known) = &self.context.id {
                    known.clone_into(&mut self.id);
                }
                self.model = self.context.model_or(model).to_owned();
            }
            StreamEvent::BlockStart { index, block } => self.start(*index, block, out),
            StreamEvent::BlockDelta { index, delta } => self.delta(*index, delta, out),
            StreamEvent::BlockStop { index } => self.stop(*index, out),
            // A call of which only a part came was none, and a thought of which only a part came
            // has no signature.
            StreamEvent::BlockAbandoned { .. } => self.open = OpenPart::Plain,
            StreamEvent::MessageDelta { .. } => self.last(event, out),
            StreamEvent::MessageStop => self.end(out),
            // The SDKs treat a comment as a fragment that is not JSON.
            StreamEvent::Ping => out.extend_from_slice(b"\n\n"),
            StreamEvent::Error(error) => self.fail(&render_error(error).body, out),
            // Progress events of another dialect's servers, and speech that no client of this
            // dialect can have requested.
            StreamEvent::Other { name, .. } if name.starts_with("response.") => {}
            StreamEvent::Other { name, .. } if is_audio(name) => {}
            StreamEvent::Other { name, .. } => self.drops.add(name.as_str(), NO_SUCH_PART),
        }
    }

    fn start(&mut self, index: usize, block: &Block, out: &mut Vec<u8>) {
        self.open = OpenPart::Plain;
        match &block.content {
            Content::Text(content) if content.is_empty() => {}
            Content::Text(content) => self.part(text(content), out),
            Content::Thinking { thinking, .. } => {
                self.show(thinking, out);
                self.open = OpenPart::Thought(Box::new(block.clone()));
            }
            Content::RedactedThinking { .. } => self.signing.thought(block.clone()),
            Content::ToolUse { .. } | Content::ServerToolUse { .. } => {
                self.open = OpenPart::Call(Box::new(block.clone()), String::new());
            }
            _ => self.whole(index, block, out),
        }
    }

    fn delta(&mut self, index: usize, delta: &Delta, out: &mut Vec<u8>) {
        match (delta, &mut self.open) {
            (Delta::Text(content), _) if content.is_empty() => {}
            (Delta::Text(content), _) => self.part(text(content), out),
            (Delta::Thinking(more), OpenPart::Thought(block)) => {
                if let Content::Thinking { thinking, .. } = &mut block.content {
                    thinking.push_str(more);
                }
                self.show(more, out);
            }
            (Delta::Signature(whole), OpenPart::Thought(block)) => {
                if let Content::Thinking { signature, .. } = &mut block.content {
                    whole.clone_into(signature);
                }
            }
            (Delta::InputJson(more), OpenPart::Call(_, json)) => json.push_str(more),
            (Delta::Other(_), _) => {
                let path = JsonPath::Root.key("content");
                self.drops.add(path.index(index).key("delta"), NO_SUCH_PART);
            }
            // The deltas of a block that was noted when it began.
            _ => {}
        }
    }

    fn stop(&mut self, index: usize, out: &mut Vec<u8>) {
        match std::mem::replace(&mut self.open, OpenPart::Plain) {
            OpenPart::Plain => {}
            OpenPart::Thought(block) => self.signing.thought(*block),
            OpenPart::Call(mut block, json) => {
                if let (
                    Content::ToolUse { input, .. } | Content::ServerToolUse { input, .. },
                    false,
                ) = (&mut block.content, json.is_empty())
                {
                    *input = arguments::parse(json);
                }
                self.write_call(index, &block, out);
            }
        }
    }

    fn write_call(&mut self, index: usize, block: &Block, out: &mut Vec<u8>) {
        let Content::ToolUse { id, name, input } = &block.content else {
            return self.whole(index, block, out);
        };
        let path = JsonPath::Root.key("content");
        let part = call(id, name, input, &path.index(index), &mut self.drops);
        self.part(part, out);
    }

    fn whole(&mut self, index: usize, block: &Block, out: &mut Vec<u8>) {
        let path = JsonPath::Root.key("content");
        for part in whole(block, None, &path.index(index), &mut self.drops) {
            self.part(part, out);
        }
    }

    fn show(&mut self, more: &str, out: &mut Vec<u8>) {
        if self.context.show_thoughts && !more.is_empty() {
            self.fragment(vec![thought(more)], Map::new(), Map::new(), out);
        }
    }

    fn part(&mut self, part: Value, out: &mut Vec<u8>) {
        let part = self.signing.sign_part(part);
        self.fragment(vec![part], Map::new(), Map::new(), out);
    }

    fn last(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        let StreamEvent::MessageDelta {
            stop_reason,
            stop_details,
            container,
            usage,
            rest,
            ..
        } = event
        else {
            return;
        };
        let reason = finish_reason(stop_reason.as_ref());
        let mut end = Map::from_iter([("finishReason".to_owned(), reason.into())]);
        if *stop_reason == Some(StopReason::Refusal) {
            let message = finish_message(stop_details.as_ref());
            put(&mut end, "finishMessage", message);
        }
        let own = ResponseDialectFields::read(Dialect::Gemini, rest);
        end.extend(own.choice);
        let mut more = Map::from_iter([("usageMetadata".to_owned(), write_usage(usage))]);
        put(&mut more, "container", container.clone());
        more.extend(own.body);
        more.extend(without_dialect_fields(rest));
        // The SDKs forget a turn that has a fragment without parts.
        let part = self.signing.trailing_part().unwrap_or_else(|| text(""));
        self.fragment(vec![part], end, more, out);
    }

    fn fragment(&mut self, parts: Vec<Value>, end: Map, more: Map, out: &mut Vec<u8>) {
        let mut candidate = Map::new();
        let content = json!({"parts": parts, "role": "model"});
        candidate.insert("content".to_owned(), content);
        candidate.extend(end);
        candidate.insert("index".to_owned(), 0.into());
        let mut body = Map::new();
        body.insert("candidates".to_owned(), json!([candidate]));
        body.insert("modelVersion".to_owned(), self.model.as_str().into());
        body.insert("responseId".to_owned(), self.id.as_str().into());
        body.extend(more);
        self.json(&Value::Object(body), out);
    }

    fn json(&mut self, body: &Value, out: &mut Vec<u8>) {
        if !self.context.json_array {
            return write_json(out, "", body);
        }
        out.extend_from_slice(if self.written == 0 { b"[" } else { b",\r\n" });
        self.written += 1;
        out.extend_from_slice(body.to_string().as_bytes());
    }

    fn end(&self, out: &mut Vec<u8>) {
        if self.context.json_array {
            let nothing: &[u8] = if self.written == 0 { b"[" } else { b"" };
            out.extend_from_slice(nothing);
            out.extend_from_slice(b"]");
        }
    }

    /// Reports that the response was aborted. Google's servers report it outside of any event,
    /// and the JavaScript SDK looks for it only there.
    fn fail(&mut self, body: &Value, out: &mut Vec<u8>) {
        self.json(body, out);
        if self.context.json_array {
            return self.end(out);
        }
        out.extend_from_slice(body.to_string().as_bytes());
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_abandoned_is_not_written() {
        let mut writer = GeminiWriter::new(ReplyContext::default());
        let mut out = Vec::new();
        let call = |end| {
            let block = Block::tool_use("call_1", "weather", json!({}));
            let delta = Delta::InputJson("{\"city\":\"Oslo\"}".to_owned());
            [
                StreamEvent::BlockStart { index: 0, block },
                StreamEvent::BlockDelta { index: 0, delta },
                end,
            ]
        };
        for event in call(StreamEvent::BlockAbandoned { index: 0 }) {
            writer.write(&event, &mut out);
        }
        assert!(out.is_empty(), "{}", String::from_utf8_lossy(&out));
        for event in call(StreamEvent::BlockStop { index: 0 }) {
            writer.write(&event, &mut out);
        }
        let written = String::from_utf8(out).unwrap();
        assert_eq!(written.matches("Oslo").count(), 1, "{written}");
    }
}
