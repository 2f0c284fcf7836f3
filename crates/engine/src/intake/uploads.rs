//! Files of the client that are placed in the container for the model's code.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use prowess_skill::misleading::find_misleading;
use prowess_store::{Error as StoreError, FileRecord, Store, TenantId};
use prowess_toolbox::{Workspace, reserve_file_memory};
use prowess_wire::neutral::{Block, Content, Message};
use serde_json::Value;

use crate::error::RunError;
use crate::model_text;

/// Files that a request names.
const MAX_FILES: usize = 1_000;
/// Bytes of one file that is placed in a container.
const MAX_UPLOAD_BYTES: i64 = 128 << 20;
/// Bytes of a file's name that disks take.
const MAX_NAME_BYTES: usize = 255;

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
    let mut known = HashMap::new();
    for id in named {
        match find_once(store, tenant, &mut known, id).await? {
            Some(file) => add_once(&mut found, file),
            None => return Err(RunError::FileNotFound { id: id.clone() }),
        }
    }
    for block in messages.iter_mut().flat_map(|message| &mut message.content) {
        let Some(id) = uploaded_file_id(block) else {
            continue;
        };
        match find_once(store, tenant, &mut known, &id).await? {
            Some(file) => {
                let location = model_text::upload_location(&sandbox_name(&file));
                block.content = Content::Text(location);
                block.rest.clear();
                add_once(&mut found, file);
            }
            None if allows_native => {}
            None => return Err(RunError::FileNotFound { id }),
        }
    }
    Ok(found)
}

/// Looks a file up, unless it is known already: a request may name one any number of times.
async fn find_once(
    store: &Store,
    tenant: &TenantId,
    known: &mut HashMap<String, Option<FileRecord>>,
    id: &str,
) -> Result<Option<FileRecord>, RunError> {
    if let Some(file) = known.get(id) {
        return Ok(file.clone());
    }
    if known.len() >= MAX_FILES {
        let why = format!("at most {MAX_FILES} files are allowed in a request");
        return Err(RunError::invalid_field("file_ids", why));
    }
    let file = find_file(store, tenant, id).await?;
    known.insert(id.to_owned(), file.clone());
    Ok(file)
}

fn add_once(found: &mut Vec<FileRecord>, file: FileRecord) {
    if !found.iter().any(|known| known.id == file.id) {
        found.push(file);
    }
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
        // While a command uses the container, this waits, and others have the memory.
        let is_placed = workspace.has_upload(&file.id, &place).await?;
        if is_placed && existing == ExistingUpload::Keep {
            continue;
        }
        if file.size > MAX_UPLOAD_BYTES {
            let why = format!(
                "it has {} bytes; at most {MAX_UPLOAD_BYTES} are allowed",
                file.size
            );
            return Err(RunError::invalid_field(format!("file `{}`", file.id), why));
        }
        // Once as it is read, and once more as it is written.
        let bytes = u64::try_from(file.size).unwrap_or_default() * 2;
        let _memory = reserve_file_memory(tenant.as_str(), bytes).await;
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
    let mut plain = String::new();
    for c in last.chars().take(100) {
        if plain.len() + c.len_utf8() > MAX_NAME_BYTES {
            break;
        }
        plain.push(c);
    }
    // A name from before such names were refused. At most one turn for each of its characters.
    while let Some(c) = find_misleading(&plain) {
        plain = plain.replace(c, "_");
    }
    match plain.as_str() {
        "" | "." | ".." => file.id.clone(),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use prowess_store::{NewFile, StoreConfig, Timestamp};
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use crate::containers::command_place::{CommandPlace, on_one_host_and_over_a_cluster};
    use crate::containers::create::NewContainer;
    use crate::containers::sandbox_handle::SandboxHandle;
    use crate::engine::Engine;
    use crate::settings::EngineSettings;

    on_one_host_and_over_a_cluster! {
        files_are_placed_once_and_when_there_is_memory_for_them,
    }

    async fn files_are_placed_once_and_when_there_is_memory_for_them(place: CommandPlace) {
        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let store = Store::open(&StoreConfig::local(folders[0].path())).await;
        let store = store.unwrap();
        let (sandbox, _cluster) = place.open(&store, folders[1].path(), |_| {}).await;
        let sandbox = SandboxHandle::ready(sandbox);
        let engine = Engine::new(store.clone(), EngineSettings::default(), sandbox);
        // Memory is shared by all tests of a process.
        let tenant = TenantId::new(format!("files-{place:?}").to_lowercase()).unwrap();
        store.ensure_tenant(&tenant, "files").await.unwrap();
        let new = NewFile {
            name: "a.txt",
            mime: "text/plain",
            purpose: "user_data",
            scope: None,
            downloadable: false,
            expires_in: None,
            limit: 1_000,
        };
        let content = futures_util::stream::iter([Ok(Bytes::from_static(b"content"))]);
        let file = store.create_file(&tenant, &new, content).await.unwrap().id;
        let parse = |body: Value| NewContainer::parse(body.as_object().unwrap()).unwrap();
        let containers = engine.containers(&tenant);
        let container = containers.create(parse(json!({ "name": "c" })));
        let id = container.await.unwrap().id;
        let memory = reserve_file_memory(tenant.as_str(), u64::MAX).await;
        let task = tokio::spawn({
            let (containers, id, file) = (engine.containers(&tenant), id.clone(), file.clone());
            async move { containers.put_stored(&id, &file).await }
        });
        for _ in 0..20 {
            let files = containers.files(&id).await.unwrap();
            assert!(files.is_empty() && !task.is_finished(), "{files:?}");
        }
        drop(memory);
        assert_eq!(task.await.unwrap().unwrap().path, "a.txt");
        let twice = parse(json!({ "name": "c", "file_ids": [file, file] }));
        let id = containers.create(twice).await.unwrap().id;
        assert_eq!(containers.files(&id).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_request_names_so_many_files_and_no_more() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let (store, tenant) = (store.unwrap(), TenantId::default_tenant());
        let mut known = HashMap::new();
        for number in 0..MAX_FILES {
            let id = format!("file_{number}");
            known.insert(id.clone(), None);
            let found = find_once(&store, &tenant, &mut known, &id).await;
            assert!(found.is_ok_and(|file| file.is_none()));
        }
        let refused = find_once(&store, &tenant, &mut known, "another").await;
        let refused = refused.unwrap_err();
        insta::assert_snapshot!(refused, @"file_ids: at most 1000 files are allowed in a request");
    }

    fn named(name: &str) -> String {
        sandbox_name(&FileRecord {
            id: "file_1".to_owned(),
            name: name.to_owned(),
            mime: String::new(),
            size: 0,
            digest: prowess_skill::Digest::from_content(b""),
            purpose: String::new(),
            scope: None,
            downloadable: false,
            created_at: Timestamp::now(),
            expires_at: None,
        })
    }

    #[test]
    fn a_stored_name_becomes_one_that_a_disk_takes_and_a_reader_sees_as_written() {
        for (name, place) in [
            ("a/b\\c.txt", "c.txt"),
            ("a\nb", "a_b"),
            ("a\u{202e}\u{200b}b\u{202e}", "a__b_"),
            (
                "\u{1f469}\u{200d}\u{1f4bb}.png",
                "\u{1f469}\u{200d}\u{1f4bb}.png",
            ),
            ("a/..", "file_1"),
            ("", "file_1"),
        ] {
            assert_eq!(named(name), place, "{name:?}");
        }
        assert_eq!(named(&"x".repeat(300)), "x".repeat(100));
        assert_eq!(named(&"\u{540d}".repeat(100)), "\u{540d}".repeat(85));
    }
}
