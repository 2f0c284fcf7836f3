//! Reads Gemini's contents and groups them into turns.
//!
//! Clients of streams send the fragments of one response as separate contents.

use serde_json::Value;

use super::calls_in::CallMatcher;
use super::code_execution;
use super::fields_in::{fields, items};
use super::request_part_in::{RequestPartContent, read_request_part};
use super::signature::{DecodedSignature, decode_signature};
use crate::error::WireError;
use crate::fields::wrong_value;
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, Map, MediaSource, Message, Request, Role};

/// The instructions, which may also be written as a text alone.
pub(super) fn read_system(value: Value, path: &JsonPath<'_>) -> Result<Vec<Block>, WireError> {
    if let Value::String(text) = value {
        return Ok(vec![Block::text(text).with_path(path)]);
    }
    let mut content = fields(value, path)?;
    let parts = content.take("parts").map(items).unwrap_or_default();
    let path = path.key("parts");
    let mut blocks = Vec::with_capacity(parts.len());
    for (i, part) in parts.into_iter().enumerate() {
        match read_request_part(part, &path.index(i))?.content {
            RequestPartContent::Text(text) if text.is_empty() => {}
            RequestPartContent::Text(text) | RequestPartContent::Thought(text) => {
                blocks.push(Block::text(text).with_path(&path.index(i)));
            }
            RequestPartContent::Block(block) => blocks.push(block.with_path(&path.index(i))),
            _ => {
                return Err(wrong_value(
                    &path.index(i),
                    "text",
                    &"a call or a result".into(),
                ));
            }
        }
    }
    Ok(blocks)
}

pub(super) fn read_contents(
    contents: Vec<Value>,
    path: &JsonPath<'_>,
    request: &mut Request,
) -> Result<(), WireError> {
    let mut turns = ContentsReader::default();
    for (i, content) in contents.into_iter().enumerate() {
        turns.content(content, &path.index(i))?;
    }
    turns.finish_turn();
    request.messages = turns.messages;
    Ok(())
}

#[derive(Default)]
struct ContentsReader {
    messages: Vec<Message>,
    /// The last turn, which the next content may go on with.
    open: Option<OpenTurn>,
    calls: CallMatcher,
    /// How often a server ran code.
    code_runs: usize,
}

/// A turn whose contents are still being read.
struct OpenTurn {
    message: Message,
    /// Whether it has nothing but results of tools so far.
    only_results: bool,
    /// How many of its blocks precede the last signature, or come from it.
    signed: usize,
    /// Whether its last block that is no thought is a result of code that ran here.
    after_code: bool,
}

impl ContentsReader {
    fn content(&mut self, content: Value, path: &JsonPath<'_>) -> Result<(), WireError> {
        // A plain string is a message of the user.
        if let Value::String(text) = content {
            let (mut turn, is_new) = self.turn(Role::User, path, &Map::new());
            turn.message.content.push(Block::text(text).with_path(path));
            turn.only_results = false;
            self.keep(turn, is_new);
            return Ok(());
        }
        let mut content = fields(content, path)?;
        let role = match content.opt_string("role")?.as_deref() {
            None | Some("user" | "function" | "tool" | "") => Role::User,
            Some("model") => Role::Assistant,
            Some(other) => {
                let expected = "\"user\" or \"model\"";
                return Err(wrong_value(&path.key("role"), expected, &other.into()));
            }
        };
        let parts = content.take("parts").map(items).unwrap_or_default();
        let parts_path = path.key("parts");
        let rest = content.rest();
        let (mut turn, is_new) = self.turn(role, path, &rest);
        let before = turn.message.content.len();
        for (i, part) in parts.into_iter().enumerate() {
            self.part(part, &parts_path.index(i), &mut turn)?;
        }
        let mut added = turn.message.content.iter().skip(before);
        turn.only_results &= added.all(is_result);
        if !rest.is_empty() {
            turn.message.rest = rest;
            turn.message.client_path = path.client_path();
        }
        self.keep(turn, is_new);
        Ok(())
    }

    /// The turn that a content belongs to, and whether it is a new one: the last one, if
    /// both are fragments of one turn and do not both have unknown fields.
    fn turn(&mut self, role: Role, path: &JsonPath<'_>, rest: &Map) -> (OpenTurn, bool) {
        let goes_on = self.open.take_if(|last| {
            let same_turn = role == Role::Assistant || last.only_results;
            let known = &last.message;
            known.role == role && same_turn && (known.rest.is_empty() || rest.is_empty())
        });
        let is_new = goes_on.is_none();
        let turn = goes_on.unwrap_or_else(|| OpenTurn {
            message: Message::new(role, Vec::new()).with_path(path),
            only_results: true,
            signed: 0,
            after_code: false,
        });
        (turn, is_new)
    }

    /// Stores a turn for the contents that follow. An empty one does not end another.
    fn keep(&mut self, turn: OpenTurn, is_new: bool) {
        if turn.message.content.is_empty() {
            return;
        }
        if is_new {
            self.finish_turn();
        }
        self.open = Some(turn);
    }

    /// Ends the last turn. What is done here is done once for all of its contents.
    fn finish_turn(&mut self) {
        let Some(OpenTurn { mut message, .. }) = self.open.take() else {
            return;
        };
        match message.role {
            Role::Assistant => join(&mut message.content),
            // Results come first.
            _ => message.content.sort_by_key(|block| !is_result(block)),
        }
        self.messages.push(message);
    }

    fn part(
        &mut self,
        part: Value,
        path: &JsonPath<'_>,
        turn: &mut OpenTurn,
    ) -> Result<(), WireError> {
        let mut read = read_request_part(part, path)?;
        if let RequestPartContent::Thought(text) = read.content {
            let thought = thought(text, String::new()).with_path(path);
            turn.message.content.push(thought);
            turn.sign(read.signature);
            return Ok(());
        }
        turn.sign(read.signature);
        let Some(mut block) = self.block(read.content, path, turn.after_code)? else {
            return Ok(());
        };
        // Files that were created for the client: the model has not seen them.
        let ours = |source: &MediaSource| matches!(source, MediaSource::File(id) if id.starts_with("file_"));
        if let (Role::Assistant, Content::Image(source) | Content::Document { source, .. }) =
            (turn.message.role, &block.content)
            && ours(source)
        {
            return Ok(());
        }
        block.rest.append(&mut read.rest);
        turn.after_code = is_our_code_result(&block);
        turn.message.content.push(block.with_path(path));
        Ok(())
    }

    fn block(
        &mut self,
        piece: RequestPartContent,
        path: &JsonPath<'_>,
        after_code: bool,
    ) -> Result<Option<Block>, WireError> {
        Ok(Some(match piece {
            RequestPartContent::Text(text) | RequestPartContent::Thought(text) => {
                let text = without_gap(&text, after_code);
                if text.is_empty() {
                    return Ok(None);
                }
                Block::text(text)
            }
            RequestPartContent::Block(block) => block,
            RequestPartContent::Call { id, name, args } => {
                let id = self.calls.add_call(id, &name);
                Block::tool_use(id, name, args)
            }
            RequestPartContent::Result {
                id,
                name,
                content,
                is_error,
            } => Block::new(Content::ToolResult {
                tool_use_id: self.calls.match_result(id.as_deref(), &name, path)?,
                content,
                is_error,
            }),
            RequestPartContent::Code(code) => {
                self.code_runs += 1;
                code_execution::read_call(code, &path.key("executableCode"), self.code_runs)?
            }
            RequestPartContent::Outcome(outcome) => code_execution::read_result(
                outcome,
                &path.key("codeExecutionResult"),
                self.code_runs,
            )?,
        }))
    }
}

fn is_result(block: &Block) -> bool {
    matches!(block.content, Content::ToolResult { .. })
}

/// Whether a block is a result of code that Google's servers did not run.
fn is_our_code_result(block: &Block) -> bool {
    matches!(&block.content, Content::ServerToolResult { tool_use_id, .. }
        if !code_execution::is_from_google(tool_use_id))
}

/// Text after code that a server ran starts on a new line, for clients that concatenate all
/// texts; the model did not write the line break.
fn without_gap(text: &str, after_code: bool) -> &str {
    let stripped = text.strip_prefix("\n\n").filter(|_| after_code);
    stripped.unwrap_or(text)
}

/// Joins the fragments of a streamed text, and of a streamed thought.
fn join(content: &mut Vec<Block>) {
    let mut out: Vec<Block> = Vec::with_capacity(content.len());
    for block in content.drain(..) {
        let last = out.last_mut().filter(|last| last.is_plain());
        match (last.map(|last| &mut last.content), &block.content) {
            (Some(Content::Text(known)), Content::Text(more)) if block.is_plain() => {
                known.push_str(more);
            }
            (
                Some(Content::Thinking {
                    thinking: known,
                    signature: none,
                }),
                Content::Thinking {
                    thinking,
                    signature,
                },
            ) if none.is_empty() => {
                known.push_str(thinking);
                none.push_str(signature);
            }
            _ => out.push(block),
        }
    }
    *content = out;
}

fn thought(thinking: String, signature: String) -> Block {
    Block::new(Content::Thinking {
        thinking,
        signature,
    })
}

impl OpenTurn {
    /// The content of a part's signature belongs before the part: the signature of the
    /// thought there, or the thoughts themselves, which then need not be repeated.
    fn sign(&mut self, signature: Option<String>) {
        let blocks = &mut self.message.content;
        let Some(found) = signature.filter(|signature| !signature.is_empty()) else {
            return;
        };
        match decode_signature(&found) {
            DecodedSignature::Gemini(envelope) => blocks.push(thought(String::new(), envelope)),
            DecodedSignature::Thoughts(thoughts) => {
                // It holds every thought since the last one, with texts between them too.
                let since = blocks.split_off(self.signed.min(blocks.len()));
                blocks.extend(since.into_iter().filter(|block| !is_unsigned(block)));
                blocks.extend(thoughts);
            }
        }
        self.signed = blocks.len();
    }
}

fn is_unsigned(block: &Block) -> bool {
    matches!(&block.content, Content::Thinking { signature, .. } if signature.is_empty())
}
