//! What came of a call, as MCP's content: text, images, links to the files it made.

use crate::desk::internal;
use crate::uri;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prowess_sandbox::Output;
use prowess_toolbox::{Outcome, Part, Workspace, folder_of};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};

/// Pictures that are shown with the result that made them: as many, each as large.
const PICTURES: usize = 4;
const PICTURE_BYTES: u64 = 1 << 20;

/// Files linked to. The text names some of the others; all are in the list of resources.
const LINKS: usize = 50;

/// The result of a call.
pub(crate) async fn result(
    outcome: &Outcome,
    workspace: Option<&Workspace>,
) -> Result<CallToolResult, ErrorData> {
    let mut content: Vec<ContentBlock> = outcome
        .shown
        .iter()
        .map(|part| shown(part, outcome))
        .collect();
    if let Some(workspace) = workspace {
        content.extend(pictures(&outcome.outputs, workspace).await?);
    }
    let links = outcome.outputs.iter().take(LINKS).map(link);
    content.extend(links.map(ContentBlock::ResourceLink));
    Ok(match outcome.is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    })
}

fn shown(part: &Part, outcome: &Outcome) -> ContentBlock {
    let (mime, data) = match part {
        Part::Text(text) => return ContentBlock::text(text.clone()),
        Part::Binary { mime, data } => (mime, STANDARD.encode(data)),
    };
    match mime.split('/').next() {
        Some("image") => ContentBlock::image(data, mime),
        Some("audio") => ContentBlock::audio(data, mime),
        _ => {
            let blob = ResourceContents::blob(data, place(outcome));
            ContentBlock::resource(blob.with_mime_type(mime))
        }
    }
}

/// The URI of the file that a call has shown.
fn place(outcome: &Outcome) -> String {
    let input = outcome.native.input();
    let path = input.get("path").and_then(serde_json::Value::as_str);
    let path = path.unwrap_or_default();
    let of_skill = outcome.skill.as_ref().and_then(|skill| {
        let folder = format!("/skills/{}/", folder_of(skill));
        Some(uri::skill_file(skill, path.strip_prefix(&folder)?))
    });
    of_skill.unwrap_or_else(|| uri::made_file(path.trim_start_matches("/mnt/data/")))
}

/// The first small pictures that it made.
async fn pictures(made: &[Output], workspace: &Workspace) -> Result<Vec<ContentBlock>, ErrorData> {
    let drawn = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let wanted = made
        .iter()
        .filter(|made| drawn.contains(&made.mime_type.as_str()) && made.size <= PICTURE_BYTES);
    let mut content = Vec::new();
    for picture in wanted.take(PICTURES) {
        let bytes = workspace.get(&picture.path).await.map_err(internal)?;
        content.push(ContentBlock::image(
            STANDARD.encode(bytes),
            &picture.mime_type,
        ));
    }
    Ok(content)
}

/// A file that code made, as a resource.
fn link(made: &Output) -> Resource {
    Resource::new(uri::made_file(&made.path), &made.path)
        .with_mime_type(&made.mime_type)
        .with_size(made.size)
}
