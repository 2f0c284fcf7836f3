//! A call of a Responses stream while it is written.

use serde_json::{Value, json};

use super::item_event::ItemEvent;
use super::response_out::{custom_call, function_call};
use super::{client_tools, image_item, shell, source_item};
use crate::arguments;
use crate::chat::freeform_text;
use crate::context::ReplyContext;
use crate::neutral::{Block, ClientToolKind, Content, Delta, MediaSource};

/// The open call.
#[derive(Debug)]
pub(super) struct CallItem {
    pub(super) id: String,
    block: Block,
    kind: CallItemKind,
    /// The JSON so far.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallItemKind {
    Function,
    Freeform,
    Shell,
    Image,
    /// A tool that the client runs.
    Client(ClientToolKind),
}

impl CallItem {
    /// An item that grows; `None` for blocks that are complete from the start.
    pub(super) fn new(mut id: String, block: &Block, context: &ReplyContext) -> Option<Self> {
        let runner = client_tools::called_kind(&block.content, context);
        let kind = match (&block.content, runner) {
            (_, Some(runner)) => {
                id = client_tools::item_id(runner, &id);
                CallItemKind::Client(runner)
            }
            (Content::ToolUse { name, .. }, _) if context.freeform.contains(name) => {
                CallItemKind::Freeform
            }
            (Content::ToolUse { .. }, _) => CallItemKind::Function,
            (Content::ServerToolUse { .. }, _) if !source_item::is_own(block) => {
                CallItemKind::Shell
            }
            (Content::Image(MediaSource::Base64 { .. }), _) if !source_item::is_own(block) => {
                CallItemKind::Image
            }
            _ => return None,
        };
        Some(CallItem {
            id,
            block: block.clone(),
            kind,
            text: String::new(),
        })
    }

    pub(super) fn start(&self) -> Vec<ItemEvent> {
        vec![("response.output_item.added", json!({"item": self.empty()}))]
    }

    fn empty(&self) -> Value {
        match (self.kind, &self.block.content) {
            (CallItemKind::Freeform, Content::ToolUse { id, name, .. }) => {
                custom_call(&self.id, id, name, "")
            }
            (CallItemKind::Function, Content::ToolUse { id, name, .. }) => {
                function_call(&self.id, id, name, "", "in_progress")
            }
            (CallItemKind::Shell, Content::ServerToolUse { id, .. }) => {
                shell::write_call(&self.id, id, &[], "in_progress")
            }
            (CallItemKind::Image, _) => image_item::pending(&self.block, &self.id),
            (CallItemKind::Client(runner), Content::ToolUse { id, .. }) => {
                client_tools::write(runner, &self.id, id, &json!({}), "in_progress")
            }
            _ => Value::Null,
        }
    }

    pub(super) fn grow(&mut self, delta: &Delta) -> Vec<ItemEvent> {
        match (self.kind, delta) {
            (CallItemKind::Function, Delta::InputJson(json)) => {
                self.text.push_str(json);
                let fields = json!({"item_id": self.id, "delta": json});
                vec![("response.function_call_arguments.delta", fields)]
            }
            (
                CallItemKind::Freeform | CallItemKind::Shell | CallItemKind::Client(_),
                Delta::InputJson(json),
            ) => {
                self.text.push_str(json);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// The last events of the item, and the item itself.
    pub(super) fn stop(self) -> (Vec<ItemEvent>, Value) {
        let (mut events, item) = match self.kind {
            CallItemKind::Function => self.stop_function(),
            CallItemKind::Freeform => self.stop_freeform(),
            CallItemKind::Shell => self.stop_shell(),
            CallItemKind::Image => {
                let item = image_item::write(&self.block, &self.id);
                (
                    image_item::progress_events(&self.id),
                    item.unwrap_or_default(),
                )
            }
            CallItemKind::Client(runner) => self.stop_client(runner),
        };
        events.push(("response.output_item.done", json!({"item": item})));
        (events, item)
    }

    fn stop_function(self) -> (Vec<ItemEvent>, Value) {
        let (call_id, name, first) = self.call();
        let arguments = match (self.text.is_empty(), first.as_object()) {
            // Told whole at the start, or a call without arguments.
            (true, Some(_)) => arguments::write(&first),
            _ => self.text.clone(),
        };
        let mut events = Vec::new();
        if self.text.is_empty() {
            // The deltas add up to the final arguments, also for a call without arguments.
            let delta = json!({"item_id": self.id, "delta": arguments});
            events.push(("response.function_call_arguments.delta", delta));
        }
        let done = json!({"item_id": self.id, "name": name, "arguments": arguments});
        events.push(("response.function_call_arguments.done", done));
        let item = function_call(&self.id, &call_id, &name, &arguments, "completed");
        (events, item)
    }

    fn stop_freeform(self) -> (Vec<ItemEvent>, Value) {
        let (call_id, name, first) = self.call();
        let input = freeform_text(&self.input(first));
        let events = vec![
            (
                "response.custom_tool_call_input.delta",
                json!({"item_id": self.id, "delta": input}),
            ),
            (
                "response.custom_tool_call_input.done",
                json!({"item_id": self.id, "input": input}),
            ),
        ];
        (events, custom_call(&self.id, &call_id, &name, &input))
    }

    fn stop_shell(self) -> (Vec<ItemEvent>, Value) {
        let (call_id, name, first) = self.call();
        let command = shell::command(&name, &self.input(first));
        let events = vec![
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
        (events, item)
    }

    fn stop_client(self, runner: ClientToolKind) -> (Vec<ItemEvent>, Value) {
        let (call_id, _, first) = self.call();
        let input = self.input(first);
        let item = client_tools::write(runner, &self.id, &call_id, &input, "completed");
        (client_tools::events(runner, &item), item)
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
