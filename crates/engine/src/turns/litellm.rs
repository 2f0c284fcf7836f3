//! LiteLLM's own response field: the files of a run, with their content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_toolbox::Workspace;
use prowess_wire::neutral::Map;
use serde_json::{Value, json};

use crate::events::OutputFile;

/// Bytes of all files in one response; those that do not fit are listed without content.
const MAX_CONTENT_BYTES: u64 = 32 << 20;

/// The field `_litellm_generated_files`.
pub(crate) async fn generated_files(workspace: Option<&Workspace>, outputs: &[OutputFile]) -> Map {
    let mut files: Vec<Value> = Vec::new();
    let mut left = MAX_CONTENT_BYTES;
    for file in outputs {
        let content = match workspace {
            Some(workspace) if file.size_bytes <= left => workspace.get(&file.filename).await.ok(),
            _ => None,
        };
        left = left.saturating_sub(content.as_ref().map_or(0, |bytes| bytes.len() as u64));
        files.push(json!({
            "name": file.filename,
            "mime_type": file.mime_type,
            "content_base64": content.map(|bytes| STANDARD.encode(bytes)),
            "size": file.size_bytes,
            "file_id": file.file_id,
        }));
    }
    Map::from_iter([("_litellm_generated_files".to_owned(), files.into())])
}
