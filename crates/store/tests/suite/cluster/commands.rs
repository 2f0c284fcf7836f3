//! Commands and other changes of files.

use std::time::Duration;

use prowess_skill::Digest;
use prowess_store::{
    BeginCommandOutcome, CommitCommandOutcome, ContainerEntry, ContainerUpdate, ContainerUser,
    EntryContent, StorageLimits, UpdateContainerOutcome,
};
use serde_json::json;

use super::setup::{
    HOLD, begin, busy, change, commit, create, file, put, put_file, stage, stage_new,
};
use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    a_command_holds_its_container_and_commits_the_next_generation,
    a_command_whose_time_has_run_out_loses_its_container_to_the_next,
    files_are_changed_without_a_command,
    files_of_containers_count_for_the_quota,
    a_few_small_files_are_committed_as_many_are,
}

async fn a_command_holds_its_container_and_commits_the_next_generation(bed: TestBed) {
    let store = bed.open().await;
    let other = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    let held = begin(&store, tenant, id, "command 1", HOLD).await;
    let BeginCommandOutcome::Held(container) = held else {
        panic!("{held:?}");
    };
    assert_eq!((container.generation, container.skills.len()), (0, 1));
    assert_eq!(
        begin(&other, tenant, id, "command 2", HOLD).await,
        busy("command 1")
    );
    // To begin again, because an answer was lost, is not refused.
    let again = begin(&store, tenant, id, "command 1", HOLD).await;
    assert!(matches!(again, BeginCommandOutcome::Held(_)));
    let put_meanwhile = put(&other, tenant, id, "a", b"x").await.unwrap();
    let expected = UpdateContainerOutcome::Busy {
        by: "command 1".to_owned(),
    };
    assert_eq!(put_meanwhile, expected);
    let renewed = store.renew_command(tenant, id, "command 1", HOLD).await;
    assert!(renewed.unwrap());
    let renewed = other.renew_command(tenant, id, "command 2", HOLD).await;
    assert!(!renewed.unwrap());

    let large = vec![7; 50_000];
    let contents = stage(&store, &[&large, b"small"]).await;
    let changed = vec![file("large", &large), file("small", b"small")];
    let committed = commit("command 1", change(id, 0, changed.clone()), contents);
    let committed = store.commit_command(tenant, committed).await.unwrap();
    assert_eq!(committed, CommitCommandOutcome::Committed { generation: 1 });
    let found = other.cluster_container(tenant, id).await.unwrap().unwrap();
    assert_eq!(found.files_digest, Some(Digest::from_content(b"all files")));
    assert_eq!(found.worker.as_deref(), Some("worker 1"));
    assert_eq!((found.generation, found.stored_bytes), (1, 50_005));
    let files = other.container_files(tenant, id).await.unwrap().unwrap();
    assert_eq!(files.entries, changed);
    // Its answer may have been lost.
    let known = other.committed_generation(tenant, id, "command 1").await;
    assert_eq!(known.unwrap(), Some(1));
    let known = other.committed_generation(tenant, id, "command 2").await;
    assert_eq!(known.unwrap(), None);

    // Nobody holds it any more. A command that ends without changes changes nothing.
    let held = begin(&other, tenant, id, "command 2", HOLD).await;
    assert!(matches!(held, BeginCommandOutcome::Held(_)));
    let ended = store.end_command(tenant, id, "command 1", Some("worker 9"));
    ended.await.unwrap();
    assert_eq!(
        begin(&store, tenant, id, "command 3", HOLD).await,
        busy("command 2")
    );
    let ended = other.end_command(tenant, id, "command 2", Some("worker 2"));
    ended.await.unwrap();
    let found = other.cluster_container(tenant, id).await.unwrap().unwrap();
    assert_eq!(
        (found.generation, found.worker.as_deref()),
        (1, Some("worker 2"))
    );
    // A change without the digest of all files leaves it unknown.
    put_file(&store, tenant, id, "a", b"x").await;
    let found = other.cluster_container(tenant, id).await.unwrap().unwrap();
    assert_eq!((found.generation, found.files_digest), (2, None));
}

async fn a_command_whose_time_has_run_out_loses_its_container_to_the_next(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    begin(&store, tenant, id, "command 1", Duration::ZERO).await;
    let held = begin(&store, tenant, id, "command 2", Duration::ZERO).await;
    assert!(matches!(held, BeginCommandOutcome::Held(_)));
    let renewed = store.renew_command(tenant, id, "command 1", HOLD).await;
    assert!(!renewed.unwrap());
    // Nobody has used it since, so a pause does no harm.
    let renewed = store.renew_command(tenant, id, "command 2", HOLD).await;
    assert!(renewed.unwrap());
    let commit_as = async |holder: &str, text: &[u8]| {
        let contents = stage(&store, &[text]).await;
        let commit = commit(holder, change(id, 0, vec![file("a", text)]), contents);
        store.commit_command(tenant, commit).await.unwrap()
    };
    let late = commit_as("command 1", b"late").await;
    assert_eq!(late, CommitCommandOutcome::Lost);
    let second = commit_as("command 2", b"second").await;
    assert_eq!(second, CommitCommandOutcome::Committed { generation: 1 });
    let late = commit_as("command 1", b"late").await;
    assert_eq!(late, CommitCommandOutcome::Lost);
    let files = store.container_files(tenant, id).await.unwrap().unwrap();
    assert_eq!(files.entries, [file("a", b"second")]);
    // One that was deleted while a command ran.
    let held = begin(&store, tenant, id, "command 3", HOLD).await;
    assert!(matches!(held, BeginCommandOutcome::Held(_)));
    store.delete_cluster_container(tenant, id).await.unwrap();
    let gone = commit_as("command 3", b"third").await;
    assert_eq!(gone, CommitCommandOutcome::NotFound);
    let held = begin(&store, tenant, id, "command 4", HOLD).await;
    assert_eq!(held, BeginCommandOutcome::NotFound);
}

async fn files_are_changed_without_a_command(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    let digest = Digest::from_content(b"all files");
    let setup = json!({"uploads": ["a"]});
    let update = async |generation, removed: &[&str], content: &'static [u8]| {
        let update = ContainerUpdate {
            user: ContainerUser::Anyone,
            generation,
            changed: vec![file("a", content)],
            removed: removed.iter().map(|path| (*path).to_owned()).collect(),
            files_digest: Some(digest),
            contents: stage(&store, &[content]).await,
            setup: Some(&setup),
        };
        store
            .change_container_files(tenant, id, update)
            .await
            .unwrap()
    };
    assert_eq!(
        update(Some(0), &[], b"one").await,
        UpdateContainerOutcome::Changed { generation: 1 }
    );
    let found = store.cluster_container(tenant, id).await.unwrap().unwrap();
    assert_eq!((found.files_digest, &found.setup), (Some(digest), &setup));
    assert_eq!(
        update(Some(0), &[], b"two").await,
        UpdateContainerOutcome::Stale { generation: 1 }
    );
    assert_eq!(
        update(None, &["b"], b"two").await,
        UpdateContainerOutcome::Changed { generation: 2 }
    );
    // Based on no generation, nobody knows the digest of all files.
    let found = store.cluster_container(tenant, id).await.unwrap().unwrap();
    assert_eq!((found.files_digest, found.stored_bytes), (None, 3));
    // Only the setup.
    let setup = json!({"uploads": ["a", "b"]});
    let only_setup = ContainerUpdate {
        user: ContainerUser::Anyone,
        generation: None,
        changed: Vec::new(),
        removed: Vec::new(),
        files_digest: None,
        contents: Vec::new(),
        setup: Some(&setup),
    };
    let changed = store.change_container_files(tenant, id, only_setup).await;
    assert_eq!(
        changed.unwrap(),
        UpdateContainerOutcome::Changed { generation: 2 }
    );
    let found = store.cluster_container(tenant, id).await.unwrap().unwrap();
    assert_eq!(found.setup, setup);
}

async fn files_of_containers_count_for_the_quota(mut bed: TestBed) {
    bed.config.limits = StorageLimits {
        bytes: Some(10_000),
        ..StorageLimits::default()
    };
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    put_file(&store, tenant, id, "a", &[1; 6_000]).await;
    let objects = bed.objects();
    let error = put(&store, tenant, id, "b", &[2; 5_000]).await.unwrap_err();
    assert_eq!(error.code(), "storage-quota-exceeded");
    assert_eq!(bed.objects(), objects);
    begin(&store, tenant, id, "command 1", HOLD).await;
    let contents = stage(&store, &[&[2; 5_000]]).await;
    let large = commit(
        "command 1",
        change(id, 1, vec![file("b", &[2; 5_000])]),
        contents,
    );
    let error = store.commit_command(tenant, large).await.unwrap_err();
    assert_eq!(error.code(), "storage-quota-exceeded");
    assert_eq!(bed.objects(), objects);
    // It holds the container still, and may commit less.
    let contents = stage(&store, &[&[2; 5_000]]).await;
    let mut less = change(id, 1, vec![file("b", &[2; 5_000])]);
    less.removed = vec!["a".to_owned()];
    let committed = store.commit_command(tenant, commit("command 1", less, contents));
    assert_eq!(
        committed.await.unwrap(),
        CommitCommandOutcome::Committed { generation: 2 }
    );
    assert_eq!(store.storage_usage(tenant).await.unwrap().bytes, 5_000);
}

/// A commit of a few small files needs fewer statements on PostgreSQL than any other.
async fn a_few_small_files_are_committed_as_many_are(mut bed: TestBed) {
    bed.config.limits = StorageLimits {
        bytes: Some(100),
        ..StorageLimits::default()
    };
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    let run = async |generation: i64, changed: Vec<ContainerEntry>, contents: &[&[u8]]| {
        let command = format!("command {generation}");
        begin(&store, tenant, id, &command, HOLD).await;
        let contents = stage_new(&store, contents).await;
        let mut commit = commit(&command, change(id, generation, changed), contents);
        let setup = json!({"policy": generation});
        commit.setup = Some(&setup);
        store.commit_command(tenant, commit).await
    };
    let done = |generation| CommitCommandOutcome::Committed { generation };
    let other = |path: &str, content: EntryContent, size: i64| ContainerEntry {
        path: path.to_owned(),
        content,
        size,
        mode: 0o755,
    };
    // The same content twice, a folder, and a link.
    let link = other("link", EntryContent::Link("a".to_owned()), 1);
    let changed = vec![
        file("a", b"one"),
        file("b", b"one"),
        other("dir", EntryContent::Directory, 0),
        link.clone(),
    ];
    let committed = run(0, changed.clone(), &[b"one"]).await;
    assert_eq!(committed.unwrap(), done(1));
    let files = store.container_files(tenant, id).await.unwrap().unwrap();
    assert_eq!((files.generation, files.entries), (1, changed));
    let found = store.cluster_container(tenant, id).await.unwrap().unwrap();
    assert_eq!((found.stored_bytes, found.setup), (7, json!({"policy": 0})));
    assert_eq!(found.worker.as_deref(), Some("worker 1"));
    assert_eq!(store.storage_usage(tenant).await.unwrap().bytes, 7);
    // Larger, of the same size, and of another kind; one content is the container's own.
    let folder = other("b", EntryContent::Directory, 0);
    let changed = vec![file("a", b"longer"), folder.clone(), file("c", b"one")];
    let committed = run(1, changed, &[b"longer"]).await;
    assert_eq!(committed.unwrap(), done(2));
    let committed = run(2, vec![file("c", b"two")], &[b"two"]).await;
    assert_eq!(committed.unwrap(), done(3));
    let files = store.container_files(tenant, id).await.unwrap().unwrap();
    let expected = vec![
        file("a", b"longer"),
        folder,
        file("c", b"two"),
        other("dir", EntryContent::Directory, 0),
        link,
    ];
    assert_eq!(files.entries, expected);
    let found = store.cluster_container(tenant, id).await.unwrap().unwrap();
    assert_eq!((found.generation, found.stored_bytes), (3, 10));
    assert_eq!(store.storage_usage(tenant).await.unwrap().bytes, 10);
    let file_a = store.open_container_file(tenant, id, "a").await.unwrap();
    let content = file_a.unwrap().content.collect().await.unwrap();
    assert_eq!(&content[..], b"longer");
    // What would be too much, is of another generation, or has no content changes nothing.
    let large = [7; 97];
    let error = run(3, vec![file("a", &large)], &[&large]).await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), "storage-quota-exceeded");
    let ended = store.end_command(tenant, id, "command 3", None);
    ended.await.unwrap();
    let lost = run(2, vec![file("a", b"late")], &[b"late"]).await;
    assert_eq!(lost.unwrap(), CommitCommandOutcome::Lost);
    let ended = store.end_command(tenant, id, "command 2", None);
    ended.await.unwrap();
    let forged = run(3, vec![file("a", b"not given")], &[]).await;
    assert_eq!(forged.unwrap_err().code(), "value-invalid");
    let found = store.cluster_container(tenant, id).await.unwrap().unwrap();
    assert_eq!((found.generation, found.stored_bytes), (3, 10));
    assert_eq!(store.storage_usage(tenant).await.unwrap().bytes, 10);
    // A deleted one is not found.
    let deleted = store.delete_cluster_container(tenant, id).await;
    assert!(deleted.unwrap());
    let gone = run(3, vec![file("a", b"x")], &[b"x"]).await;
    assert_eq!(gone.unwrap(), CommitCommandOutcome::NotFound);
}
