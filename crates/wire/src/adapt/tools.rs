//! Which tools a model of another vendor is offered, and as what.
//!
//! Tools found in the middle of a conversation come after all others, in the order in which
//! they were found, so that the beginning of the prompt stays the same.

use std::collections::HashSet;

use serde_json::Value;

use super::deferred_tools::{DiscoveredTools, is_deferred, is_server_search};
use super::{tool_schemas, toolsets};
use crate::anthropic::read_tool;
use crate::drops::Drops;
use crate::json_path::TOOLS;
use crate::model_text;
use crate::neutral::{Block, ClientToolForm, Request, Tool, ToolKind, ToolPlace};

const ONLY_VENDOR_SEARCHES: &str =
    "tool search on the vendor's servers; all deferred tools are offered instead";

/// Sets the tools that are offered.
pub(super) fn adapt(request: &mut Request, drops: &mut Drops) {
    let found = DiscoveredTools::from_request(request);
    let search = request
        .tools
        .iter()
        .any(|tool| is_server_search(request, tool));
    let mut now = Vec::with_capacity(request.tools.len());
    let mut later = Vec::new();
    let mut waiting = Vec::new();
    let tools = toolsets::expand(std::mem::take(&mut request.tools));
    for (i, tool) in tools.into_iter().enumerate() {
        if is_server_search(request, &tool) {
            drops.add(TOOLS.tool(i, &tool), ONLY_VENDOR_SEARCHES);
            continue;
        }
        if found.removed.contains(&tool.name) {
            continue;
        }
        let deferred = !search && is_deferred(request, &tool);
        let order = found.order(&tool.name);
        let late = deferred || is_brought_by_item(request, &tool) && order.is_some();
        let tool = as_function(request, tool);
        match (late, order) {
            (false, _) => now.push(tool),
            (true, Some(order)) => later.push((order, tool)),
            (true, None) => waiting.push(tool),
        }
    }
    add_defined(&found, &mut now, &mut later);
    if !now.iter().any(is_callable) && !later.iter().any(|(_, tool)| is_callable(tool)) {
        // There is nothing to find them with.
        now.append(&mut waiting);
    }
    later.sort_by_key(|(order, _)| *order);
    now.extend(later.into_iter().map(|(_, tool)| tool));
    note_unavailable(request, &now);
    describe_namespaces(request, &mut now);
    request.tools = now;
}

/// Whether a tool is defined by an item of the conversation.
fn is_brought_by_item(request: &Request, tool: &Tool) -> bool {
    let known = request.client_tools.get(&tool.name);
    known.is_some_and(|known| known.place == ToolPlace::Input)
}

/// Whether a model can call a tool, wherever it is.
pub(super) fn is_callable(tool: &Tool) -> bool {
    !matches!(tool.kind, ToolKind::Server { .. })
}

/// A tool as a function, if it can be one.
fn as_function(request: &Request, mut tool: Tool) -> Tool {
    tool.rest.shift_remove("defer_loading");
    match &mut tool.kind {
        ToolKind::Function { .. } => {}
        ToolKind::Freeform { description } => {
            if let Some(text) = tool.rest.get("format").and_then(model_text::grammar) {
                tool.rest.shift_remove("format");
                let known = description.take().unwrap_or_default();
                *description = Some(format!("{known}{text}"));
            }
        }
        ToolKind::Server { kind } => {
            let runner = request.client_tools.client_run_kind(&tool.name);
            let function = match runner {
                Some(runner) => Some(tool_schemas::responses_tool(runner, &mut tool.rest)),
                None => tool_schemas::messages_tool(kind, &mut tool.rest),
            };
            if let Some((description, input_schema)) = function
                && !tool.name.is_empty()
            {
                let strict = tool.rest.shift_remove("strict");
                tool.kind = ToolKind::Function {
                    description: Some(description),
                    input_schema,
                    strict: strict.as_ref().and_then(Value::as_bool),
                };
            }
        }
    }
    tool
}

/// Adds the tools that the conversation itself defines; they replace those of their name.
fn add_defined(found: &DiscoveredTools, now: &mut Vec<Tool>, later: &mut Vec<(usize, Tool)>) {
    for definition in &found.defined {
        let Ok(tool) = read_tool(definition.clone(), &TOOLS) else {
            continue;
        };
        now.retain(|known| known.name != tool.name);
        later.retain(|(_, known)| known.name != tool.name);
        let order = found.order(&tool.name).filter(|_| is_callable(&tool));
        if let (Some(order), false) = (order, found.removed.contains(&tool.name)) {
            later.push((order, tool));
        }
    }
}

/// Informs the model about searches that it cannot run: a user may request one, and the
/// model would invent results.
fn note_unavailable(request: &mut Request, offered: &[Tool]) {
    let web = |tool: &Tool| match &tool.kind {
        ToolKind::Server { kind } => is_web(kind),
        _ => false,
    };
    if offered.iter().any(web) {
        request.system.push(Block::text(model_text::NO_WEB));
    }
}

/// How the kinds of tools begin that read the web on a vendor's servers.
const WEB_TOOL_PREFIXES: [&str; 6] = [
    "web_search",
    "web_fetch",
    "google_search",
    "googleSearch",
    "url_context",
    "urlContext",
];

/// Whether a tool of a vendor's servers reads the web.
pub(super) fn is_web(kind: &str) -> bool {
    WEB_TOOL_PREFIXES
        .iter()
        .any(|prefix| kind.starts_with(prefix))
}

/// Adds the description of a namespace to the first of its tools.
fn describe_namespaces(request: &Request, offered: &mut [Tool]) {
    let mut described: HashSet<&str> = HashSet::new();
    for tool in offered {
        let known = request.client_tools.get(&tool.name);
        let Some(ClientToolForm::Member { namespace, .. }) = known.map(|known| &known.form) else {
            continue;
        };
        let fields = request.client_tools.namespaces.get(namespace);
        let about = fields.and_then(|fields| fields.get("description")?.as_str());
        if !described.insert(namespace) {
            continue;
        }
        if let (
            Some(text),
            ToolKind::Function { description, .. } | ToolKind::Freeform { description },
        ) = (
            about.and_then(|about| model_text::namespace(namespace, about)),
            &mut tool.kind,
        ) {
            let known = description.take().unwrap_or_default();
            *description = Some(format!("{known}{text}"));
        }
    }
}
