//! Completion of skill names and file paths in URI templates.

use crate::resources::{SANDBOX_FILE_TEMPLATE, SKILL_FILE_TEMPLATE};
use crate::session::{McpSession, McpSessionState, internal_error};
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};

/// Files of the session that are completed and counted; a session may have far more.
const MAX_MATCHES: usize = 1_000;

/// Completions of an argument; none for unknown arguments.
pub(crate) async fn complete(
    session: &McpSession,
    params: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let state = session.state().await?;
    let template = match &params.r#ref {
        Reference::Resource(resource) => resource.uri.as_str(),
        _ => "",
    };
    let prefix = params.argument.value.as_str();
    let known = match (template, params.argument.name.as_str()) {
        (SKILL_FILE_TEMPLATE, "name") => skill_names(state),
        (SKILL_FILE_TEMPLATE, "path") => {
            let context = params.context.as_ref();
            let name = context.and_then(|context| context.get_argument("name"));
            name.map(|name| skill_paths(state, name))
                .unwrap_or_default()
        }
        (SANDBOX_FILE_TEMPLATE, "path") => sandbox_paths(state, prefix).await,
        _ => Vec::new(),
    };
    let mut fitting: Vec<String> = known
        .into_iter()
        .filter(|value| value.starts_with(prefix))
        .collect();
    let total = u32::try_from(fitting.len()).ok();
    let more = fitting.len() > CompletionInfo::MAX_VALUES;
    fitting.truncate(CompletionInfo::MAX_VALUES);
    let completion =
        CompletionInfo::with_pagination(fitting, total, more).map_err(internal_error)?;
    Ok(CompleteResult::new(completion))
}

fn skill_names(state: &McpSessionState) -> Vec<String> {
    let skills = state.skills();
    let names = skills
        .members
        .iter()
        .map(|member| member.skill.name.clone());
    names.collect()
}

fn skill_paths(state: &McpSessionState, name: &str) -> Vec<String> {
    let Some(member) = state.skill(name) else {
        return Vec::new();
    };
    let files = member.skill.manifest.files().iter();
    files.map(|file| file.path.as_str().to_owned()).collect()
}

/// The files of the session that begin with this, of which only some are returned.
async fn sandbox_paths(state: &McpSessionState, prefix: &str) -> Vec<String> {
    let Some(workspace) = state.toolbox.workspace() else {
        return Vec::new();
    };
    let listed = workspace.list_counted().await.unwrap_or_default();
    let paths = listed.files.iter().map(|file| file.path.as_str());
    paths
        .filter(|path| path.starts_with(prefix))
        .take(MAX_MATCHES)
        .map(str::to_owned)
        .collect()
}
