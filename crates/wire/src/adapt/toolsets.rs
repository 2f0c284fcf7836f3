//! Anthropic's toolsets: one entry of a request's tools that stands for many that the client
//! runs, such as all actions of a computer. For models of other vendors each of these members is
//! a function, whose name begins with the toolset's.

use serde_json::{Value, json};

use crate::context::ReplyContext;
use crate::model_text;
use crate::neutral::{Map, Request, Tool, ToolKind};
use crate::tool_names::member_name;

/// The field of a call, and of its result, that names the toolset of a member.
pub(super) const TOOLSET_NAME: &str = "toolset_name";

/// A member, and the names of its arguments.
struct ToolsetMember {
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    /// Whether it is offered if the client says nothing of it.
    by_default: bool,
}

const fn member(
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
) -> ToolsetMember {
    ToolsetMember {
        name,
        required,
        optional,
        by_default: true,
    }
}

const fn on_request(
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
) -> ToolsetMember {
    ToolsetMember {
        by_default: false,
        ..member(name, required, optional)
    }
}

const CLICK: &[&str] = &["coordinate", "text"];
const TAB: &[&str] = &["tab_id"];
const TAB_CLICK: &[&str] = &["modifiers", "tab_id"];
const TARGET: &[&str] = &["target"];

static COMPUTER: [ToolsetMember; 17] = [
    member("key", &["text"], &["repeat"]),
    member("hold_key", &["text", "duration"], &[]),
    member("type", &["text"], &[]),
    member("cursor_position", &[], &[]),
    member("mouse_move", &["coordinate"], &[]),
    member("left_mouse_down", &[], &[]),
    member("left_mouse_up", &[], &[]),
    member("left_click", &[], CLICK),
    member(
        "left_click_drag",
        &["start_coordinate", "coordinate"],
        &["text"],
    ),
    member("right_click", &[], CLICK),
    member("middle_click", &[], CLICK),
    member("double_click", &[], CLICK),
    member("triple_click", &[], CLICK),
    member("scroll", &["scroll_direction", "scroll_amount"], CLICK),
    member("wait", &["duration"], &[]),
    member("screenshot", &[], &[]),
    member("zoom", &["region"], &[]),
];

static BROWSER: [ToolsetMember; 31] = [
    member("navigate", &["url"], TAB),
    member("screenshot", &[], TAB),
    member("zoom", &["region"], TAB),
    member("left_click", TARGET, TAB_CLICK),
    member("right_click", TARGET, TAB_CLICK),
    member("middle_click", TARGET, TAB_CLICK),
    member("double_click", TARGET, TAB_CLICK),
    member("triple_click", TARGET, TAB_CLICK),
    member("hover", TARGET, TAB),
    member("left_click_drag", &["from", "target"], TAB),
    member("left_mouse_down", TARGET, TAB),
    member("left_mouse_up", TARGET, TAB),
    member("mouse_move", TARGET, TAB),
    member(
        "scroll",
        &["target", "scroll_direction"],
        &["scroll_amount", "tab_id"],
    ),
    member("scroll_to", TARGET, TAB),
    member("type", &["text"], TAB),
    member("key", &["text"], &["repeat", "tab_id"]),
    member("hold_key", &["text", "duration"], TAB),
    member("form_input", &["target", "value"], TAB),
    member("read_page", &[], &["filter", "depth", "ref", "tab_id"]),
    member("find", &["query"], TAB),
    member("get_page_text", &[], TAB),
    member("wait", &["duration"], TAB),
    on_request("file_upload", TARGET, &["paths", "document_ids", "tab_id"]),
    on_request("read_console", &[], TAB),
    on_request("read_network", &[], TAB),
    on_request("javascript_exec", &["text"], TAB),
    member("new_tab", &[], &[]),
    member("list_tabs", &[], &[]),
    member("switch_tab", TAB, &[]),
    member("close_tab", TAB, &[]),
];

/// The toolset of a tool with this type.
fn toolset(kind: &str) -> Option<&'static str> {
    match kind {
        "computer_toolset_20260801" => Some("computer"),
        "browser_toolset_20260801" => Some("browser"),
        _ => None,
    }
}

fn members(toolset: &str) -> &'static [ToolsetMember] {
    match toolset {
        "computer" => &COMPUTER,
        "browser" => &BROWSER,
        _ => &[],
    }
}

fn toolset_of(tool: &Tool) -> Option<&'static str> {
    match &tool.kind {
        ToolKind::Server { kind } => toolset(kind),
        _ => None,
    }
}

/// The names of the toolsets among a request's tools.
pub(crate) fn named_toolsets(request: &Request) -> Vec<&'static str> {
    request.tools.iter().filter_map(toolset_of).collect()
}

/// The tools with functions in place of toolsets.
pub(super) fn expand(tools: Vec<Tool>) -> Vec<Tool> {
    let mut out = Vec::with_capacity(tools.len());
    for tool in tools {
        match toolset_of(&tool) {
            Some(toolset) => out.extend(functions(tool, toolset)),
            None => out.push(tool),
        }
    }
    out
}

fn functions(mut tool: Tool, toolset: &str) -> Vec<Tool> {
    let configs = tool.rest.shift_remove("configs");
    let mark = tool.cache_control.take();
    let offered = members(toolset).iter().filter(|member| {
        let config = configs
            .as_ref()
            .and_then(|configs| configs.get(member.name));
        let enabled = config.and_then(|config| config.get("enabled")?.as_bool());
        enabled.unwrap_or(member.by_default)
    });
    let functions = offered.map(|member| Tool {
        name: member_name(toolset, member.name),
        kind: ToolKind::Function {
            description: Some(model_text::toolset_member(toolset, member.name).to_owned()),
            input_schema: schema(toolset, member),
            strict: None,
        },
        ..tool.clone()
    });
    let mut functions: Vec<Tool> = functions.collect();
    if let Some(last) = functions.last_mut() {
        last.cache_control = mark;
    }
    functions
}

fn schema(toolset: &str, member: &ToolsetMember) -> Value {
    let names = member.required.iter().chain(member.optional);
    let arguments = names.map(|name| ((*name).to_owned(), argument(toolset, member.name, name)));
    let properties: Map = arguments.collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if let (false, Some(map)) = (member.required.is_empty(), schema.as_object_mut()) {
        map.insert("required".to_owned(), json!(member.required));
    }
    schema
}

fn argument(toolset: &str, member: &str, name: &str) -> Value {
    match name {
        "coordinate" | "start_coordinate" | "region" => {
            json!({"type": "array", "items": {"type": "integer"}})
        }
        "paths" | "document_ids" => json!({"type": "array", "items": {"type": "string"}}),
        "repeat" | "scroll_amount" | "depth" => json!({"type": "integer"}),
        "duration" if toolset == "computer" => json!({"type": "integer"}),
        "duration" => json!({"type": "number"}),
        "scroll_direction" => json!({"type": "string", "enum": ["up", "down", "left", "right"]}),
        "filter" => json!({"type": "string", "enum": ["interactive", "all"]}),
        "value" => {
            json!({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]})
        }
        "from" => point(),
        "target" => match member {
            "left_click_drag" | "left_mouse_down" | "left_mouse_up" | "mouse_move" | "scroll" => {
                point()
            }
            "file_upload" | "form_input" | "scroll_to" => json!({
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": ["ref"]}, "ref": {"type": "string"},
                },
                "required": ["type", "ref"],
            }),
            // Either: one object, as not every vendor accepts a choice of objects.
            _ => json!({
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": ["coordinate", "ref"]},
                    "x": {"type": "integer"}, "y": {"type": "integer"},
                    "ref": {"type": "string"},
                },
                "required": ["type"],
            }),
        },
        _ => json!({"type": "string"}),
    }
}

fn point() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["coordinate"]},
            "x": {"type": "integer"}, "y": {"type": "integer"},
        },
        "required": ["type", "x", "y"],
    })
}

/// Gives a call of such a function the form of a member's call, as its client expects it. A tool of
/// the client's own may have a name that begins like these.
pub(crate) fn restore_member(call: &mut Map, context: &ReplyContext) {
    let name = call.get("name").and_then(Value::as_str);
    let Some((toolset, member)) = name.and_then(|name| name.split_once("__")) else {
        return;
    };
    let is_member = members(toolset).iter().any(|known| known.name == member);
    if !is_member || !context.toolsets.contains(&toolset) {
        return;
    }
    let (toolset, member) = (Value::from(toolset), Value::from(member));
    call.insert("name".to_owned(), member);
    call.insert(TOOLSET_NAME.to_owned(), toolset);
}
