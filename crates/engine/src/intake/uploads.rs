//! Files of the client that are placed in the container for the model's code.

use futures_util::TryStreamExt;
use prowess_store::{Error as StoreError, FileRecord, Store, TenantId};
use prowess_toolbox::Workspace;
use prowess_wire::neutral::{Block, Content, Message};
use serde_json::Value;

use crate::error::RunError;
use crate::model_text;

/// Bytes of one file that is placed in a container.
const MAX_UPLOAD_BYTES: i64 = 128 << 20;

/// Finds the files that a request names by id, and those of its `container_upload` blocks,
/// which are replaced by a note with the file's path. Unknown ids stay where they may be the
/// upstream's.
pub(crate) async fn find_uploads(
    store: &Store,
    tenant: &TenantId,
    named: &[String],
    messages: &mut [Message],
    allows_native: bool,
) -> Result<Vec<FileRecord>, RunError> {
    let mut found: Vec<FileRecord> = Vec::new();
    for id in named {
        match find_file(store, tenant, id).await? {
            Some(file) => found.push(file),
            None => return Err(RunError::FileNotFound { id: id.clone() }),
        }
    }
    for block in messages.iter_mut().flat_map(|message| &mut message.content) {
        let Some(id) = uploaded_file_id(block) else {
            continue;
        };
        match find_file(store, tenant, &id).await? {
            Some(file) => {
                let location = model_text::upload_location(&sandbox_name(&file));
                block.content = Content::Text(location);
                block.rest.clear();
                if !found.iter().any(|known| known.id == file.id) {
                    found.push(file);
                }
            }
            None if allows_native => {}
            None => return Err(RunError::FileNotFound { id }),
        }
    }
    Ok(found)
}

/// What happens to a file that was placed in the container before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExistingUpload {
    /// It stays, with later changes by code: a conversation names its files in each request.
    Keep,
    /// It is replaced.
    Replace,
}

/// Places files in a container. Each replaces any other file of its name.
pub(crate) async fn place_uploads(
    store: &Store,
    tenant: &TenantId,
    workspace: &Workspace,
    files: &[FileRecord],
    existing: ExistingUpload,
) -> Result<(), RunError> {
    for file in files {
        let place = sandbox_name(file);
        if existing == ExistingUpload::Keep && workspace.has_upload(&file.id, &place).await? {
            continue;
        }
        if file.size > MAX_UPLOAD_BYTES {
            let why = format!(
                "it has {} bytes; at most {MAX_UPLOAD_BYTES} are allowed",
                file.size
            );
            return Err(RunError::invalid_field(format!("file `{}`", file.id), why));
        }
        let (_, content) = store.read_file(tenant, &file.id).await?;
        let bytes = content
            .try_fold(Vec::new(), |mut all, part| {
                all.extend_from_slice(&part);
                std::future::ready(Ok(all))
            })
            .await?;
        workspace.upload(&file.id, &place, bytes).await?;
    }
    Ok(())
}

fn uploaded_file_id(block: &Block) -> Option<String> {
    match &block.content {
        Content::Other { kind } if kind == "container_upload" => {
            let id = block.rest.get("file_id").and_then(Value::as_str)?;
            Some(id.to_owned())
        }
        _ => None,
    }
}

async fn find_file(
    store: &Store,
    tenant: &TenantId,
    id: &str,
) -> Result<Option<FileRecord>, RunError> {
    match store.file(tenant, id).await {
        Ok(file) => Ok(Some(file)),
        Err(StoreError::NotFound { .. } | StoreError::FileExpired { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The name of a file in the container: the last part of its stored name, which is free text.
pub(crate) fn sandbox_name(file: &FileRecord) -> String {
    let last = file.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last
        .chars()
        .map(|c| if c.is_control() { '_' } else { c })
        .take(100)
        .collect();
    match plain.as_str() {
        "" | "." | ".." => file.id.clone(),
        _ => plain,
    }
}
