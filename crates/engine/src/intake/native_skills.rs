//! Skills that a vendor's own servers run: which a route has, and what a request to Anthropic
//! in another dialect lacks to use them.

use prowess_provider::{CallError, ClientCredentials, ModelTask, Route, Target};
use prowess_wire::Dropped;
use prowess_wire::neutral::{Request, Tool, ToolChoice, ToolKind, convert_to_anthropic};
use serde_json::Value;

use crate::client_features::{ClientFeatures, NativeVendor};
use crate::error::RunError;

const CODE_EXECUTION: &str = "code_execution";
/// The oldest of Anthropic's tools that runs skills: every version of its API has it.
const CODE_EXECUTION_KIND: &str = "code_execution_20250825";
/// Beta headers that older versions of its API require; newer ones ignore them.
const BETAS: &str = "code-execution-2025-08-25,skills-2025-10-02";

/// Which vendor's skills the models of a route have besides Prowess's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NativeSkills {
    /// None.
    Unsupported,
    /// Those of their vendor, in the client's own dialect: the request may pass unchanged.
    PassThrough,
    /// Anthropic's, for a client of another dialect.
    Translated,
}

impl NativeSkills {
    /// What every model of a route supports, for a client.
    pub(crate) fn for_route(route: &Route, features: &ClientFeatures) -> Self {
        let all = |supports: &dyn Fn(&Target) -> bool| {
            !route.targets().is_empty() && route.targets().iter().all(supports)
        };
        let is_vendor = |target: &Target| match features.native_vendor {
            Some(NativeVendor::Anthropic) => target.kind() == "anthropic",
            Some(NativeVendor::OpenAi) => matches!(target.kind(), "openai" | "azure"),
            None => false,
        };
        let passes = |target: &Target| {
            is_vendor(target) && target.supports_pass_through(features.dialect, ModelTask::Generate)
        };
        if all(&passes) {
            NativeSkills::PassThrough
        } else if !features.names_anthropic_skills() && all(&|target| target.kind() == "anthropic")
        {
            NativeSkills::Translated
        } else {
            NativeSkills::Unsupported
        }
    }
}

/// Converts a request so that it can name Anthropic's skills: to its dialect, with its code
/// execution before the client's tools. Returns the fields that were dropped.
pub(crate) fn add_code_execution(
    request: &mut Request,
    credentials: &mut ClientCredentials,
) -> Result<Vec<Dropped>, RunError> {
    let shell = request.tool_choice.take_if(|choice| is_shell(choice));
    let dropped = convert_to_anthropic(request).map_err(CallError::from)?;
    if shell.is_some() {
        request.tool_choice = Some(ToolChoice::Tool(CODE_EXECUTION.to_owned()));
    }
    // Skills need it, whichever of its own tools the client allows.
    if let Some(ToolChoice::Allowed { names, .. }) = &mut request.tool_choice {
        names.push(CODE_EXECUTION.to_owned());
    }
    let tool = Tool {
        name: CODE_EXECUTION.to_owned(),
        kind: ToolKind::Server {
            kind: CODE_EXECUTION_KIND.to_owned(),
        },
        cache_control: None,
        rest: Default::default(),
        client_path: Default::default(),
    };
    request.tools.insert(0, tool);
    credentials.add_betas(BETAS);
    Ok(dropped)
}

/// Whether a choice is the `shell` tool of Responses, whoever runs it.
pub(crate) fn is_shell(choice: &ToolChoice) -> bool {
    match choice {
        ToolChoice::Other(map) => map.get("type").and_then(Value::as_str) == Some("shell"),
        _ => false,
    }
}
