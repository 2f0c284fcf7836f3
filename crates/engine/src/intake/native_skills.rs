//! Anthropic's own skills for clients of other dialects: what their requests lack to be
//! run by its servers, and the files its answers name.

use prowess_provider::{CallError, ClientCredentials, Route, Target};
use prowess_store::{Store, TenantId};
use prowess_wire::neutral::{
    Content, Request, StopReason, Tool, ToolChoice, ToolKind, convert_to_anthropic,
};
use prowess_wire::{Dropped, output_files};
use serde_json::{Value, json};

use crate::error::RunError;

const CODE_EXECUTION: &str = "code_execution";
/// The oldest of Anthropic's tools that runs skills: every version of its API has it.
const CODE_EXECUTION_KIND: &str = "code_execution_20250825";
/// What older versions of its API want to be told; newer ones need it no more.
const BETAS: &str = "code-execution-2025-08-25,skills-2025-10-02";

/// Makes a request one that may name Anthropic's skills: told in its dialect, with its
/// code execution before the client's tools. Gives what had to be left out.
pub(crate) fn add_code_execution(
    request: &mut Request,
    credentials: &mut ClientCredentials,
) -> Result<Vec<Dropped>, RunError> {
    let shell = request.tool_choice.take_if(|choice| is_shell(choice));
    let dropped = convert_to_anthropic(request).map_err(CallError::from)?;
    if shell.is_some() {
        request.tool_choice = Some(ToolChoice::Tool(CODE_EXECUTION.to_owned()));
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

/// Who hears of the files that Anthropic's servers make in a turn.
pub(crate) struct ProviderFileTracker<'a> {
    pub(crate) store: &'a Store,
    pub(crate) tenant: &'a TenantId,
    /// The provider whose turn it is, if its servers make any.
    pub(crate) provider: Option<&'a str>,
}

impl ProviderFileTracker<'_> {
    /// Remembers whose files a block names, before the client hears of them: it may ask
    /// for them at once. If that fails it has its answer all the same.
    pub(crate) async fn track(&self, content: &Content) {
        let ids = file_ids(content);
        let Some(provider) = self.provider.filter(|_| !ids.is_empty()) else {
            return;
        };
        let tracked = self
            .store
            .record_provider_files(self.tenant, provider, &ids);
        if let Err(error) = tracked.await {
            tracing::warn!(%error, files = ids.len(), "cannot remember whose files these are");
        }
    }
}

/// The provider of a turn, if its servers make files and keep them.
pub(crate) fn file_host<'a>(route: &Route, provider: &'a str) -> Option<&'a str> {
    let mut targets = route.targets().iter();
    let keeps = |target: &Target| target.provider() == provider && target.has_file_storage();
    targets.any(keeps).then_some(provider)
}

/// The files that a result of the upstream's own servers names. All that is known of
/// them is who holds them.
pub(crate) fn file_references(content: &Content, provider: &str) -> Vec<Value> {
    let files = file_ids(content).into_iter().map(|id| {
        json!({
            "file_id": id,
            "filename": null,
            "mime_type": null,
            "size_bytes": null,
            "provider": provider,
        })
    });
    files.collect()
}

fn file_ids(content: &Content) -> Vec<&str> {
    match content {
        Content::ServerToolResult { kind, content, .. } => {
            output_files::file_ids_in_result(kind, content)
        }
        _ => Vec::new(),
    }
}
