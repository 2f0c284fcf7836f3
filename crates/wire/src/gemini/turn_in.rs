//! Gemini's contents, read and gathered into turns.
//!
//! Clients that were streamed to send the pieces of one answer as contents of their own.

use serde_json::Value;

use super::block_in::{Piece, read_piece};
use super::calls_in::Calls;
use super::camel::{fields, items};
use super::code;
use super::signature::{Opened, open};
use crate::error::WireError;
use crate::fields::{Path, wrong};
use crate::neutral::{Block, Content, Map, Message, Request, Role, Source};

/// The instructions, which may also be written as a text alone.
pub(super) fn read_system(value: Value, path: &Path<'_>) -> Result<Vec<Block>, WireError> {
    if let Value::String(text) = value {
        return Ok(vec![Block::text(text).at(path)]);
    }
    let mut content = fields(value, path)?;
    let parts = content.take("parts").map(items).unwrap_or_default();
    let path = path.key("parts");
    let mut blocks = Vec::with_capacity(parts.len());
    for (i, part) in parts.into_iter().enumerate() {
        match read_piece(part, &path.index(i))?.piece {
            Piece::Text(text) if text.is_empty() => {}
            Piece::Text(text) | Piece::Thought(text) => {
                blocks.push(Block::text(text).at(&path.index(i)));
            }
            Piece::Block(block) => blocks.push(block.at(&path.index(i))),
            _ => return Err(wrong(&path.index(i), "text", &"a call or a result".into())),
        }
    }
    Ok(blocks)
}

pub(super) fn read_contents(
    contents: Vec<Value>,
    path: &Path<'_>,
    request: &mut Request,
) -> Result<(), WireError> {
    let mut turns = Turns::default();
    for (i, content) in contents.into_iter().enumerate() {
        turns.content(content, &path.index(i))?;
    }
    request.messages = turns.messages;
    Ok(())
}

#[derive(Default)]
struct Turns {
    messages: Vec<Message>,
    calls: Calls,
    /// How often a server ran code.
    codes: usize,
}

impl Turns {
    fn content(&mut self, content: Value, path: &Path<'_>) -> Result<(), WireError> {
        // A text alone is something the user says.
        if let Value::String(text) = content {
            let mut message = self.open(Role::User, path, &Map::new());
            message.content.push(Block::text(text).at(path));
            self.close(message);
            return Ok(());
        }
        let mut content = fields(content, path)?;
        let role = match content.opt_string("role")?.as_deref() {
            None | Some("user" | "function" | "tool" | "") => Role::User,
            Some("model") => Role::Assistant,
            Some(other) => {
                let expected = "\"user\" or \"model\"";
                return Err(wrong(&path.key("role"), expected, &other.into()));
            }
        };
        let parts = content.take("parts").map(items).unwrap_or_default();
        let parts_path = path.key("parts");
        let rest = content.rest();
        let mut message = self.open(role, path, &rest);
        for (i, part) in parts.into_iter().enumerate() {
            self.part(part, &parts_path.index(i), &mut message)?;
        }
        if !rest.is_empty() {
            message.rest = rest;
            message.client_path = path.sent();
        }
        self.close(message);
        Ok(())
    }

    /// The message that a content belongs to: the last one, if both are pieces of one
    /// turn, else a new one. Unknown fields of both could not be told apart.
    fn open(&mut self, role: Role, path: &Path<'_>, rest: &Map) -> Message {
        let goes_on = self.messages.pop_if(|last| {
            let same_turn = role == Role::Assistant || last.content.iter().all(is_result);
            last.role == role && same_turn && (last.rest.is_empty() || rest.is_empty())
        });
        goes_on.unwrap_or_else(|| Message::new(role, Vec::new()).at(path))
    }

    fn close(&mut self, mut message: Message) {
        match message.role {
            Role::Assistant => join(&mut message.content),
            // Results come first.
            _ => message.content.sort_by_key(|block| !is_result(block)),
        }
        if !message.content.is_empty() {
            self.messages.push(message);
        }
    }

    fn part(
        &mut self,
        part: Value,
        path: &Path<'_>,
        message: &mut Message,
    ) -> Result<(), WireError> {
        let mut read = read_piece(part, path)?;
        let blocks = &mut message.content;
        if let Piece::Thought(text) = read.piece {
            blocks.push(thought(text, String::new()).at(path));
            sign(read.signature, blocks);
            return Ok(());
        }
        sign(read.signature, blocks);
        let before = blocks.iter().rev().find(|block| !is_thought(block));
        let Some(mut block) = self.block(read.piece, path, before)? else {
            return Ok(());
        };
        // Files that were made for the client: the model was not shown them.
        let ours = |source: &Source| matches!(source, Source::File(id) if id.starts_with("file_"));
        if let (Role::Assistant, Content::Image(source) | Content::Document { source, .. }) =
            (message.role, &block.content)
            && ours(source)
        {
            return Ok(());
        }
        block.rest.append(&mut read.rest);
        blocks.push(block.at(path));
        Ok(())
    }

    fn block(
        &mut self,
        piece: Piece,
        path: &Path<'_>,
        before: Option<&Block>,
    ) -> Result<Option<Block>, WireError> {
        Ok(Some(match piece {
            Piece::Text(text) | Piece::Thought(text) => {
                let text = without_gap(&text, before);
                if text.is_empty() {
                    return Ok(None);
                }
                Block::text(text)
            }
            Piece::Block(block) => block,
            Piece::Call { id, name, args } => {
                let id = self.calls.called(id, &name);
                Block::tool_use(id, name, args)
            }
            Piece::Result {
                id,
                name,
                content,
                is_error,
            } => Block::new(Content::ToolResult {
                tool_use_id: self.calls.answered(id.as_deref(), &name, path)?,
                content,
                is_error,
            }),
            Piece::Code(code) => {
                self.codes += 1;
                code::read_call(code, &path.key("executableCode"), self.codes)?
            }
            Piece::Outcome(outcome) => {
                code::read_result(outcome, &path.key("codeExecutionResult"), self.codes)?
            }
        }))
    }
}

fn is_result(block: &Block) -> bool {
    matches!(block.content, Content::ToolResult { .. })
}

/// What a model says after a server ran its code begins on a line of its own for those who
/// put all texts together; the model did not write that line's beginning.
fn without_gap<'t>(text: &'t str, before: Option<&Block>) -> &'t str {
    match before.map(|block| &block.content) {
        Some(Content::ServerToolResult { tool_use_id, .. }) if !code::is_googles(tool_use_id) => {
            text.strip_prefix("\n\n").unwrap_or(text)
        }
        _ => text,
    }
}

/// Makes one text of the pieces in which it was streamed, and one thought likewise.
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

/// What a part's signature stands for belongs before the part: the proof of the thought
/// there, or the thoughts themselves, which then need not be told again.
fn sign(signature: Option<String>, blocks: &mut Vec<Block>) {
    match signature.filter(|signature| !signature.is_empty()) {
        None => {}
        Some(found) => match open(&found) {
            Opened::Gemini(sealed) => blocks.push(thought(String::new(), sealed)),
            Opened::Thoughts(thoughts) => {
                while blocks.last().is_some_and(is_unsigned) {
                    blocks.pop();
                }
                blocks.extend(thoughts);
            }
        },
    }
}

fn is_thought(block: &Block) -> bool {
    matches!(
        block.content,
        Content::Thinking { .. } | Content::RedactedThinking { .. }
    )
}

fn is_unsigned(block: &Block) -> bool {
    matches!(&block.content, Content::Thinking { signature, .. } if signature.is_empty())
}
