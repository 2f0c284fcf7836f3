//! Which deferred tools a conversation has found: by a search of the client's, by one of
//! the vendor's servers, or by calling them.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::neutral::{
    Block, ClientToolForm, ClientTools, Content, Request, Tool, ToolChoice, ToolKind,
};
use crate::responses::{TOOL_ITEMS, kind_for_choice};

/// The tools that a conversation has found.
#[derive(Debug, Default)]
pub(super) struct DiscoveredTools {
    /// Their names, and the order in which they were found.
    order: HashMap<String, usize>,
    /// Tools that the client has withdrawn.
    pub(super) removed: HashSet<String>,
    /// Tools that the conversation itself defines.
    pub(super) defined: Vec<Value>,
}

impl DiscoveredTools {
    pub(super) fn from_request(request: &Request) -> Self {
        let mut found = DiscoveredTools::default();
        for block in request.messages.iter().flat_map(|m| &m.content) {
            found.read(block, &request.client_tools);
        }
        match &request.tool_choice {
            Some(ToolChoice::Tool(name)) => found.add(name),
            Some(ToolChoice::Allowed { names, .. }) => names.iter().for_each(|n| found.add(n)),
            _ => {}
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

    fn read(&mut self, block: &Block, table: &ClientTools) {
        match &block.content {
            Content::ToolUse { name, .. } => self.add(name),
            Content::ToolResult { content, .. } => {
                for inner in content {
                    self.read(inner, table);
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
            Content::Other { kind } if TOOL_ITEMS.contains(&kind.as_str()) => {
                self.read_tools(kind, block, table);
            }
            Content::Other { kind } => self.read_other(kind, block),
            _ => {}
        }
    }

    /// The tools that a Responses item adds. Tools that were searched for are found; of the
    /// others some may be deferred.
    fn read_tools(&mut self, kind: &str, block: &Block, table: &ClientTools) {
        let searched = kind == "tool_search_output";
        let offers = |tool: &Value| searched || !is_true(tool.get("defer_loading"));
        let tools = block.rest.get("tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten().filter(|tool| offers(tool)) {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
            match tool.get("tools").and_then(Value::as_array) {
                Some(members) => {
                    for member in members.iter().filter(|member| offers(member)) {
                        let member = member.get("name").and_then(Value::as_str);
                        if let Some(plain) = member.and_then(|member| table.member(name, member)) {
                            self.add(plain);
                        }
                    }
                }
                None => {
                    let runner =
                        kind_for_choice(kind).and_then(|runner| table.name_for_kind(runner));
                    self.add(runner.unwrap_or(name));
                }
            }
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

fn is_true(value: Option<&Value>) -> bool {
    value.and_then(Value::as_bool) == Some(true)
}

/// Whether a tool is hidden until it is found.
pub(super) fn is_deferred(request: &Request, tool: &Tool) -> bool {
    if is_true(tool.rest.get("defer_loading")) {
        return true;
    }
    let known = request.client_tools.get(&tool.name);
    match known.map(|known| &known.form) {
        Some(ClientToolForm::Member { namespace, .. }) => {
            let fields = request.client_tools.namespaces.get(namespace);
            is_true(fields.and_then(|fields| fields.get("defer_loading")))
        }
        _ => false,
    }
}

/// Whether a tool is a search for tools that the vendor's servers make.
pub(super) fn is_server_search(request: &Request, tool: &Tool) -> bool {
    match &tool.kind {
        ToolKind::Server { kind } => {
            kind.starts_with("tool_search")
                && request.client_tools.client_run_kind(&tool.name).is_none()
        }
        _ => false,
    }
}
