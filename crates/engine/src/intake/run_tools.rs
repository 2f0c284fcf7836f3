//! The tools a model gets: the client's, then Prowess's; and the client's choice among them.

use prowess_toolbox::Toolbox;
use prowess_wire::ClientDialect;
use prowess_wire::neutral::{Request, Tool, ToolChoice};
use serde_json::Value;

use crate::intake::native_skills::is_shell;
use crate::intake::skill_request::is_replaced_tool;
use crate::tool_call::ToolNames;

/// The client's tools, without those that Prowess's replace unless `keep` is set: the
/// upstream then runs them, with its own skills (`native`).
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

/// The client's tools, then Prowess's.
pub(crate) fn all_tools(client_tools: &[Tool], toolbox: &Toolbox) -> Vec<Tool> {
    let ours = toolbox
        .tools()
        .into_iter()
        .map(|spec| Tool::function(spec.name, spec.description, spec.input_schema));
    client_tools.iter().cloned().chain(ours).collect()
}

/// The client's choice, with the names of the tools that the model is offered.
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
        // Skills in the request are meant to be used, whichever client tools are allowed.
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

/// A choice that forces a call would force one on every turn: after a call of one of
/// Prowess's tools, the model is free.
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
