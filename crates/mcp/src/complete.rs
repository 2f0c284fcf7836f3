//! Completions: names of skills and paths of their files, in templates' URIs.

use crate::desk::{Desk, Open, internal};
use crate::resources::{OF_SESSION, OF_SKILLS};
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};

/// What an argument may go on with. Where nothing is known, nothing is suggested.
pub(crate) async fn complete(
    desk: &Desk,
    params: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let open = desk.open().await?;
    let template = match &params.r#ref {
        Reference::Resource(resource) => resource.uri.as_str(),
        _ => "",
    };
    let known = match (template, params.argument.name.as_str()) {
        (OF_SKILLS, "name") => names(open),
        (OF_SKILLS, "path") => {
            let context = params.context.as_ref();
            let name = context.and_then(|context| context.get_argument("name"));
            name.map(|name| paths(open, name)).unwrap_or_default()
        }
        (OF_SESSION, "path") => made(open).await,
        _ => Vec::new(),
    };
    let begun = &params.argument.value;
    let mut fitting: Vec<String> = known
        .into_iter()
        .filter(|value| value.starts_with(begun))
        .collect();
    let total = u32::try_from(fitting.len()).ok();
    let more = fitting.len() > CompletionInfo::MAX_VALUES;
    fitting.truncate(CompletionInfo::MAX_VALUES);
    let completion = CompletionInfo::with_pagination(fitting, total, more).map_err(internal)?;
    Ok(CompleteResult::new(completion))
}

fn names(open: &Open) -> Vec<String> {
    let skills = open.skills();
    let names = skills
        .members
        .iter()
        .map(|member| member.skill.name.clone());
    names.collect()
}

fn paths(open: &Open, name: &str) -> Vec<String> {
    let Some(member) = open.skill(name) else {
        return Vec::new();
    };
    let files = member.skill.manifest.files().iter();
    files.map(|file| file.path.as_str().to_owned()).collect()
}

async fn made(open: &Open) -> Vec<String> {
    let Some(workspace) = open.toolbox.workspace() else {
        return Vec::new();
    };
    let files = workspace.list().await.unwrap_or_default();
    files.into_iter().map(|file| file.path).collect()
}
