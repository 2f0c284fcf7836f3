//! The request as a model gets it: our tools after the client's, our text after its
//! instructions, everything else as it was.

use prowess_toolbox::{Member, Toolbox, skill_folder};
use prowess_wire::ClientDialect;
use prowess_wire::neutral::{Block, Request, Tool, ToolChoice};
use serde_json::{Value, json};

use crate::native::is_shell;
use crate::restore::ToolCall;
use crate::skill_request::is_replaced_tool;

/// Names that the upstream's own code execution goes by, where it has one.
pub(crate) const NATIVE_TOOL_NAMES: [&str; 3] = [
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
];

/// What our tools are called in this run, for a client's tool may have the name already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolNames {
    pub(crate) load: String,
    pub(crate) bash: String,
    pub(crate) editor: String,
}

impl Default for ToolNames {
    fn default() -> Self {
        ToolNames {
            load: "load_skill".to_owned(),
            bash: "bash_code_execution".to_owned(),
            editor: "text_editor_code_execution".to_owned(),
        }
    }
}

impl ToolNames {
    pub(crate) fn for_toolbox(toolbox: &Toolbox) -> Self {
        let defaults = ToolNames::default();
        let find = |preferred: String, fallback: &str| {
            let numbered = (2..100).map(|number| format!("{fallback}_{number}"));
            let mut all = [preferred.clone(), fallback.to_owned()]
                .into_iter()
                .chain(numbered);
            all.find(|name| toolbox.has_tool(name)).unwrap_or(preferred)
        };
        ToolNames {
            load: find(defaults.load, "skills_load"),
            bash: find(defaults.bash, "skill_bash"),
            editor: find(defaults.editor, "skill_editor"),
        }
    }

    /// How a call looks as native code execution before it has run; none when that is
    /// known only afterwards.
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
            let path = format!("/skills/{folder}/{file}");
            let input = json!({"command": "view", "path": path});
            Some(("text_editor_code_execution", input))
        } else {
            None
        }
    }
}

/// How a call looks whose native form tells less than the call.
pub(crate) fn with_original_call(call: &ToolCall, mut native: Value) -> Value {
    if let Some(map) = native.as_object_mut() {
        map.insert("tool".to_owned(), call.name.clone().into());
        map.insert("arguments".to_owned(), call.input.clone());
    }
    native
}

/// The client's tools, without those that ours stand in for.
pub(crate) fn client_tools(
    client: ClientDialect,
    request: &Request,
    native: &[Value],
    keep: bool,
) -> Vec<Tool> {
    let mut kept = Vec::with_capacity(request.tools.len());
    for tool in &request.tools {
        let mut tool = tool.clone();
        if is_replaced_tool(client, &tool) {
            if !keep {
                continue;
            }
            if let Some(environment) = tool
                .rest
                .get_mut("environment")
                .and_then(Value::as_object_mut)
                && environment.contains_key("skills")
            {
                environment.insert("skills".to_owned(), native.into());
            }
        }
        kept.push(tool);
    }
    kept
}

/// The client's tools and ours behind them.
pub(crate) fn all_tools(client_tools: &[Tool], toolbox: &Toolbox) -> Vec<Tool> {
    let ours = toolbox
        .tools()
        .into_iter()
        .map(|spec| Tool::function(spec.name, spec.description, spec.input_schema));
    client_tools.iter().cloned().chain(ours).collect()
}

/// The client's choice, in words that fit the tools the model is offered.
pub(crate) fn tool_choice(
    choice: Option<ToolChoice>,
    names: &ToolNames,
    ours: &[Tool],
) -> Option<ToolChoice> {
    let code = ours.iter().any(|tool| tool.name == names.bash);
    Some(match choice? {
        ToolChoice::Tool(name) if name == "code_execution" && code => {
            ToolChoice::Tool(names.bash.clone())
        }
        other if is_shell(&other) => ToolChoice::Tool(names.bash.clone()),
        // Whoever names skills wants them used, whichever of its own tools it allows.
        ToolChoice::Allowed { names, required } => ToolChoice::Allowed {
            names: names
                .into_iter()
                .chain(ours.iter().map(|tool| tool.name.clone()))
                .collect(),
            required,
        },
        other => other,
    })
}

/// A choice that forces a call would force one for ever: once one of our tools has
/// obeyed it, the model is free.
pub(crate) fn relax_choice(choice: Option<ToolChoice>) -> Option<ToolChoice> {
    Some(match choice? {
        ToolChoice::Any | ToolChoice::Tool(_) => ToolChoice::Auto,
        ToolChoice::Allowed { names, .. } => ToolChoice::Allowed {
            names,
            required: false,
        },
        other => other,
    })
}

/// Appends what is said of the skills, as a block of its own.
pub(crate) fn append_system_text(request: &mut Request, text: Option<String>) {
    request.system.extend(text.map(Block::text));
}

/// The members whose instructions a model may load.
pub(crate) fn member_names(members: &[Member]) -> Vec<String> {
    members
        .iter()
        .map(|member| member.skill.name.clone())
        .collect()
}
