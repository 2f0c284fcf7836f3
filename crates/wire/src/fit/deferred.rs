//! Which deferred tools a conversation has found: by a search of the client's, by one of
//! the vendor's servers, or by calling them.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::neutral::{Block, Content, Form, Request, Tool, ToolChoice, ToolKind};

/// The tools that a conversation has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Their names, and the order in which they were found.
    order: HashMap<String, usize>,
    /// Tools that the client has withdrawn.
    pub(super) removed: HashSet<String>,
    /// Tools that the conversation itself defines.
    pub(super) defined: Vec<Value>,
}

impl Found {
    pub(super) fn of(request: &Request) -> Self {
        let mut found = Found::default();
        for block in request.messages.iter().flat_map(|m| &m.content) {
            found.read(block);
        }
        match &request.tool_choice {
            Some(ToolChoice::Tool(name)) => found.add(name),
            Some(ToolChoice::Allowed { names, .. }) => names.iter().for_each(|n| found.add(n)),
            _ => {}
        }
        for tool in &request.tools {
            if request
                .client_tools
                .get(&tool.name)
                .is_some_and(|known| known.loaded)
            {
                found.add(&tool.name);
            }
        }
        found
    }

    /// The place of a tool among those found.
    pub(super) fn order(&self, name: &str) -> Option<usize> {
        self.order.get(name).copied()
    }

    fn add(&mut self, name: &str) {
        let next = self.order.len();
        self.order.entry(name.to_owned()).or_insert(next);
        self.removed.remove(name);
    }

    fn read(&mut self, block: &Block) {
        match &block.content {
            Content::ToolUse { name, .. } => self.add(name),
            Content::ToolResult { content, .. } => {
                for inner in content {
                    self.read(inner);
                }
            }
            Content::ServerToolResult { content, .. } => {
                let references = content.get("tool_references").and_then(Value::as_array);
                for reference in references.into_iter().flatten() {
                    if let Some(name) = reference.get("tool_name").and_then(Value::as_str) {
                        self.add(name);
                    }
                }
            }
            Content::Other { kind } => self.read_other(kind, block),
            _ => {}
        }
    }

    fn read_other(&mut self, kind: &str, block: &Block) {
        let changes: &[&str] = match kind {
            "mid_conv_system" => &["content"],
            "compaction" => &["tool_changes"],
            _ => &[],
        };
        for key in changes {
            let inner = block.rest.get(*key).and_then(Value::as_array);
            for change in inner.into_iter().flatten() {
                let kind = change
                    .get("type")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                self.change(kind, change.get("tool"));
            }
        }
        match kind {
            "tool_reference" => {
                if let Some(name) = block.rest.get("tool_name").and_then(Value::as_str) {
                    self.add(name);
                }
            }
            _ => self.change(kind, block.rest.get("tool")),
        }
    }

    fn change(&mut self, kind: &str, tool: Option<&Value>) {
        let Some(name) = tool.and_then(changed_tool) else {
            return;
        };
        match kind {
            "tool_addition" => {
                self.add(name);
                let definition = tool.and_then(|tool| tool.get("definition"));
                self.defined.extend(definition.cloned());
            }
            "tool_removal" => {
                self.removed.insert(name.to_owned());
            }
            _ => {}
        }
    }
}

/// The name of the tool that an addition or removal is about.
pub(super) fn changed_tool(tool: &Value) -> Option<&str> {
    let holder = tool.get("definition").unwrap_or(tool);
    holder.get("name")?.as_str()
}

/// Whether a tool is to be left out until it is found.
pub(super) fn is_deferred(request: &Request, tool: &Tool) -> bool {
    let says = |value: Option<&Value>| value.and_then(Value::as_bool) == Some(true);
    if says(tool.rest.get("defer_loading")) {
        return true;
    }
    let known = request.client_tools.get(&tool.name);
    match known.map(|known| &known.form) {
        Some(Form::Member { namespace, .. }) => {
            let fields = request.client_tools.namespaces.get(namespace);
            says(fields.and_then(|fields| fields.get("defer_loading")))
        }
        _ => false,
    }
}

/// Whether a tool is a search for tools that the vendor's servers make.
pub(super) fn is_server_search(request: &Request, tool: &Tool) -> bool {
    match &tool.kind {
        ToolKind::Server { kind } => {
            kind.starts_with("tool_search") && request.client_tools.runner(&tool.name).is_none()
        }
        _ => false,
    }
}
