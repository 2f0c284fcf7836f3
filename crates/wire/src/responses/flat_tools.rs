//! Tools of a Responses request that come in groups or in items: each gets one plain name,
//! by which every other dialect can offer it.
//!
//! `namespace` tools hold functions; `additional_tools` and `tool_search_output` items
//! define tools in the middle of a conversation. [`super::namespace`] is the inverse.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::tools::read_tool;
use crate::error::WireError;
use crate::fields::{list, string};
use crate::json_path::{JsonPath, TOOLS};
use crate::neutral::{
    Block, ClientPath, ClientTool, ClientToolForm, ClientToolKind, ClientTools, Content, Request,
    Tool, ToolKind, ToolPlace,
};
use crate::tool_names::{ReservedNames, member_name};

/// Gives every tool and every past call of a request one plain name.
pub(super) fn flatten(request: &mut Request) -> Result<(), WireError> {
    if !concerns(request) {
        return Ok(());
    }
    let items = tools_of_items(request);
    let mut collector = ToolFlattener::default();
    collector.keep_plain_names(request, &items);
    for (i, tool) in std::mem::take(&mut request.tools).into_iter().enumerate() {
        collector.add(tool, &TOOLS.index(i), ToolPlace::Tools)?;
    }
    let path = JsonPath::Root.key("input");
    let path = path.key("tools");
    for (i, (value, client_path)) in items.into_iter().enumerate() {
        let path = &path.index(i);
        let mut tool = read_tool(value, path)?;
        tool.client_path = client_path;
        collector.add(tool, path, ToolPlace::Input)?;
    }
    for block in request.messages.iter_mut().flat_map(|m| &mut m.content) {
        collector.rename_call(block);
    }
    request.tools = collector.tools;
    request.client_tools = Arc::new(collector.table);
    Ok(())
}

fn concerns(request: &Request) -> bool {
    let special = |tool: &Tool| match &tool.kind {
        ToolKind::Server { kind } => {
            kind == "namespace" || ClientToolKind::from_kind(kind, &tool.rest).is_some()
        }
        _ => false,
    };
    let blocks = || request.messages.iter().flat_map(|m| &m.content);
    request.tools.iter().any(special)
        || blocks().any(|block| match &block.content {
            Content::ToolUse { .. } => block.rest.contains_key("namespace"),
            Content::Other { kind } => TOOL_ITEMS.contains(&kind.as_str()),
            _ => false,
        })
}

/// The types of items that define tools.
pub(crate) const TOOL_ITEMS: [&str; 2] = ["additional_tools", "tool_search_output"];

/// The tools that items of the input define, and their paths. The items remain
/// unchanged.
fn tools_of_items(request: &Request) -> Vec<(Value, ClientPath)> {
    let blocks = request.messages.iter().flat_map(|m| &m.content);
    let tools = blocks.filter_map(|block| match &block.content {
        Content::Other { kind } if TOOL_ITEMS.contains(&kind.as_str()) => {
            let tools = block.rest.get("tools")?.as_array()?.iter().enumerate();
            Some(tools.map(|(i, tool)| (tool.clone(), inside(&block.client_path, i))))
        }
        _ => None,
    });
    tools.flatten().collect()
}

#[derive(Default)]
struct ToolFlattener {
    names: ReservedNames,
    table: ClientTools,
    tools: Vec<Tool>,
    /// The index of each tool in the list.
    places: HashMap<String, usize>,
}

impl ToolFlattener {
    /// Tools with a plain name keep it, wherever they are defined.
    fn keep_plain_names(&mut self, request: &Request, items: &[(Value, ClientPath)]) {
        for tool in &request.tools {
            if !tool.name.is_empty() {
                self.names.reserve(&tool.name);
            }
        }
        for (tool, _) in items {
            let kind = tool.get("type").and_then(Value::as_str);
            if let (Some("function" | "custom"), Some(name)) =
                (kind, tool.get("name").and_then(Value::as_str))
            {
                self.names.reserve(name);
            }
        }
    }

    fn add(&mut self, tool: Tool, path: &JsonPath<'_>, place: ToolPlace) -> Result<(), WireError> {
        match &tool.kind {
            ToolKind::Server { kind } if kind == "namespace" => {
                return self.add_namespace(tool, path, place);
            }
            ToolKind::Server { kind } => match ClientToolKind::from_kind(kind, &tool.rest) {
                Some(runner) => self.add_client_run(tool, runner, place),
                None => self.tools.push(tool),
            },
            _ if place == ToolPlace::Tools => self.append(tool),
            _ => self.put(tool, ClientToolForm::Plain, place),
        }
        Ok(())
    }

    fn add_namespace(
        &mut self,
        mut tool: Tool,
        path: &JsonPath<'_>,
        place: ToolPlace,
    ) -> Result<(), WireError> {
        let name = tool.rest.get("name").cloned();
        let namespace = string(
            name.ok_or_else(|| missing(path, "name"))?,
            &path.key("name"),
        )?;
        let members = tool.rest.get("tools").cloned();
        let members = members.ok_or_else(|| missing(path, "tools"))?;
        let path = &path.key("tools");
        let mut read = Vec::new();
        for (i, member) in list(members, path)?.into_iter().enumerate() {
            let mut member = read_tool(member, &path.index(i))?;
            member.client_path = inside(&tool.client_path, i);
            read.push(member);
        }
        if read
            .iter()
            .any(|tool| matches!(tool.kind, ToolKind::Server { .. }))
        {
            // Not a namespace of functions: sent as a whole, or dropped.
            self.tools.push(tool);
            return Ok(());
        }
        tool.rest.shift_remove("tools");
        self.table
            .namespaces
            .entry(namespace.clone())
            .or_insert(tool.rest);
        for mut member in read {
            let form = ClientToolForm::Member {
                namespace: namespace.clone(),
                name: member.name.clone(),
            };
            let known = self
                .table
                .member(&namespace, &member.name)
                .map(str::to_owned);
            let base = || member_name(&namespace, &member.name);
            member.name = known.unwrap_or_else(|| self.names.unique(&base()));
            self.put(member, form, place);
        }
        Ok(())
    }

    /// A tool that the client runs: it stays of its kind, and has a name for calls.
    fn add_client_run(&mut self, mut tool: Tool, runner: ClientToolKind, place: ToolPlace) {
        let known = self.table.name_for_kind(runner).map(str::to_owned);
        tool.name = known.unwrap_or_else(|| self.names.unique(runner.as_str()));
        self.put(tool, ClientToolForm::ClientRun(runner), place);
    }

    /// Adds a tool. One that is in the list of tools already stays as it is; of several
    /// items the last counts.
    fn put(&mut self, tool: Tool, form: ClientToolForm, place: ToolPlace) {
        let listed = self.places.contains_key(&tool.name);
        let known = self.table.get(&tool.name).map(|known| known.place);
        let place = known.unwrap_or(if listed { ToolPlace::Tools } else { place });
        if known.is_none() {
            self.table.add(ClientTool {
                name: tool.name.clone(),
                form,
                place,
            });
        }
        if !(listed && place == ToolPlace::Tools) {
            self.push(tool);
        }
    }

    fn push(&mut self, tool: Tool) {
        match self.places.get(&tool.name) {
            Some(at) => {
                if let Some(known) = self.tools.get_mut(*at) {
                    *known = tool;
                }
            }
            None => self.append(tool),
        }
    }

    fn append(&mut self, tool: Tool) {
        let at = self.tools.len();
        self.places.entry(tool.name.clone()).or_insert(at);
        self.tools.push(tool);
    }

    /// A past call of a namespace's member by its plain name.
    fn rename_call(&mut self, block: &mut Block) {
        let Content::ToolUse { name, .. } = &mut block.content else {
            return;
        };
        let Some(Value::String(namespace)) = block.rest.shift_remove("namespace") else {
            return;
        };
        let known = self.table.member(&namespace, name).map(str::to_owned);
        let plain = known.unwrap_or_else(|| {
            let plain = self.names.unique(&member_name(&namespace, name));
            self.table.add(ClientTool {
                name: plain.clone(),
                form: ClientToolForm::Member {
                    namespace: namespace.clone(),
                    name: name.clone(),
                },
                place: ToolPlace::Past,
            });
            plain
        });
        *name = plain;
    }
}

/// The path of a tool inside another field of the client's body.
fn inside(outer: &ClientPath, index: usize) -> ClientPath {
    match outer.get() {
        Some((client, path)) => ClientPath::new(client, format!("{path}.tools[{index}]")),
        None => ClientPath::default(),
    }
}

fn missing(path: &JsonPath<'_>, key: &str) -> WireError {
    WireError::Missing {
        field: path.key(key).to_string(),
    }
}
