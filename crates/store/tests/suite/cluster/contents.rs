//! Contents of containers: who gets them, and how long they stay.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use prowess_skill::Digest;
use prowess_store::{
    CommitCommandOutcome, ContainerEntry, ContainerUpdate, ContainerUser, EntryContent,
    SignedContent, StagedContent, TenantId, UpdateContainerOutcome,
};

use super::setup::{HOLD, begin, change, commit, create, file, put_file, skill, stage};
use crate::testbed::{TestBed, execute, on_both_databases};

on_both_databases! {
    a_content_that_was_not_stored_before_is_refused,
    the_collector_leaves_the_contents_of_containers,
    contents_are_given_for_the_container_that_has_them,
    a_file_is_opened_by_its_path_for_who_owns_the_container,
    contents_that_are_probably_new_may_be_stored_already,
}

/// A compromised worker names the digest of another tenant's file.
async fn a_content_that_was_not_stored_before_is_refused(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    create(&store, &other, "container_2").await;
    let secret = vec![9; 5_000];
    put_file(&store, &other, "container_2", "secret", &secret).await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    begin(&store, tenant, id, "command 1", HOLD).await;
    let forged = commit(
        "command 1",
        change(id, 0, vec![file("a", &secret)]),
        Vec::new(),
    );
    let error = store.commit_command(tenant, forged).await.unwrap_err();
    assert_eq!(error.code(), "value-invalid", "{error}");
    let forged = ContainerUpdate {
        user: ContainerUser::Anyone,
        generation: None,
        changed: vec![file("a", &secret)],
        removed: Vec::new(),
        files_digest: None,
        contents: Vec::new(),
        setup: None,
    };
    let ended = store.end_command(tenant, id, "command 1", None);
    ended.await.unwrap();
    let error = store.change_container_files(tenant, id, forged).await;
    assert_eq!(error.unwrap_err().code(), "value-invalid");
    let skills = [skill("two", &secret)];
    let error = store.replace_cluster_skills(tenant, id, &skills, Vec::new());
    assert_eq!(error.await.unwrap_err().code(), "value-invalid");
    let files = store.container_files(tenant, id).await.unwrap().unwrap();
    assert_eq!((files.generation, files.entries.len()), (0, 0));
    // A copy of what the container has is no new content.
    put_file(&store, tenant, id, "a", b"own").await;
    begin(&store, tenant, id, "command 2", HOLD).await;
    let changed = vec![file("b", b"own"), file("c", b"the skill one")];
    let copied = commit("command 2", change(id, 1, changed), Vec::new());
    let copied = store.commit_command(tenant, copied).await.unwrap();
    assert_eq!(copied, CommitCommandOutcome::Committed { generation: 2 });
}

async fn the_collector_leaves_the_contents_of_containers(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    let content = vec![3; 5_000];
    let large_skill = vec![4; 5_000];
    create(&store, tenant, id).await;
    let skills = [skill("two", &large_skill)];
    let contents = stage(&store, &[&large_skill]).await;
    let replaced = store.replace_cluster_skills(tenant, id, &skills, contents);
    replaced.await.unwrap();
    put_file(&store, tenant, id, "a", &content).await;
    // Neither the files nor the record are dropped because the record is old: commands do not
    // change it.
    execute(&bed, "UPDATE sessions SET used_at = 0").await;
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(bed.objects(), 2);
    let digests = [&content, &large_skill].map(|data| Digest::from_content(data));
    let read = store.signed_content(tenant, id, &digests, HOLD).await;
    assert_eq!(read.unwrap().len(), 2);
    // One that was not used for months is, even if no server expires containers any more.
    execute(&bed, "UPDATE cluster_containers SET used_at = 0").await;
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(store.cluster_container(tenant, id).await.unwrap(), None);
    assert_eq!(bed.objects(), 0);
    assert_eq!(store.storage_usage(tenant).await.unwrap().bytes, 0);
}

async fn contents_are_given_for_the_container_that_has_them(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    for id in ["container_1", "container_2"] {
        create(&store, tenant, id).await;
    }
    // In the database, and in a storage that cannot sign.
    let (small, large) = (b"small".as_slice(), vec![3; 5_000]);
    put_file(&store, tenant, id, "a", small).await;
    put_file(&store, tenant, id, "b", &large).await;
    put_file(&store, tenant, "container_2", "c", b"another's").await;
    let digest = Digest::from_content;
    let requested = [digest(small), digest(&large), digest(b"the skill one")];
    let read = store
        .signed_content(tenant, id, &requested, HOLD)
        .await
        .unwrap();
    for (requested, content) in requested.iter().zip([small, &large, b"the skill one"]) {
        let expected = SignedContent::Inline(Bytes::copy_from_slice(content));
        assert_eq!(read.get(requested), Some(&expected));
    }
    let none = store.signed_content(tenant, id, &[], HOLD).await.unwrap();
    assert!(none.is_empty());
    // One that it does not have refuses all.
    for missing in [b"another's".as_slice(), b"nobody's"] {
        let digests = [digest(small), digest(missing)];
        let refused = store.signed_content(tenant, id, &digests, HOLD).await;
        assert_eq!(refused.unwrap_err().code(), "file-not-found");
    }
    let many = vec![digest(small); 1_001];
    let refused = store.signed_content(tenant, id, &many, HOLD).await;
    assert_eq!(refused.unwrap_err().code(), "value-invalid");
    // Only so many at once that they fit into memory; the others are requested again.
    let many: Vec<Vec<u8>> = (0..3).map(|at| vec![at; 4 << 20]).collect();
    for (at, content) in many.iter().enumerate() {
        let path = format!("many {at}");
        put_file(&store, tenant, id, &path, content).await;
    }
    let mut digests: Vec<_> = many.iter().map(|content| digest(content)).collect();
    let read = store
        .signed_content(tenant, id, &digests, HOLD)
        .await
        .unwrap();
    assert_eq!(read.len(), 2);
    digests.retain(|digest| !read.contains_key(digest));
    let read = store
        .signed_content(tenant, id, &digests, HOLD)
        .await
        .unwrap();
    assert_eq!(read.len(), 1);
    // This storage has no URLs to upload to.
    assert!(!store.can_sign());
    let refused = store.reserve_uploads(tenant, &[1], HOLD).await;
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("blobs.url"), "{error}");
}

async fn a_file_is_opened_by_its_path_for_who_owns_the_container(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    let (tenant, id) = (&bed.tenant, "container_1");
    for id in ["container_1", "container_2"] {
        create(&store, tenant, id).await;
    }
    // In the database, and in the storage.
    let (small, large) = (b"small".as_slice(), vec![3; 5_000]);
    put_file(&store, tenant, id, "a", small).await;
    put_file(&store, tenant, id, "in/b", &large).await;
    let entry = |path: &str, content| ContainerEntry {
        path: path.to_owned(),
        content,
        size: 0,
        mode: 0o755,
    };
    let update = ContainerUpdate {
        user: ContainerUser::Anyone,
        generation: None,
        changed: vec![
            entry("in", EntryContent::Directory),
            entry("link", EntryContent::Link("a".to_owned())),
        ],
        removed: Vec::new(),
        files_digest: None,
        contents: Vec::new(),
        setup: None,
    };
    let changed = store.change_container_files(tenant, id, update).await;
    let changed = changed.unwrap();
    assert_eq!(changed, UpdateContainerOutcome::Changed { generation: 3 });
    for (path, content) in [("a", small), ("in/b", large.as_slice())] {
        let opened = store.open_container_file(tenant, id, path).await;
        let opened = opened.unwrap().unwrap();
        assert_eq!(opened.size, content.len() as u64);
        assert_eq!(opened.content.collect().await.unwrap(), content);
    }
    for (owner, id, path) in [
        (&other, id, "a"),
        (tenant, "container_2", "a"),
        (tenant, "container_3", "a"),
        (tenant, id, "b"),
        (tenant, id, "in"),
        (tenant, id, "link"),
    ] {
        let opened = store.open_container_file(owner, id, path).await;
        assert!(opened.unwrap().is_none(), "{id} {path}");
    }
    assert!(store.delete_cluster_container(tenant, id).await.unwrap());
    let opened = store.open_container_file(tenant, id, "a").await;
    assert!(opened.unwrap().is_none());
}

fn by_digest(contents: &[&[u8]]) -> BTreeMap<Digest, Bytes> {
    let one = |content: &&[u8]| {
        let bytes = Bytes::copy_from_slice(content);
        (Digest::from_content(content), bytes)
    };
    contents.iter().map(one).collect()
}

fn in_memory(staged: &[StagedContent]) -> usize {
    staged.iter().map(StagedContent::memory_bytes).sum()
}

async fn contents_that_are_probably_new_may_be_stored_already(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    put_file(&store, tenant, id, "a", b"same").await;
    let small = by_digest(&[b"same", b"new"]);
    let small = store.stage_new_contents(small).await.unwrap();
    assert_eq!((small.len(), in_memory(&small)), (2, 7));
    // One that the database does not store is written first, as any other.
    let (first, second) = (vec![5; 5_000], vec![6; 5_000]);
    let large = by_digest(&[&first, b"new"]);
    let large = store.stage_new_contents(large).await.unwrap();
    assert_eq!((large.len(), in_memory(&large)), (2, 3));
    begin(&store, tenant, id, "command 1", HOLD).await;
    let changed = vec![file("b", b"same"), file("c", b"new"), file("d", &first)];
    // Those that were staged twice are stored once.
    let staged = small.into_iter().chain(large).collect();
    let committed = commit("command 1", change(id, 1, changed), staged);
    let committed = store.commit_command(tenant, committed).await.unwrap();
    assert_eq!(committed, CommitCommandOutcome::Committed { generation: 2 });
    let (same, new, large) = (b"same".as_slice(), b"new".as_slice(), first.as_slice());
    let expected = [("a", same), ("b", same), ("c", new), ("d", large)];
    for (path, content) in expected {
        let opened = store.open_container_file(tenant, id, path).await;
        let opened = opened.unwrap().unwrap();
        assert_eq!(opened.content.collect().await.unwrap(), content, "{path}");
    }
    // What nobody has staged is refused all the same.
    begin(&store, tenant, id, "command 2", HOLD).await;
    let changed = vec![file("e", &second)];
    let forged = commit("command 2", change(id, 2, changed), Vec::new());
    let error = store.commit_command(tenant, forged).await.unwrap_err();
    assert_eq!(error.code(), "value-invalid", "{error}");
}
