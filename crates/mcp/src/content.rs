//! The outcome of a call as MCP content: text, images, and links to created files.

use crate::model_text;
use crate::session::internal_error;
use crate::uri;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prowess_sandbox::{LAYOUT, SandboxOutput};
use prowess_toolbox::{ContentPart, ToolOutcome, Workspace, skill_folder};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ProtocolVersion, Resource, ResourceContents};

/// Images that models can be shown. Hosts pass any image on to their model's API, and one of
/// another type would fail every later request of the conversation.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Images included in the result: maximum number, and bytes of each.
const MAX_IMAGES: usize = 4;
const MAX_IMAGE_BYTES: u64 = 1 << 20;

/// Maximum number of linked files. All files are in the list of resources.
const MAX_LINKS: usize = 50;

/// The result of a call, in content that exists in the client's version of the protocol: clients
/// of older ones refuse a whole result for a part that they do not know. `count` counts bytes of
/// it, and returns whether there is memory for them.
pub(crate) async fn call_result(
    outcome: &ToolOutcome,
    workspace: Option<&Workspace>,
    version: Option<&ProtocolVersion>,
    count: &(impl Fn(usize) -> bool + Sync),
) -> Result<CallToolResult, ErrorData> {
    if !count(outcome.content.iter().map(part_bytes).sum()) {
        let refusal = ContentBlock::text(model_text::TOO_MANY_RESPONSES);
        return Ok(CallToolResult::error(vec![refusal]));
    }
    let has = |since: ProtocolVersion| version.is_none_or(|version| *version >= since);
    let has_audio = has(ProtocolVersion::V_2025_03_26);
    let mut content: Vec<ContentBlock> = outcome
        .content
        .iter()
        .map(|part| to_content_block(part, outcome, has_audio))
        .collect();
    if let Some(workspace) = workspace {
        content.extend(small_images(&outcome.outputs, workspace, count).await?);
    }
    // The text names the files too, and they are in the list of resources.
    if has(ProtocolVersion::V_2025_06_18) {
        let links = outcome.outputs.iter().take(MAX_LINKS).map(file_link);
        content.extend(links.map(ContentBlock::ResourceLink));
    }
    Ok(if outcome.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    })
}

/// Bytes of a part in a result.
fn part_bytes(part: &ContentPart) -> usize {
    match part {
        ContentPart::Text(text) => text.len(),
        ContentPart::Binary { data, .. } => base64_bytes(data.len()),
    }
}

fn base64_bytes(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

fn to_content_block(part: &ContentPart, outcome: &ToolOutcome, has_audio: bool) -> ContentBlock {
    let (mime, data) = match part {
        ContentPart::Text(text) => return ContentBlock::text(text.clone()),
        ContentPart::Binary { mime, data } => (mime, STANDARD.encode(data)),
    };
    match mime.split('/').next() {
        Some("image") if IMAGE_TYPES.contains(&mime.as_str()) => ContentBlock::image(data, mime),
        Some("audio") if has_audio => ContentBlock::audio(data, mime),
        _ => {
            let blob = ResourceContents::blob(data, viewed_uri(outcome));
            ContentBlock::resource(blob.with_mime_type(mime))
        }
    }
}

/// The URI of the viewed file.
fn viewed_uri(outcome: &ToolOutcome) -> String {
    let input = outcome.native.input();
    let path = input.get("path").and_then(serde_json::Value::as_str);
    let path = path.unwrap_or_default();
    let of_skill = outcome.skill.as_ref().and_then(|skill| {
        let folder = format!("{}/{}/", LAYOUT.skills, skill_folder(skill));
        Some(uri::skill_file(skill, path.strip_prefix(&folder)?))
    });
    of_skill.unwrap_or_else(|| uri::sandbox_file(LAYOUT.below_data(path).unwrap_or(path)))
}

/// The first small images that it created, as far as there is memory for them. All are in the list
/// of resources.
async fn small_images(
    made: &[SandboxOutput],
    workspace: &Workspace,
    count: &(impl Fn(usize) -> bool + Sync),
) -> Result<Vec<ContentBlock>, ErrorData> {
    let images = made.iter().filter(|made| {
        IMAGE_TYPES.contains(&made.mime_type.as_str()) && made.size <= MAX_IMAGE_BYTES
    });
    let mut content = Vec::new();
    for picture in images.take(MAX_IMAGES) {
        let file = workspace.get_counted(&picture.path, 1).await;
        let file = file.map_err(internal_error)?;
        let size = file.content.len();
        // Another call may have made it longer meanwhile.
        if size as u64 > MAX_IMAGE_BYTES || !count(base64_bytes(size)) {
            continue;
        }
        let image = STANDARD.encode(&file.content);
        content.push(ContentBlock::image(image, &picture.mime_type));
    }
    Ok(content)
}

/// A created file as a resource.
fn file_link(made: &SandboxOutput) -> Resource {
    Resource::new(uri::sandbox_file(&made.path), &made.path)
        .with_mime_type(&made.mime_type)
        .with_size(made.size)
}
