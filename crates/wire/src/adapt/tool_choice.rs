//! Choices of tools: a tool that the client runs is chosen as a function, and a choice of
//! one that only another vendor's servers run is refused, for without it the model would
//! invent what the tool was to find.

use serde_json::Value;

use super::tools::{is_callable, is_web};
use crate::Dialect;
use crate::error::WireError;
use crate::neutral::{Request, Tool, ToolChoice, ToolKind};
use crate::responses::kind_for_choice;

const NO_CALLABLE_TOOLS: &str = "it demands a call, but all tools of the request run on their vendor's \
servers only: this model can call none of them";

pub(super) fn adapt(
    original: &Request,
    adapted: &mut Request,
    target: Dialect,
) -> Result<(), WireError> {
    match &original.tool_choice {
        Some(ToolChoice::Other(map)) => {
            let kind = map.get("type").and_then(Value::as_str).unwrap_or_default();
            let own = kind_for_choice(kind)
                .and_then(|runner| original.client_tools.name_for_kind(runner));
            match own {
                Some(name) => adapted.tool_choice = Some(ToolChoice::Tool(name.to_owned())),
                None => return Err(cannot_force(kind, target)),
            }
        }
        Some(ToolChoice::Tool(name)) => {
            let forced = |tool: &&Tool| tool.name == *name;
            let kind = original.tools.iter().find(forced).map(|tool| &tool.kind);
            let offered = adapted.tools.iter().find(forced);
            if let (Some(ToolKind::Server { kind }), false) =
                (kind, offered.is_some_and(is_callable))
            {
                return Err(cannot_force(kind, target));
            }
        }
        Some(ToolChoice::Any | ToolChoice::Allowed { required: true, .. })
            if !original.tools.is_empty() && !adapted.tools.iter().any(is_callable) =>
        {
            return Err(WireError::unsupported(
                target,
                "tool_choice",
                NO_CALLABLE_TOOLS,
            ));
        }
        _ => {}
    }
    Ok(())
}

fn cannot_force(kind: &str, target: Dialect) -> WireError {
    let why = if is_web(kind) {
        format!(
            "this model cannot search or read the web: {kind} runs on its vendor's servers only; \
             use a model of that vendor, or offer a search tool of your own"
        )
    } else {
        format!(
            "this model cannot be made to call {kind}, which runs on its vendor's servers only; \
             use a model of that vendor, or offer a function instead"
        )
    };
    WireError::unsupported(target, "tool_choice", why)
}
