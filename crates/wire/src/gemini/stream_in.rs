//! A streamGenerateContent stream, read: every event is a fragment of a response.

use serde_json::Value;

use super::code_execution;
use super::error::read_error_value;
use super::partial_calls::{CallPiece, PartialCall};
use super::price_details::web_searches;
use super::response_part_in::{
    OutputState, ResponsePart, ResponsePartContent, block_reason, read_part, read_usage,
    stop_reason,
};
use crate::Dialect;
use crate::blocks::BlockEmitter;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::{JsonFields, parse};
use crate::json_path::JsonPath;
use crate::neutral::{
    ApiError, Map, ResponseDialectFields, StopReason, StreamEvent, TokenUsage, add_choice,
    refusal_details,
};
use crate::signature_envelope::encode_gemini_signature;
use crate::tool_names::generated_call_id;

/// Reads the fragments of one stream.
#[derive(Debug)]
pub(crate) struct GeminiReader {
    context: ReadContext,
    started: bool,
    ended: bool,
    blocks: BlockEmitter,
    calls: u64,
    /// How often Google's servers ran code.
    code_runs: usize,
    /// The call whose arguments are not complete yet.
    partial_call: Option<PartialCall>,
    /// The signature of that call, which any of its pieces may have.
    partial_signature: Option<String>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
    blocked: Option<String>,
    usage: TokenUsage,
    /// How often the web was searched, according to the fragment with the most searches.
    searches: u64,
    /// Fields of the fragments that only this dialect has.
    own: ResponseDialectFields,
    token_bytes: usize,
}

/// Fields of every fragment that are read elsewhere.
const READ_FIELDS: [&str; 3] = ["modelVersion", "promptFeedback", "responseId"];

/// Maximum bytes of the tokens' log probabilities, which grow from fragment to fragment.
const MAX_TOKEN_BYTES: usize = 8 << 20;

impl GeminiReader {
    pub(crate) fn new(context: ReadContext) -> Self {
        GeminiReader {
            context,
            started: false,
            ended: false,
            blocks: BlockEmitter::default(),
            calls: 0,
            code_runs: 0,
            partial_call: None,
            partial_signature: None,
            finish_reason: None,
            finish_message: None,
            blocked: None,
            usage: TokenUsage::default(),
            searches: 0,
            own: ResponseDialectFields::default(),
            token_bytes: 0,
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
        if let Some(error) = fields.take("error") {
            self.fail(read_error_value(None, &error), out);
            return Ok(());
        }
        self.start(&mut fields, out)?;
        if let Some(usage) = fields.take("usageMetadata") {
            self.usage = read_usage(usage, &root.key("usageMetadata"))?;
        }
        if let Some(reason) = block_reason(fields.peek("promptFeedback")) {
            self.blocked = Some(reason);
        }
        let candidates = fields.opt_list("candidates")?.unwrap_or_default();
        // Only one candidate is ever requested.
        let is_first = |candidate: &Value| {
            matches!(
                candidate.get("index").and_then(Value::as_u64),
                None | Some(0)
            )
        };
        if let Some(candidate) = candidates.into_iter().find(is_first) {
            self.candidate(candidate, out)?;
        }
        let mut rest = non_empty(fields.rest());
        rest.retain(|key, _| !READ_FIELDS.contains(&key.as_str()));
        self.own.body.extend(rest);
        Ok(())
    }

    /// The stream's bytes have ended; there is no other end marker.
    pub(crate) fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if self.finish_reason.is_some() {
            self.end_partial_call(out);
        }
        let stop = match (&self.finish_reason, &self.blocked) {
            (None, None) => Err(ApiError::truncated()),
            (Some(reason), None) => stop_reason(reason, self.output_state()),
            (_, Some(_)) => Ok(StopReason::Refusal),
        };
        let stop = match stop {
            Ok(stop) => stop,
            Err(error) => return self.fail(error, out),
        };
        self.blocks.close(out);
        self.usage.set_web_searches(self.searches);
        let refused = stop == StopReason::Refusal;
        let why = self
            .finish_message
            .as_ref()
            .or(self.blocked.as_ref())
            .or(self.finish_reason.as_ref());
        out.push(StreamEvent::MessageDelta {
            stop_details: refused.then(|| refusal_details(why.map(String::as_str))),
            stop_reason: Some(stop),
            stop_sequence: None,
            container: None,
            usage: self.usage.clone(),
            rest: std::mem::take(&mut self.own).write(Dialect::Gemini),
        });
        out.push(StreamEvent::MessageStop);
        self.ended = true;
    }

    fn output_state(&self) -> OutputState {
        match (self.calls > 0, self.blocks.is_empty()) {
            (true, _) => OutputState::Calls,
            (false, false) => OutputState::Content,
            (false, true) => OutputState::Empty,
        }
    }

    fn start(
        &mut self,
        fields: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        if std::mem::replace(&mut self.started, true) {
            return Ok(());
        }
        let id = fields.opt_string("responseId")?;
        let model = fields.opt_string("modelVersion")?;
        if let Some(id) = &id {
            self.context.id.clone_from(id);
        }
        out.push(StreamEvent::MessageStart {
            id: id.unwrap_or_else(|| self.context.id.clone()),
            model: model.unwrap_or_else(|| self.context.model.clone()),
            usage: TokenUsage::default(),
            rest: Default::default(),
        });
        Ok(())
    }

    fn candidate(&mut self, value: Value, out: &mut Vec<StreamEvent>) -> Result<(), WireError> {
        let root = JsonPath::Root;
        let candidates = root.key("candidates");
        let path = candidates.index(0);
        let mut candidate = JsonFields::from_value(value, &path)?;
        if let Some(content) = candidate.take("content") {
            let path = path.key("content");
            let parts = JsonFields::from_value(content, &path)?.opt_list("parts")?;
            let path = path.key("parts");
            for (i, part) in parts.unwrap_or_default().into_iter().enumerate() {
                let part = read_part(part, &path.index(i), &self.context)?;
                self.part(part, out);
            }
        }
        if let Some(reason) = candidate.opt_string("finishReason")? {
            self.finish_reason = Some(reason);
        }
        if let Some(message) = candidate.opt_string("finishMessage")? {
            self.finish_message = Some(message);
        }
        let searches = web_searches(candidate.peek("groundingMetadata"));
        self.searches = self.searches.max(searches);
        candidate.take("index");
        self.keep(non_empty(candidate.rest()));
        Ok(())
    }

    /// Retains the fields of a candidate that only this dialect has. Of several fragments the
    /// last stands, as in Google's SDKs.
    fn keep(&mut self, mut rest: Map) {
        if let Some(tokens) = rest.get("logprobsResult") {
            self.token_bytes += tokens.to_string().len();
            if self.token_bytes > MAX_TOKEN_BYTES {
                rest.shift_remove("logprobsResult");
            }
        }
        add_choice(&mut self.own.choice, rest);
    }

    fn part(&mut self, part: ResponsePart, out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        let part = match part.content {
            ResponsePartContent::Piece(piece) => return self.piece(piece, part.signature, out),
            // Other content ends a call, as the end of the stream does. Some streams have an
            // empty text after each of its pieces.
            ResponsePartContent::Text(text) if text.is_empty() && part.signature.is_none() => {
                return;
            }
            content => ResponsePart { content, ..part },
        };
        self.end_partial_call(out);
        if let ResponsePartContent::Thought(text) = part.content {
            self.blocks.thinking(text, out);
            self.sign(part.signature, out);
            return;
        }
        self.sign(part.signature, out);
        match part.content {
            ResponsePartContent::Text(text) if text.is_empty() => {}
            ResponsePartContent::Text(text) => self.blocks.text(text, out),
            ResponsePartContent::Call { id, name, args } => {
                self.call(id, name, &args, out);
            }
            ResponsePartContent::Whole(mut block) => {
                code_execution::add_id(&mut block.rest, &self.context.id, &mut self.code_runs);
                self.blocks.whole(block, out);
            }
            ResponsePartContent::Thought(_) | ResponsePartContent::Piece(_) => {}
        }
    }

    fn call(&mut self, id: Option<String>, name: String, args: &Value, out: &mut Vec<StreamEvent>) {
        let n = usize::try_from(self.calls).unwrap_or(usize::MAX);
        let id = id.unwrap_or_else(|| generated_call_id(&self.context.id, n));
        self.blocks.call(self.calls, id, name, out);
        self.blocks.arguments(args.to_string(), out);
        self.blocks.close(out);
        self.calls += 1;
    }

    /// A piece of a call: its beginning, some of its arguments, or, without either, its end.
    fn piece(&mut self, piece: CallPiece, signature: Option<String>, out: &mut Vec<StreamEvent>) {
        if let Some(call) = piece.begins {
            self.end_partial_call(out);
            self.partial_call = Some(call);
        }
        if self.partial_call.is_some() && signature.is_some() {
            self.partial_signature = signature;
        }
        let grown = match &mut self.partial_call {
            Some(call) => call.grow(piece.places),
            None if piece.places.is_empty() => Ok(()),
            None => Err("arguments of no tool call"),
        };
        if let Err(why) = grown {
            self.fail(ApiError::invalid_stream(why), out);
        }
    }

    fn end_partial_call(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(call) = self.partial_call.take() {
            let (id, name, args) = call.into_parts();
            let signature = self.partial_signature.take();
            self.sign(signature, out);
            self.call(id, name, &args, out);
        }
    }

    /// A signature belongs to the thought before it, and ends it.
    fn sign(&mut self, signature: Option<String>, out: &mut Vec<StreamEvent>) {
        if let Some(signature) = signature {
            self.blocks
                .signature(encode_gemini_signature(&signature), out);
            self.blocks.close(out);
        }
    }

    fn fail(&mut self, error: ApiError, out: &mut Vec<StreamEvent>) {
        if !self.ended {
            self.ended = true;
            out.push(StreamEvent::Error(error));
        }
    }
}

/// The fields with a value: some fragments have an empty object in place of what the others say.
fn non_empty(mut rest: Map) -> Map {
    rest.retain(|_, value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    });
    rest
}
