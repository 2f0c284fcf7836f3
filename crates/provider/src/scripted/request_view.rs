//! The parts of a request that a script can match.

use prowess_wire::neutral::{Block, Content, Message, Request, Role};

/// The parts of a request that a script can match.
#[derive(Debug)]
pub(super) struct RequestView<'a> {
    pub(super) model: &'a str,
    /// The text of the last message, if it is the user's. Instructions after it, which
    /// some clients send in the middle of a conversation, are ignored here.
    pub(super) user: String,
    /// The text of the tool results in the last message.
    pub(super) tool_result: String,
    /// All instructions, including those in the middle of the conversation.
    pub(super) system: String,
    /// The number of the model's turn.
    pub(super) turn: usize,
    tools: Vec<&'a str>,
}

impl<'a> RequestView<'a> {
    pub(super) fn from_request(request: &'a Request, model: &'a str) -> Self {
        let (instructions, conversation): (Vec<&Message>, Vec<&Message>) = request
            .messages
            .iter()
            .partition(|message| message.role == Role::System);
        let last = conversation
            .last()
            .filter(|message| message.role == Role::User)
            .map_or(&[][..], |message| &message.content);
        let assistant_turns = conversation
            .iter()
            .filter(|message| message.role == Role::Assistant);
        let instructions = instructions.iter().map(|message| &message.content);
        let system = std::iter::once(&request.system).chain(instructions);
        RequestView {
            model,
            user: join_texts(last),
            tool_result: join_tool_results(last),
            system: join_texts(system.flatten()),
            turn: assistant_turns.count() + 1,
            tools: request
                .tools
                .iter()
                .map(|tool| tool.name.as_str())
                .collect(),
        }
    }

    pub(super) fn has_tool(&self, tool: &str) -> bool {
        self.tools.contains(&tool)
    }

    /// A text of the script with its variables replaced.
    pub(super) fn expand(&self, text: &str) -> String {
        // One pass: replaced text is not expanded again.
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            out.push_str(before);
            let filled = after
                .split_once("}}")
                .and_then(|(name, tail)| Some((self.variable(name.trim())?, tail)));
            rest = match filled {
                Some((value, tail)) => {
                    out.push_str(value);
                    tail
                }
                None => {
                    out.push_str("{{");
                    after
                }
            };
        }
        out.push_str(rest);
        out
    }

    fn variable(&self, name: &str) -> Option<&str> {
        match name {
            "user" => Some(&self.user),
            "tool_result" => Some(&self.tool_result),
            "model" => Some(self.model),
            _ => None,
        }
    }

    /// Estimated tokens: a quarter of the bytes.
    pub(super) fn estimate_input_tokens(request: &Request) -> u64 {
        let messages = request.messages.iter().map(|message| &message.content);
        let blocks = messages.chain(std::iter::once(&request.system)).flatten();
        bytes_to_tokens(blocks.map(content_bytes).sum())
    }
}

/// A quarter, rounded up.
pub(super) fn bytes_to_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

fn content_bytes(block: &Block) -> usize {
    match &block.content {
        Content::Text(text) => text.len(),
        Content::ToolResult { content, .. } => content.iter().map(content_bytes).sum(),
        Content::ToolUse { name, input, .. } => name.len() + input.to_string().len(),
        Content::Thinking { thinking, .. } => thinking.len(),
        _ => 0,
    }
}

fn join_texts<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> String {
    let texts: Vec<&str> = blocks.into_iter().filter_map(Block::as_text).collect();
    texts.join("\n")
}

fn join_tool_results(blocks: &[Block]) -> String {
    let results = blocks.iter().filter_map(|block| match &block.content {
        Content::ToolResult { content, .. } => Some(join_texts(content)),
        _ => None,
    });
    results.collect::<Vec<_>>().join("\n")
}
