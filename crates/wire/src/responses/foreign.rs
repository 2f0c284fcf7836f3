//! Items of OpenAI's own servers in a conversation that another dialect is sent: calls
//! become ordinary calls with their results, so that any model sees what was done.

use std::borrow::Cow;

use super::foreign_items::{Form, translate};
use super::own_item;
use crate::drops::Drops;
use crate::fields::MESSAGES;
use crate::neutral::{Block, Content, Map, Message, Role};

/// The conversation as any dialect can say it. What cannot be kept is named.
pub(crate) fn readable<'a>(messages: &'a [Message], drops: &mut Drops) -> Cow<'a, [Message]> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    if !blocks.into_iter().any(|block| hosted(block).is_some()) {
        return Cow::Borrowed(messages);
    }
    let mut rewriter = Rewriter {
        drops,
        answered: answered(messages),
        open_calls: Vec::new(),
        out: Vec::with_capacity(messages.len()),
    };
    for (m, message) in messages.iter().enumerate() {
        rewriter.message(m, message);
    }
    Cow::Owned(rewriter.out)
}

/// The type of an item that no other dialect has. References and lists of tools are no
/// part of what was said.
fn hosted(block: &Block) -> Option<&str> {
    match &block.content {
        Content::Other { kind } if own_item::is_own(block) && own_item::part(block).is_none() => {
            let is_said = !["item_reference", "additional_tools"].contains(&kind.as_str());
            is_said.then_some(kind)
        }
        _ => None,
    }
}

/// The calls whose outputs are items of their own: by the type of the output, and id.
fn answered(messages: &[Message]) -> Vec<(String, Option<String>)> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let outputs = blocks.filter_map(|block| {
        let family = hosted(block)?.strip_suffix("_output")?;
        let call = block.rest.get("call_id").and_then(|id| id.as_str());
        Some((family.to_owned(), call.map(str::to_owned)))
    });
    outputs.collect()
}

struct Rewriter<'d> {
    drops: &'d mut Drops,
    answered: Vec<(String, Option<String>)>,
    /// Calls whose outputs follow: the type of the output, and the id it was given here.
    open_calls: Vec<(String, String)>,
    out: Vec<Message>,
}

impl Rewriter<'_> {
    fn message(&mut self, m: usize, message: &Message) {
        let mut open = Message {
            content: Vec::new(),
            ..message.clone()
        };
        for (b, block) in message.content.iter().enumerate() {
            let Some(kind) = hosted(block) else {
                open.content.push(block.clone());
                continue;
            };
            let path = MESSAGES.message(m, message);
            let path = path.key("content");
            let path = &path.block(b, block);
            let id = call_id(&block.rest).unwrap_or_else(|| format!("{kind}_{m}_{b}"));
            match translate(kind, &block.rest) {
                Form::Done(call) => {
                    let result = result(&id, call.output, call.is_error);
                    self.pair(
                        &mut open,
                        Block::tool_use(id, call.name, call.input),
                        result,
                    );
                }
                Form::Call { name, input } => match self.answer_of(kind, &block.rest) {
                    Some(family) => {
                        open.content.push(Block::tool_use(&id, name, input));
                        self.open_calls.push((family, id));
                    }
                    None => self.drops.add(path, "a server tool call without a result"),
                },
                Form::Output(output) => match self.call_of(kind, &block.rest) {
                    Some(id) => {
                        self.flush(&mut open);
                        self.answer(result(&id, output, false));
                    }
                    None => self.drops.add(path, "a result without its call"),
                },
                Form::Said(text) => open.content.push(Block::text(text)),
                Form::Told(text) => {
                    self.flush(&mut open);
                    self.out.push(Message::user(text));
                }
                Form::Lost(why) => self.drops.add(path, why),
            }
        }
        if message.content.is_empty() {
            self.out.push(message.clone());
        }
        self.flush(&mut open);
    }

    /// A call and its result. Calls that the client is still to answer come after them,
    /// for their results follow later.
    fn pair(&mut self, open: &mut Message, call: Block, result: Block) {
        let said = std::mem::take(&mut open.content);
        let (calls, said): (Vec<_>, Vec<_>) = said.into_iter().partition(is_call);
        open.content = said;
        open.content.push(call);
        self.flush(open);
        self.answer(result);
        open.content = calls;
    }

    fn flush(&mut self, open: &mut Message) {
        if open.content.is_empty() {
            return;
        }
        let content = std::mem::take(&mut open.content);
        let last = self.out.last_mut();
        let results = |message: &&mut Message| {
            message.role == Role::User && message.content.iter().all(is_result)
        };
        match last.filter(results) {
            // What answers the calls of one turn is one message.
            Some(last) if open.role == Role::User && content.first().is_some_and(is_result) => {
                last.content.extend(content);
            }
            _ => self.out.push(Message {
                content,
                ..open.clone()
            }),
        }
    }

    fn answer(&mut self, result: Block) {
        match self.out.last_mut() {
            Some(last) if last.role == Role::User && last.content.iter().all(is_result) => {
                last.content.push(result);
            }
            _ => self.out.push(Message::new(Role::User, vec![result])),
        }
    }

    /// What the output of a call is called, if there is one.
    fn answer_of(&self, kind: &str, item: &Map) -> Option<String> {
        let call = item.get("call_id").and_then(|id| id.as_str());
        let mut answered = self.answered.iter();
        let found = answered
            .find(|(family, answers)| is_family(family, kind) && answers.as_deref() == call);
        found.map(|(family, _)| family.clone())
    }

    /// The id of the call that an output answers. Outputs of the server itself name none.
    fn call_of(&mut self, kind: &str, item: &Map) -> Option<String> {
        let family = kind.strip_suffix("_output")?;
        let call = item.get("call_id").and_then(|id| id.as_str());
        let at = self
            .open_calls
            .iter()
            .position(|(known, id)| known == family && call.is_none_or(|call| call == id))?;
        Some(self.open_calls.remove(at).1)
    }
}

/// `computer_call_output` answers `computer_call`, and `tool_search_output` answers
/// `tool_search_call`.
fn is_family(family: &str, kind: &str) -> bool {
    family == kind || kind.strip_suffix("_call") == Some(family)
}

fn call_id(item: &Map) -> Option<String> {
    let text = |key: &str| item.get(key).and_then(|id| id.as_str());
    text("call_id").or_else(|| text("id")).map(str::to_owned)
}

fn result(id: &str, content: Vec<Block>, is_error: bool) -> Block {
    Block::new(Content::ToolResult {
        tool_use_id: id.to_owned(),
        content,
        is_error,
    })
}

fn is_call(block: &Block) -> bool {
    matches!(block.content, Content::ToolUse { .. })
}

fn is_result(block: &Block) -> bool {
    matches!(block.content, Content::ToolResult { .. })
}
