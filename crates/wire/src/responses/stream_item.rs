//! One item of a Responses stream while it is told.

use serde_json::{Value, json};

use super::response_out::{custom_call, function_call, message, reasoning, text_part};
use super::{picture, shell};
use crate::arguments;
use crate::chat::freeform_text;
use crate::context::ReplyContext;
use crate::neutral::{Block, Content, Delta, Source};

/// An event's name and fields, without the numbers every event carries.
pub(super) type Told = (&'static str, Value);

/// The item being told.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) id: String,
    block: Block,
    kind: Kind,
    /// The text, thought or JSON so far.
    text: String,
    /// Whether the summary part of a thought has begun.
    part: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Function,
    Freeform,
    Shell,
    Picture,
}

impl Item {
    /// An item that grows; none for blocks that are whole from the start.
    pub(super) fn new(id: String, block: &Block, context: &ReplyContext) -> Option<Self> {
        let kind = match &block.content {
            Content::Text(_) => Kind::Text,
            Content::Thinking { .. } => Kind::Thought,
            Content::ToolUse { name, .. } if context.freeform.contains(name) => Kind::Freeform,
            Content::ToolUse { .. } => Kind::Function,
            Content::ServerToolUse { .. } => Kind::Shell,
            Content::Image(Source::Base64 { .. }) => Kind::Picture,
            _ => return None,
        };
        Some(Item {
            id,
            block: block.clone(),
            kind,
            text: String::new(),
            part: false,
        })
    }

    pub(super) fn start(&self) -> Vec<Told> {
        let mut told = vec![("response.output_item.added", json!({"item": self.empty()}))];
        if self.kind == Kind::Text {
            let part = text_part("", &Block::text(""));
            let added = json!({"item_id": self.id, "content_index": 0, "part": part});
            told.push(("response.content_part.added", added));
        }
        told
    }

    fn empty(&self) -> Value {
        match (self.kind, &self.block.content) {
            (Kind::Text, _) => message(&self.id, "in_progress", json!([])),
            (Kind::Freeform, Content::ToolUse { id, name, .. }) => {
                custom_call(&self.id, id, name, "")
            }
            (Kind::Function, Content::ToolUse { id, name, .. }) => {
                function_call(&self.id, id, name, "", "in_progress")
            }
            (Kind::Shell, Content::ServerToolUse { id, .. }) => {
                shell::write_call(&self.id, id, &[], "in_progress")
            }
            (Kind::Picture, _) => picture::empty(&self.block, &self.id),
            _ => reasoning(&self.id, "", &Content::Text(String::new())),
        }
    }

    pub(super) fn grow(&mut self, delta: &Delta) -> Vec<Told> {
        match (self.kind, delta) {
            (Kind::Text, Delta::Text(text)) => {
                self.text.push_str(text);
                let fields =
                    json!({"item_id": self.id, "content_index": 0, "delta": text, "logprobs": []});
                vec![("response.output_text.delta", fields)]
            }
            (Kind::Thought, Delta::Thinking(text)) if !text.is_empty() => self.think(text),
            (Kind::Thought, Delta::Signature(whole)) => {
                if let Content::Thinking { signature, .. } = &mut self.block.content {
                    whole.clone_into(signature);
                }
                Vec::new()
            }
            (Kind::Function, Delta::InputJson(json)) => {
                self.text.push_str(json);
                let fields = json!({"item_id": self.id, "delta": json});
                vec![("response.function_call_arguments.delta", fields)]
            }
            (Kind::Freeform | Kind::Shell, Delta::InputJson(json)) => {
                self.text.push_str(json);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn think(&mut self, text: &str) -> Vec<Told> {
        let mut told = Vec::new();
        if !std::mem::replace(&mut self.part, true) {
            let part = json!({"type": "summary_text", "text": ""});
            let fields = json!({"item_id": self.id, "summary_index": 0, "part": part});
            told.push(("response.reasoning_summary_part.added", fields));
        }
        self.text.push_str(text);
        let fields = json!({"item_id": self.id, "summary_index": 0, "delta": text});
        told.push(("response.reasoning_summary_text.delta", fields));
        told
    }

    /// The last events of the item, and the item itself.
    pub(super) fn stop(self) -> (Vec<Told>, Value) {
        let (mut told, item) = match self.kind {
            Kind::Text => self.stop_text(),
            Kind::Thought => self.stop_thought(),
            Kind::Function => self.stop_function(),
            Kind::Freeform => self.stop_freeform(),
            Kind::Shell => self.stop_shell(),
            Kind::Picture => {
                let item = picture::write(&self.block, &self.id);
                (picture::told(&self.id), item.unwrap_or_default())
            }
        };
        told.push(("response.output_item.done", json!({"item": item})));
        (told, item)
    }

    fn stop_text(self) -> (Vec<Told>, Value) {
        let part = text_part(&self.text, &self.block);
        let id = &self.id;
        let told = vec![
            (
                "response.output_text.done",
                json!({"item_id": id, "content_index": 0, "text": self.text, "logprobs": []}),
            ),
            (
                "response.content_part.done",
                json!({"item_id": id, "content_index": 0, "part": part}),
            ),
        ];
        (told, message(id, "completed", json!([part])))
    }

    fn stop_thought(self) -> (Vec<Told>, Value) {
        let id = &self.id;
        let mut told = Vec::new();
        if self.part {
            let part = json!({"type": "summary_text", "text": self.text});
            told.push((
                "response.reasoning_summary_text.done",
                json!({"item_id": id, "summary_index": 0, "text": self.text}),
            ));
            told.push((
                "response.reasoning_summary_part.done",
                json!({"item_id": id, "summary_index": 0, "part": part}),
            ));
        }
        (told, reasoning(id, &self.text, &self.block.content))
    }

    fn stop_function(self) -> (Vec<Told>, Value) {
        let (call_id, name, first) = self.call();
        let arguments = match (self.text.is_empty(), first.as_object()) {
            // Told whole at the start, or a call without arguments.
            (true, Some(_)) => arguments::write(&first),
            _ => self.text.clone(),
        };
        let done = json!({"item_id": self.id, "name": name, "arguments": arguments});
        let item = function_call(&self.id, &call_id, &name, &arguments, "completed");
        (vec![("response.function_call_arguments.done", done)], item)
    }

    fn stop_freeform(self) -> (Vec<Told>, Value) {
        let (call_id, name, first) = self.call();
        let input = freeform_text(&self.input(first));
        let told = vec![
            (
                "response.custom_tool_call_input.delta",
                json!({"item_id": self.id, "delta": input}),
            ),
            (
                "response.custom_tool_call_input.done",
                json!({"item_id": self.id, "input": input}),
            ),
        ];
        (told, custom_call(&self.id, &call_id, &name, &input))
    }

    fn stop_shell(self) -> (Vec<Told>, Value) {
        let (call_id, name, first) = self.call();
        let command = shell::command(&name, &self.input(first));
        let told = vec![
            (
                "response.shell_call_command.added",
                json!({"command_index": 0, "command": ""}),
            ),
            (
                "response.shell_call_command.delta",
                json!({"command_index": 0, "delta": command}),
            ),
            (
                "response.shell_call_command.done",
                json!({"command_index": 0, "command": command}),
            ),
        ];
        let item = shell::write_call(&self.id, &call_id, &[command], "completed");
        (told, item)
    }

    /// The call's id, its tool, and the arguments known at its start.
    fn call(&self) -> (String, String, Value) {
        match &self.block.content {
            Content::ToolUse { id, name, input } | Content::ServerToolUse { id, name, input } => {
                (id.clone(), name.clone(), input.clone())
            }
            _ => Default::default(),
        }
    }

    fn input(&self, first: Value) -> Value {
        if self.text.is_empty() {
            first
        } else {
            arguments::parse(self.text.clone())
        }
    }
}
