//! Items of OpenAI's own servers, in a conversation for another dialect: calls become
//! ordinary calls with their results, so that any model sees what was done.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use super::hosted_item_translation::{TranslatedItem, translate};
use super::source_item;
use crate::drops::Drops;
use crate::json_path::MESSAGES;
use crate::neutral::{Block, Content, Map, Message, Role};

/// The conversation without items that other dialects lack. What is dropped is reported.
pub(crate) fn translate_hosted_items<'a>(
    messages: &'a [Message],
    drops: &mut Drops,
) -> Cow<'a, [Message]> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    if !blocks.into_iter().any(|block| hosted_kind(block).is_some()) {
        return Cow::Borrowed(messages);
    }
    let mut rewriter = Rewriter {
        drops,
        answered: output_keys(messages),
        open_calls: HashMap::new(),
        waiting: Vec::new(),
        only_results: false,
        out: Vec::with_capacity(messages.len()),
    };
    for (m, message) in messages.iter().enumerate() {
        rewriter.message(m, message);
    }
    Cow::Owned(rewriter.out)
}

/// The type of an item that no other dialect has. References and lists of tools are not
/// part of the conversation.
fn hosted_kind(block: &Block) -> Option<&str> {
    match &block.content {
        Content::Other { kind }
            if source_item::is_own(block) && source_item::part(block).is_none() =>
        {
            let is_content = !["item_reference", "additional_tools"].contains(&kind.as_str());
            is_content.then_some(kind)
        }
        _ => None,
    }
}

/// The calls with their outputs in separate items: by the type of the output, and id.
fn output_keys(messages: &[Message]) -> HashSet<OutputKey> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let outputs = blocks.filter_map(|block| {
        let family = hosted_kind(block)?.strip_suffix("_output")?;
        let call = block.rest.get("call_id").and_then(|id| id.as_str());
        Some((call.map(str::to_owned), family.to_owned()))
    });
    outputs.collect()
}

/// The call that an output names, and its type without the ending.
type OutputKey = (Option<String>, String);

struct Rewriter<'d> {
    drops: &'d mut Drops,
    answered: HashSet<OutputKey>,
    /// Calls with outputs that follow, by the type of the output.
    open_calls: HashMap<String, OpenCalls>,
    /// Calls of the open message without a result from the client yet.
    waiting: Vec<Block>,
    out: Vec<Message>,
    /// Whether the last message holds results and nothing else.
    only_results: bool,
}

impl Rewriter<'_> {
    fn message(&mut self, m: usize, message: &Message) {
        let mut open = Message {
            content: Vec::new(),
            ..message.clone()
        };
        for (b, block) in message.content.iter().enumerate() {
            let Some(kind) = hosted_kind(block) else {
                open.content.push(block.clone());
                continue;
            };
            let message_path = MESSAGES.message(m, message);
            let content_path = message_path.key("content");
            let path = &content_path.block(b, block);
            let id = call_id(&block.rest).unwrap_or_else(|| format!("{kind}_{m}_{b}"));
            // A translated block keeps the path of its item.
            let placed = |translated: Block| Block {
                client_path: block.client_path.clone(),
                ..translated
            };
            match translate(kind, &block.rest) {
                TranslatedItem::Completed(call) => {
                    let result = placed(result(&id, call.output, call.is_error));
                    let call = placed(Block::tool_use(id, call.name, call.input));
                    self.pair(&mut open, call, result);
                }
                TranslatedItem::Call { name, input } => match self.output_name(kind, &block.rest) {
                    Some(family) => {
                        open.content.push(placed(Block::tool_use(&id, name, input)));
                        self.open_calls.entry(family).or_default().add(id);
                    }
                    None => self.drops.add(path, "a server tool call without a result"),
                },
                TranslatedItem::Output(output) => match self.answered_call(kind, &block.rest) {
                    Some(id) => {
                        self.flush(&mut open);
                        self.push_result(placed(result(&id, output, false)));
                    }
                    None => self.drops.add(path, "a result without its call"),
                },
                TranslatedItem::AssistantText(text) => open.content.push(placed(Block::text(text))),
                TranslatedItem::UserText(text) => {
                    self.flush(&mut open);
                    let content = vec![placed(Block::text(text))];
                    self.push(Message::new(Role::User, content));
                }
                TranslatedItem::Untranslatable(why) => self.drops.add(path, why),
            }
        }
        if message.content.is_empty() {
            self.push(message.clone());
        }
        self.flush(&mut open);
    }

    /// A call and its result. Calls without a result from the client yet come after them,
    /// because their results follow later.
    fn pair(&mut self, open: &mut Message, call: Block, result: Block) {
        let content = std::mem::take(&mut open.content);
        let (calls, content): (Vec<_>, Vec<_>) = content.into_iter().partition(is_call);
        let mut waiting = std::mem::take(&mut self.waiting);
        open.content = content;
        open.content.push(call);
        self.flush(open);
        self.push_result(result);
        waiting.extend(calls);
        self.waiting = waiting;
    }

    fn flush(&mut self, open: &mut Message) {
        let mut content = std::mem::take(&mut self.waiting);
        content.append(&mut open.content);
        let Some(first) = content.first() else {
            return;
        };
        // The results of one turn are one message.
        let goes_on = self.only_results && open.role == Role::User && is_result(first);
        match self.out.last_mut().filter(|_| goes_on) {
            Some(last) => {
                self.only_results = content.iter().all(is_result);
                last.content.extend(content);
            }
            None => self.push(Message {
                content,
                ..open.clone()
            }),
        }
    }

    fn push_result(&mut self, result: Block) {
        match self.out.last_mut().filter(|_| self.only_results) {
            Some(last) => last.content.push(result),
            None => self.push(Message::new(Role::User, vec![result])),
        }
    }

    fn push(&mut self, message: Message) {
        self.only_results = message.role == Role::User && message.content.iter().all(is_result);
        self.out.push(message);
    }

    /// What the output of a call is called, if there is one.
    fn output_name(&self, kind: &str, item: &Map) -> Option<String> {
        let call = item.get("call_id").and_then(|id| id.as_str());
        let mut output = (call.map(str::to_owned), kind.to_owned());
        if !self.answered.contains(&output) {
            output.1 = short_family(kind)?.to_owned();
        }
        self.answered.contains(&output).then_some(output.1)
    }

    /// The id of the call that an output belongs to. Outputs of the server itself have none.
    fn answered_call(&mut self, kind: &str, item: &Map) -> Option<String> {
        let calls = self.open_calls.get_mut(kind.strip_suffix("_output")?)?;
        match item.get("call_id").and_then(|id| id.as_str()) {
            Some(call) => calls.take(call),
            None => calls.take_first(),
        }
    }
}

/// Calls of one type with outputs that follow.
#[derive(Default)]
struct OpenCalls {
    in_order: VecDeque<String>,
    /// How many calls of an id have no output yet.
    counts: HashMap<String, usize>,
}

impl OpenCalls {
    fn add(&mut self, id: String) {
        *self.counts.entry(id.clone()).or_default() += 1;
        self.in_order.push_back(id);
    }

    fn take(&mut self, id: &str) -> Option<String> {
        let count = self.counts.get_mut(id).filter(|count| **count > 0)?;
        *count -= 1;
        Some(id.to_owned())
    }

    /// Takes the first; those that were taken by id are still listed.
    fn take_first(&mut self) -> Option<String> {
        while let Some(id) = self.in_order.pop_front() {
            if let Some(id) = self.take(&id) {
                return Some(id);
            }
        }
        None
    }
}

/// `computer_call_output` belongs to `computer_call`, and `tool_search_output` to
/// `tool_search_call`.
fn short_family(kind: &str) -> Option<&str> {
    kind.strip_suffix("_call")
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
