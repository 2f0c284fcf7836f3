//! Functions as Chat had them before tools: `functions`, `function_call` and messages with the
//! role `function`, which OpenAI still accepts.
//!
//! They are read as tools, calls and results. Neither call nor result has an id, so they belong
//! together by the function's name. The response has its call in `function_call`, which holds
//! only one.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::tools::read_word;
use crate::argument_schemas::no_parameters;
use crate::arguments;
use crate::context::ReplyContext;
use crate::dropped::Dropped;
use crate::error::WireError;
use crate::excerpt::excerpt;
use crate::fields::JsonFields;
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, Message, Request, Tool, ToolChoice, ToolKind};
use crate::tool_names::generated_call_id;

/// Why a call is dropped.
pub(super) const ONE_CALL: &str = "`function_call` holds only one call";

/// Reads the functions of a request, after its tools: where it has both, the tools apply.
pub(super) fn read_functions(
    fields: &mut JsonFields<'_>,
    request: &mut Request,
) -> Result<(), WireError> {
    let root = fields.path();
    let functions = fields.opt_list("functions")?;
    let choice = fields.take("function_call");
    if !request.tools.is_empty() {
        let replaced = [
            ("functions", functions.is_some()),
            ("function_call", choice.is_some()),
        ];
        let replaced = replaced.into_iter().filter(|(_, is_set)| *is_set);
        request.dropped.extend(replaced.map(|(key, _)| Dropped {
            field: key.to_owned(),
            why: "the request has `tools` as well",
        }));
        return Ok(());
    }
    let list = root.key("functions");
    for (i, function) in functions.unwrap_or_default().into_iter().enumerate() {
        request.tools.push(read_function(function, &list.index(i))?);
    }
    request.function_calls = !request.tools.is_empty();
    if let Some(choice) = choice {
        let path = &root.key("function_call");
        request.tool_choice = Some(read_choice(choice, path)?);
    }
    Ok(())
}

fn read_function(value: Value, path: &JsonPath<'_>) -> Result<Tool, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    Ok(Tool {
        name: fields.string("name")?,
        kind: ToolKind::Function {
            description: fields.opt_string("description")?,
            input_schema: fields.take("parameters").unwrap_or_else(no_parameters),
            strict: None,
        },
        cache_control: None,
        rest: fields.rest(),
        client_path: path.client_path(),
    })
}

fn read_choice(value: Value, path: &JsonPath<'_>) -> Result<ToolChoice, WireError> {
    if let Value::String(word) = value {
        return read_word(word, path);
    }
    let name = JsonFields::from_value(value, path)?.string("name")?;
    Ok(ToolChoice::Tool(name))
}

/// Reads the call of the n-th message.
pub(super) fn read_call(value: Value, path: &JsonPath<'_>, n: usize) -> Result<Block, WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let name = fields.string("name")?;
    let input = match fields.take("arguments") {
        Some(Value::String(text)) => arguments::parse(text),
        Some(other) => other,
        None => json!({}),
    };
    Ok(Block {
        rest: fields.rest(),
        client_path: path.client_path(),
        ..Block::tool_use(generated_call_id("function_call", n), name, input)
    })
}

/// The calls that messages with the role `function` may answer, by the function's name. Clients
/// decide how many there are, so the conversation is not searched once per message.
#[derive(Debug, Default)]
pub(super) struct NamedCalls {
    /// Ids of the calls that no such message has answered, in their order.
    open: HashMap<String, Vec<String>>,
    /// Ids of calls with a result.
    answered: HashSet<String>,
    /// How many messages were noted, and how many blocks of the one after them.
    noted: (usize, usize),
}

impl NamedCalls {
    /// The id of the call that a message answers: the last one of the function that has no result
    /// yet. Since the last message, the request has only grown.
    pub(super) fn answer(
        &mut self,
        fields: &mut JsonFields<'_>,
        request: &Request,
    ) -> Result<String, WireError> {
        let function = fields.string("name")?;
        self.note(&request.messages);
        while let Some(id) = self.open.get_mut(&function).and_then(Vec::pop) {
            if !self.answered.contains(&id) {
                return Ok(id);
            }
        }
        Err(WireError::UnmatchedResult {
            field: fields.path().key("name").to_string(),
            message: format!(
                "messages with role 'function' must be a response to a preceding message with a \
                 'function_call': none calls '{}'",
                excerpt(&function)
            ),
        })
    }

    /// Notes the calls and results that were added. The last message may still grow.
    fn note(&mut self, messages: &[Message]) {
        let (first, mut blocks) = self.noted;
        for message in messages.iter().skip(first) {
            for block in message.content.iter().skip(blocks) {
                match &block.content {
                    Content::ToolUse { id, name, .. } => {
                        self.answered.remove(id);
                        self.open.entry(name.clone()).or_default().push(id.clone());
                    }
                    Content::ToolResult { tool_use_id, .. } => {
                        self.answered.insert(tool_use_id.clone());
                    }
                    _ => {}
                }
            }
            blocks = 0;
        }
        if let Some(last) = messages.last() {
            self.noted = (messages.len() - 1, last.content.len());
        }
    }
}

/// The finish reason of a response with calls.
pub(super) fn finish_reason(context: &ReplyContext) -> &'static str {
    if context.function_calls {
        "function_call"
    } else {
        "tool_calls"
    }
}
