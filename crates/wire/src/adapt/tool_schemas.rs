//! Tools that a client runs and that only its vendor's models support, as functions:
//! descriptions and argument schemas.

use serde_json::{Value, json};

use crate::argument_schemas::no_parameters;
use crate::model_text;
use crate::neutral::{ClientToolKind, Map};

/// A description and a schema.
type FunctionSpec = (String, Value);

/// A tool of a Responses client. Removes the fields that the function covers from `rest`.
pub(super) fn responses_tool(runner: ClientToolKind, rest: &mut Map) -> FunctionSpec {
    match runner {
        ClientToolKind::LocalShell => (model_text::LOCAL_SHELL.to_owned(), local_shell()),
        ClientToolKind::Shell => {
            let environment = rest.shift_remove("environment");
            let skills = model_text::skills(environment.as_ref());
            (format!("{}{skills}", model_text::SHELL), shell())
        }
        ClientToolKind::ApplyPatch => (model_text::APPLY_PATCH.to_owned(), apply_patch()),
        ClientToolKind::ToolSearch => {
            rest.shift_remove("execution");
            let about = rest.shift_remove("description");
            let about = about.as_ref().and_then(Value::as_str);
            let schema = rest.shift_remove("parameters");
            (
                about.unwrap_or(model_text::TOOL_SEARCH).to_owned(),
                schema
                    .filter(Value::is_object)
                    .unwrap_or_else(no_parameters),
            )
        }
    }
}

/// A tool of a Messages client, by its type; `None` for tools of Anthropic's servers.
pub(super) fn messages_tool(kind: &str, rest: &mut Map) -> Option<FunctionSpec> {
    let (family, version) = kind.rsplit_once('_')?;
    match family {
        "bash" => Some((model_text::BASH.to_owned(), bash())),
        "text_editor" => Some(editor(version, rest)),
        "memory" => Some((model_text::MEMORY.to_owned(), memory())),
        "computer" => Some(computer(version, rest)),
        _ => None,
    }
}

fn object(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if let (false, Some(map)) = (required.is_empty(), schema.as_object_mut()) {
        map.insert("required".to_owned(), json!(required));
    }
    schema
}

fn string() -> Value {
    json!({"type": "string"})
}

fn integer() -> Value {
    json!({"type": "integer"})
}

fn list_of(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn local_shell() -> Value {
    let env = json!({"type": "object", "additionalProperties": {"type": "string"}});
    object(
        json!({
            "command": list_of(string()),
            "working_directory": string(),
            "timeout_ms": integer(),
            "env": env,
        }),
        &["command"],
    )
}

fn shell() -> Value {
    object(
        json!({
            "commands": list_of(string()),
            "timeout_ms": integer(),
            "max_output_length": integer(),
        }),
        &["commands"],
    )
}

fn apply_patch() -> Value {
    object(
        json!({
            "type": one_of(&["create_file", "update_file", "delete_file"]),
            "path": string(),
            "diff": string(),
        }),
        &["type", "path"],
    )
}

fn bash() -> Value {
    object(
        json!({"command": string(), "restart": {"type": "boolean"}}),
        &[],
    )
}

/// Versions before April 2025 support `undo_edit`; the name of the text to insert changed
/// in July.
fn editor(version: &str, rest: &mut Map) -> FunctionSpec {
    let mut about = model_text::EDITOR.to_owned();
    let mut commands = vec!["view", "create", "str_replace", "insert"];
    if version < "20250429" {
        commands.push("undo_edit");
        about.push_str(model_text::EDITOR_UNDO);
    }
    let most = rest.shift_remove("max_characters");
    if let Some(most) = most.as_ref().and_then(Value::as_u64) {
        about.push_str(&model_text::view_limit(most));
    }
    let inserted = if version < "20250728" {
        "new_str"
    } else {
        "insert_text"
    };
    let mut properties = json!({
        "command": one_of(&commands),
        "path": string(),
        "view_range": list_of(integer()),
        "file_text": string(),
        "old_str": string(),
        "new_str": string(),
        "insert_line": integer(),
    });
    if let Some(map) = properties.as_object_mut() {
        map.insert(inserted.to_owned(), string());
    }
    (about, object(properties, &["command", "path"]))
}

fn memory() -> Value {
    let commands = [
        "view",
        "create",
        "str_replace",
        "insert",
        "delete",
        "rename",
    ];
    object(
        json!({
            "command": one_of(&commands),
            "path": string(),
            "view_range": list_of(integer()),
            "file_text": string(),
            "old_str": string(),
            "new_str": string(),
            "insert_line": integer(),
            "insert_text": string(),
            "old_path": string(),
            "new_path": string(),
        }),
        &["command"],
    )
}

/// Actions of the first version; later ones have more.
const ACTIONS: [&str; 10] = [
    "key",
    "type",
    "mouse_move",
    "left_click",
    "left_click_drag",
    "right_click",
    "middle_click",
    "double_click",
    "screenshot",
    "cursor_position",
];
const ACTIONS_20250124: [&str; 6] = [
    "left_mouse_down",
    "left_mouse_up",
    "scroll",
    "hold_key",
    "wait",
    "triple_click",
];

fn computer(version: &str, rest: &mut Map) -> FunctionSpec {
    let mut about = model_text::COMPUTER.to_owned();
    let mut size = |key: &str| rest.shift_remove(key).as_ref().and_then(Value::as_u64);
    if let (Some(width), Some(height)) = (size("display_width_px"), size("display_height_px")) {
        about.push_str(&model_text::screen(width, height));
    }
    // The tool's runner selects the screen.
    rest.shift_remove("display_number");
    let zoom = rest.shift_remove("enable_zoom") == Some(Value::Bool(true));
    let mut actions = ACTIONS.to_vec();
    if version >= "20250124" {
        actions.extend(ACTIONS_20250124);
    }
    let mut properties = json!({
        "coordinate": list_of(integer()),
        "start_coordinate": list_of(integer()),
        "text": string(),
        "duration": {"type": "number"},
        "scroll_direction": one_of(&["up", "down", "left", "right"]),
        "scroll_amount": integer(),
    });
    if zoom {
        actions.push("zoom");
    }
    if let Some(map) = properties.as_object_mut() {
        if zoom {
            map.insert("region".to_owned(), list_of(integer()));
        }
        map.insert("action".to_owned(), one_of(&actions));
    }
    (about, object(properties, &["action"]))
}
