//! `/v1/containers/{container}/files`: one file per verb.

pub(super) mod content;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;
pub(super) mod preview;

use prowess_engine::{ContainerFile, LAYOUT};
use serde_json::{Value, json};

/// A file in OpenAI's format.
fn container_file_json(container: &str, file: &ContainerFile) -> Value {
    json!({
        "id": file.id,
        "object": "container.file",
        "container_id": container,
        "path": LAYOUT.data_path(&file.path),
        "bytes": file.size,
        "source": if file.made_by_run { "assistant" } else { "user" },
        "created_at": file.created_at,
    })
}
