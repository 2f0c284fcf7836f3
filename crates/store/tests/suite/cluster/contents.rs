//! Contents of containers: who gets them, and how long they stay.

use std::time::Duration;

use bytes::Bytes;
use prowess_skill::Digest;
use prowess_store::{
    CommitCommandOutcome, ContainerUpdate, ContainerUser, SignedContent, TenantId,
};

use super::setup::{HOLD, begin, change, commit, create, file, put_file, skill, stage};
use crate::testbed::{TestBed, execute, on_both_databases};

on_both_databases! {
    a_content_that_was_not_stored_before_is_refused,
    the_collector_leaves_the_contents_of_containers,
    contents_are_given_for_the_container_that_has_them,
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
