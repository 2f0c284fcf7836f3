//! Anthropic's own skills for clients of other dialects: what their requests lack to be
//! run by its servers, and the files its answers name.

use prowess_provider::{CallError, Caller};
use prowess_wire::Dropped;
use prowess_wire::neutral::{Content, Request, StopReason, Tool, ToolChoice, ToolKind, adopt};
use serde_json::{Value, json};

use crate::error::RunError;

const TOOL: &str = "code_execution";
/// The oldest of Anthropic's tools that runs skills: every version of its API has it.
const TOOL_KIND: &str = "code_execution_20250825";
/// What older versions of its API want to be told; newer ones need it no more.
const BETAS: &str = "code-execution-2025-08-25,skills-2025-10-02";

/// Makes a request one that may name Anthropic's skills: told in its dialect, with its
/// code execution before the client's tools. Gives what had to be left out.
pub(crate) fn borrow(request: &mut Request, caller: &mut Caller) -> Result<Vec<Dropped>, RunError> {
    let shell = request.tool_choice.take_if(|choice| is_shell(choice));
    let dropped = adopt(request).map_err(CallError::from)?;
    if shell.is_some() {
        request.tool_choice = Some(ToolChoice::Tool(TOOL.to_owned()));
    }
    let tool = Tool {
        name: TOOL.to_owned(),
        kind: ToolKind::Server {
            kind: TOOL_KIND.to_owned(),
        },
        cache_control: None,
        rest: Default::default(),
    };
    request.tools.insert(0, tool);
    caller.wants_betas(BETAS);
    Ok(dropped)
}

/// Whether a choice is Responses' shell, whoever runs it.
pub(crate) fn is_shell(choice: &ToolChoice) -> bool {
    match choice {
        ToolChoice::Other(map) => map.get("type").and_then(Value::as_str) == Some("shell"),
        _ => false,
    }
}

/// Whether the upstream wants to be asked again before it goes on.
pub(crate) fn has_paused(reason: Option<&StopReason>) -> bool {
    reason == Some(&StopReason::PauseTurn)
}

/// The files that a result of the upstream's own servers names. All that is known of
/// them is who holds them.
pub(crate) fn files(content: &Content, provider: &str) -> Vec<Value> {
    let Content::ServerToolResult { content, .. } = content else {
        return Vec::new();
    };
    let outputs = content.get("content").and_then(Value::as_array);
    let ids = outputs.into_iter().flatten();
    ids.filter_map(|output| output.get("file_id")?.as_str())
        .map(|id| {
            json!({
                "file_id": id,
                "filename": null,
                "mime_type": null,
                "size_bytes": null,
                "provider": provider,
            })
        })
        .collect()
}
