//! A ConverseStream, read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::citations::{CITATIONS, CITATIONS_CONTENT, read_citation};
use super::error::read_exception;
use super::response_in::{image_content, read_usage, service_tier, stop_reason};
use super::server_tools::{StreamedServerTool, is_server_call};
use crate::blocks::{BlockEmitter, OpenBlockKind};
use crate::context::ReadContext;
use crate::error::WireError;
use crate::event_stream::Frame;
use crate::fields::{JsonFields, parse};
use crate::json_path::JsonPath;
use crate::neutral::{ApiError, Block, Content, Map, StreamEvent, TokenUsage};

/// Maximum bytes of an image.
const MAX_IMAGE_BYTES: usize = 32 << 20;

/// Reads the frames of one stream.
#[derive(Debug)]
pub(crate) struct ConverseReader {
    context: ReadContext,
    started: bool,
    ended: bool,
    blocks: BlockEmitter,
    /// A redacted thought, which may come in several fragments.
    redacted: String,
    /// The format and the bytes of an image, which come in fragments.
    image: Option<(String, Vec<u8>)>,
    /// The open call of a tool that Bedrock runs itself, or its result.
    server_tool: Option<StreamedServerTool>,
    stop_reason: Option<String>,
    usage: TokenUsage,
}

impl ConverseReader {
    pub(crate) fn new(context: ReadContext) -> Self {
        ConverseReader {
            context,
            started: false,
            ended: false,
            blocks: BlockEmitter::default(),
            redacted: String::new(),
            image: None,
            server_tool: None,
            stop_reason: None,
            usage: TokenUsage::default(),
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Takes one frame.
    pub(crate) fn read_frame(
        &mut self,
        frame: &Frame,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        if let Some(error) = read_exception(frame) {
            self.fail(error, out);
            return Ok(());
        }
        let root = JsonPath::Root;
        let mut fields = JsonFields::from_value(parse(&frame.payload)?, &root)?;
        match frame.header(":event-type").unwrap_or_default() {
            "messageStart" => self.start(out),
            "contentBlockStart" => self.block_start(&mut fields, out)?,
            "contentBlockDelta" => self.delta(&mut fields, out)?,
            "contentBlockStop" => self.block_stop(out),
            "messageStop" => self.stop_reason = fields.opt_string("stopReason")?,
            "metadata" => {
                if let Some(usage) = fields.take("usage") {
                    self.usage = read_usage(usage, &root.key("usage"))?;
                }
                self.usage.set_tier(service_tier(&fields));
                if self.stop_reason.is_some() {
                    self.end(out);
                }
            }
            // Event types of newer models; the response does not depend on them.
            _ => {}
        }
        Ok(())
    }

    /// The stream's bytes have ended; a stream without metadata has still ended well.
    pub(crate) fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if self.stop_reason.is_some() {
            self.end(out);
        } else {
            self.fail(ApiError::truncated(), out);
        }
    }

    fn start(&mut self, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(StreamEvent::MessageStart {
                id: self.context.id.clone(),
                model: self.context.model.clone(),
                usage: TokenUsage::default(),
                rest: Default::default(),
            });
        }
    }

    fn block_start(
        &mut self,
        fields: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        self.start(out);
        let index = fields.opt_u64("contentBlockIndex")?.unwrap_or(0);
        let root = JsonPath::Root;
        let path = root.key("start");
        let mut start = JsonFields::from_value(fields.require("start")?, &path)?;
        if let Some(image) = start.take("image") {
            let format = image.get("format").and_then(Value::as_str);
            self.image = Some((format.unwrap_or("png").to_owned(), Vec::new()));
        }
        if let Some(call) = start.take("toolUse") {
            let path = path.key("toolUse");
            let mut call = JsonFields::from_value(call, &path)?;
            let (id, name) = (call.string("toolUseId")?, call.string("name")?);
            if is_server_call(call.peek("type")) {
                self.blocks.close(out);
                self.server_tool = Some(StreamedServerTool::call(id, name));
            } else {
                let name = self.context.names.original(name);
                self.blocks.call(index, id, name, out);
            }
        }
        if let Some(result) = start.take("toolResult") {
            let path = path.key("toolResult");
            let mut result = JsonFields::from_value(result, &path)?;
            let kind = result.opt_string("type")?.unwrap_or_default();
            let id = result.string("toolUseId")?;
            self.blocks.close(out);
            self.server_tool = Some(StreamedServerTool::result(id, kind));
        }
        Ok(())
    }

    fn delta(
        &mut self,
        fields: &mut JsonFields<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        self.start(out);
        let root = JsonPath::Root;
        let path = root.key("delta");
        let mut delta = JsonFields::from_value(fields.require("delta")?, &path)?;
        if let Some(text) = delta.opt_string("text")? {
            self.blocks.text(text, out);
        }
        if let Some(call) = delta.take("toolUse") {
            let path = path.key("toolUse");
            let input = JsonFields::from_value(call, &path)?.opt_string("input")?;
            if let Some(tool) = &mut self.server_tool {
                let grown = tool.grow_input(&input.unwrap_or_default());
                self.check(grown, out);
            } else if matches!(self.blocks.open(), OpenBlockKind::Call(_)) {
                self.blocks.arguments(input.unwrap_or_default(), out);
            }
        }
        if let Some(Value::Array(parts)) = delta.take("toolResult") {
            let grown = match &mut self.server_tool {
                Some(tool) => tool.grow_content(parts),
                None => Ok(()),
            };
            self.check(grown, out);
        }
        if let Some(thought) = delta.take("reasoningContent") {
            self.thought(thought, &path.key("reasoningContent"), out)?;
        }
        if let Some(image) = delta.take("image") {
            self.append_image(&image, out);
        }
        if let Some(citation) = delta.take("citation") {
            self.cite(citation, out);
        }
        Ok(())
    }

    /// A source of the open text.
    fn cite(&mut self, citation: Value, out: &mut Vec<StreamEvent>) {
        self.blocks.begin_text(|| Block::text(""), out);
        if let Some(citation) = read_citation(&citation) {
            return self.blocks.cite(citation, out);
        }
        let sources = json!({CITATIONS: [citation]});
        let sources = Map::from_iter([(CITATIONS_CONTENT.to_owned(), sources)]);
        self.blocks.rest(sources, out);
    }

    /// Ends the stream if it is invalid.
    fn check(&mut self, grown: Result<(), &'static str>, out: &mut Vec<StreamEvent>) {
        if let Err(why) = grown {
            self.fail(ApiError::invalid_stream(why), out);
        }
    }

    fn append_image(&mut self, image: &Value, out: &mut Vec<StreamEvent>) {
        let bytes = image.get("source").and_then(|source| source.get("bytes"));
        let bytes = bytes.and_then(Value::as_str).unwrap_or_default();
        let known = self
            .image
            .get_or_insert_with(|| ("png".to_owned(), Vec::new()));
        match STANDARD.decode(bytes) {
            Ok(bytes) if known.1.len() + bytes.len() <= MAX_IMAGE_BYTES => known.1.extend(bytes),
            Ok(_) => self.fail(ApiError::invalid_stream("an image is too large"), out),
            Err(_) => self.fail(
                ApiError::invalid_stream("an image is not valid base64"),
                out,
            ),
        }
    }

    fn thought(
        &mut self,
        value: Value,
        path: &JsonPath<'_>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), WireError> {
        let mut thought = JsonFields::from_value(value, path)?;
        if let Some(text) = thought.opt_string("text")? {
            self.blocks.thinking(text, out);
        }
        if let Some(signature) = thought.opt_string("signature")? {
            self.blocks.signature(signature, out);
        }
        if let Some(data) = thought.opt_string("redactedContent")? {
            self.redacted.push_str(&data);
        }
        Ok(())
    }

    fn block_stop(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(tool) = self.server_tool.take() {
            tool.finish(&mut self.blocks, out);
            return;
        }
        if let Some((format, bytes)) = self.image.take() {
            let block = Block::new(image_content(&format, STANDARD.encode(bytes)));
            self.blocks.whole(block, out);
            return;
        }
        let data = std::mem::take(&mut self.redacted);
        if data.is_empty() {
            self.blocks.close(out);
        } else {
            let block = Block::new(Content::RedactedThinking { data });
            self.blocks.whole(block, out);
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.start(out);
        // The last block may have had no end of its own.
        self.block_stop(out);
        let reason = self.stop_reason.as_deref().unwrap_or("end_turn");
        match stop_reason(reason) {
            Ok(reason) => {
                out.push(StreamEvent::MessageDelta {
                    stop_reason: Some(reason),
                    stop_sequence: None,
                    stop_details: None,
                    container: None,
                    usage: self.usage.clone(),
                    rest: Map::new(),
                });
                out.push(StreamEvent::MessageStop);
                self.ended = true;
            }
            Err(error) => self.fail(error, out),
        }
    }

    fn fail(&mut self, error: ApiError, out: &mut Vec<StreamEvent>) {
        if !self.ended {
            self.ended = true;
            out.push(StreamEvent::Error(error));
        }
    }
}
