//! A call of one of Prowess's tools, the names of these tools in a run, and the form of a
//! call as native code execution, which clients see.

use prowess_sandbox::LAYOUT;
use prowess_toolbox::{Toolbox, skill_folder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Names of the upstream's own code execution tools, where it has any.
pub(crate) const NATIVE_TOOL_NAMES: [&str; 3] = [
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
];

/// A call of one of Prowess's tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Its arguments: an object, or text when the model wrote invalid JSON.
    pub(crate) input: Value,
    /// Whether the client has received the call.
    pub(crate) is_announced: bool,
}

/// The names of Prowess's tools in this run: a tool of the client may already have the
/// preferred one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolNames {
    pub(crate) load: String,
    pub(crate) search: String,
    pub(crate) bash: String,
    pub(crate) editor: String,
}

impl Default for ToolNames {
    fn default() -> Self {
        ToolNames {
            load: "load_skill".to_owned(),
            search: "search_skills".to_owned(),
            bash: "bash_code_execution".to_owned(),
            editor: "text_editor_code_execution".to_owned(),
        }
    }
}

impl ToolNames {
    pub(crate) fn for_toolbox(toolbox: &Toolbox) -> Self {
        let defaults = ToolNames::default();
        let own = toolbox.own_tool_names();
        ToolNames {
            load: own.load.unwrap_or(defaults.load),
            search: own.search.unwrap_or(defaults.search),
            bash: own.bash.unwrap_or(defaults.bash),
            editor: own.editor.unwrap_or(defaults.editor),
        }
    }

    /// The native form of a call, before it has run; none when only its outcome determines
    /// it.
    pub(crate) fn native_call(&self, call: &ToolCall) -> Option<(&'static str, Value)> {
        let text = |key: &str| call.input.get(key).and_then(Value::as_str);
        if call.name == self.bash {
            let command = text("command")?;
            Some(("bash_code_execution", json!({"command": command})))
        } else if call.name == self.editor && call.input.is_object() {
            Some(("text_editor_code_execution", call.input.clone()))
        } else if call.name == self.load {
            let folder = skill_folder(text("name")?);
            let file = text("path").unwrap_or("SKILL.md");
            let path = LAYOUT.skill_path(&format!("{folder}/{file}"));
            let input = json!({"command": "view", "path": path});
            Some(("text_editor_code_execution", input))
        } else {
            None
        }
    }
}

/// Adds the call itself to its native form, which carries less.
pub(crate) fn with_original_call(call: &ToolCall, mut native: Value) -> Value {
    if let Some(map) = native.as_object_mut() {
        map.insert("tool".to_owned(), call.name.clone().into());
        map.insert("arguments".to_owned(), call.input.clone());
    }
    native
}
