//! What the tests of containers begin with.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use prowess_skill::Digest;
use prowess_store::{
    BeginCommandOutcome, ClusterSkill, ClusterSkillFile, CommandCommit, ContainerChange,
    ContainerEntry, ContainerQuota, ContainerUpdate, ContainerUser, CreateContainerOutcome,
    EntryContent, NewClusterContainer, StagedContent, Store, TenantId, UpdateContainerOutcome,
};
use serde_json::json;

pub(super) const HOLD: Duration = Duration::from_secs(600);
pub(super) const QUOTA: ContainerQuota = ContainerQuota {
    containers: 100,
    evict_idle: HOLD,
};

fn by_digest(contents: &[&[u8]]) -> BTreeMap<Digest, Bytes> {
    let contents = contents.iter().map(|content| {
        let bytes = Bytes::copy_from_slice(content);
        (Digest::from_content(content), bytes)
    });
    contents.collect()
}

pub(super) async fn stage(store: &Store, contents: &[&[u8]]) -> Vec<StagedContent> {
    store.stage_contents(by_digest(contents)).await.unwrap()
}

/// The same for contents that are probably not stored yet.
pub(super) async fn stage_new(store: &Store, contents: &[&[u8]]) -> Vec<StagedContent> {
    store.stage_new_contents(by_digest(contents)).await.unwrap()
}

pub(super) fn skill(folder: &str, content: &[u8]) -> ClusterSkill {
    ClusterSkill {
        folder: folder.to_owned(),
        digest: format!("digest of {folder}"),
        files: vec![ClusterSkillFile {
            path: "SKILL.md".to_owned(),
            digest: Digest::from_content(content),
            size: content.len() as u64,
            executable: false,
        }],
    }
}

pub(super) async fn create_with(
    store: &Store,
    tenant: &TenantId,
    id: &str,
    quota: ContainerQuota,
) -> CreateContainerOutcome {
    let setup = json!({"policy": 1});
    let new = NewClusterContainer {
        id,
        setup: &setup,
        requirements: Some("numpy"),
        skills: &[skill("one", b"the skill one")],
        contents: stage(store, &[b"the skill one"]).await,
        quota,
    };
    store.create_cluster_container(tenant, new).await.unwrap()
}

/// Creates a container with one skill.
pub(super) async fn create(store: &Store, tenant: &TenantId, id: &str) {
    let created = create_with(store, tenant, id, QUOTA).await;
    let expected = CreateContainerOutcome::Created {
        generation: 0,
        evicted: None,
    };
    assert_eq!(created, expected);
}

pub(super) fn file(path: &str, content: &[u8]) -> ContainerEntry {
    ContainerEntry {
        path: path.to_owned(),
        content: EntryContent::File(Digest::from_content(content)),
        size: content.len() as i64,
        mode: 0o644,
    }
}

pub(super) fn change(id: &str, generation: i64, changed: Vec<ContainerEntry>) -> ContainerChange {
    ContainerChange {
        container: id.to_owned(),
        generation,
        changed,
        removed: Vec::new(),
        files_digest: Some(Digest::from_content(b"all files")),
    }
}

pub(super) fn commit(
    holder: &str,
    change: ContainerChange,
    contents: Vec<StagedContent>,
) -> CommandCommit<'_> {
    CommandCommit {
        holder,
        worker: Some("worker 1"),
        change,
        contents,
        setup: None,
    }
}

/// An upload of one file.
pub(super) async fn put(
    store: &Store,
    tenant: &TenantId,
    id: &str,
    path: &str,
    content: &[u8],
) -> prowess_store::Result<UpdateContainerOutcome> {
    let update = ContainerUpdate {
        user: ContainerUser::Anyone,
        generation: None,
        changed: vec![file(path, content)],
        removed: Vec::new(),
        files_digest: None,
        contents: stage(store, &[content]).await,
        setup: None,
    };
    store.change_container_files(tenant, id, update).await
}

/// The same, if nothing is in its way.
pub(super) async fn put_file(
    store: &Store,
    tenant: &TenantId,
    id: &str,
    path: &str,
    content: &[u8],
) {
    let changed = put(store, tenant, id, path, content).await.unwrap();
    assert!(matches!(changed, UpdateContainerOutcome::Changed { .. }));
}

pub(super) async fn begin(
    store: &Store,
    tenant: &TenantId,
    id: &str,
    holder: &str,
    time: Duration,
) -> BeginCommandOutcome {
    let held = store.begin_command(tenant, id, holder, time, ContainerUser::Anyone);
    held.await.unwrap()
}

pub(super) fn busy(by: &str) -> BeginCommandOutcome {
    BeginCommandOutcome::Busy { by: by.to_owned() }
}
