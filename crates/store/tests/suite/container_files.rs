//! The files of a container by generation, and their contents.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use prowess_skill::Digest;
use prowess_store::{
    AppendOutcome, BeginOutcome, ContainerChange, ContainerEntry, ContainerRecord, EndOutcome,
    EntryContent, HoldOutcome, NewJournalRun, NewStep, RunLease, RunResult, RunState,
    StagedContent, StagingPlace, StepChanges, StepKind, Store, TenantId,
};
use serde_json::Value;

use crate::testbed::{TestBed, execute, on_both_databases};

on_both_databases! {
    files_of_a_container_are_those_of_its_last_committed_step,
    a_new_container_is_recorded_and_held_with_its_first_step,
    contents_of_a_container_are_read_by_its_tenant_only,
    staged_content_has_the_expected_digest_and_bounded_memory,
    files_of_an_idle_container_are_deleted_unless_a_run_holds_it,
    files_of_a_deleted_container_are_deleted_at_once,
}

const LEASE: Duration = Duration::from_secs(600);
const TURN: NewStep<'static> = NewStep {
    kind: StepKind::Turn,
    call: None,
    body: "{}",
};

async fn begin(store: &Store, tenant: &TenantId) -> RunLease {
    let id = Store::new_run_id().unwrap();
    let new = NewJournalRun {
        id: &id,
        api_key: None,
        dialect: "responses",
        model: "m",
        kept: true,
        format: 1,
        idempotency_key: None,
        request_digest: "one",
        request: b"{}",
    };
    match store.begin_run(tenant, &new, "a", LEASE).await {
        Ok(BeginOutcome::Started(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

fn entry(path: &str, content: EntryContent, size: usize) -> ContainerEntry {
    ContainerEntry {
        path: path.to_owned(),
        content,
        size: i64::try_from(size).unwrap(),
        mode: 0o755,
    }
}

async fn save_container(store: &Store, tenant: &TenantId, id: &str) {
    let record = ContainerRecord {
        id: id.to_owned(),
        upstream: None,
        skills: Value::Null,
    };
    store.save_container(tenant, &record).await.unwrap();
}

/// Stages a content in two parts.
async fn stage(store: &Store, content: &[u8], place: StagingPlace) -> StagedContent {
    let (first, second) = content.split_at(content.len() / 2);
    let parts = [first, second].map(|part| Ok(Bytes::copy_from_slice(part)));
    let digest = Digest::from_content(content);
    let size = content.len() as u64;
    let staged = store.stage_content(digest, size, stream::iter(parts), place);
    staged.await.unwrap()
}

async fn files_of_a_container_are_those_of_its_last_committed_step(bed: TestBed) {
    let store = bed.open().await;
    save_container(&store, &bed.tenant, "container_1").await;
    let mut lease = begin(&store, &bed.tenant).await;
    let large = vec![7; 50_000];
    let digest = Digest::from_content(&large);
    let entries = vec![
        entry("empty", EntryContent::Directory, 0),
        entry("large", EntryContent::File(digest), large.len()),
        entry("link", EntryContent::Link("/etc/passwd".into()), 11),
    ];
    let change = |generation, changed, removed| ContainerChange {
        container: "container_1".to_owned(),
        generation,
        changed,
        removed,
        files_digest: None,
    };
    let changes = StepChanges {
        contents: vec![stage(&store, &large, StagingPlace::Memory).await],
        container: Some(change(0, entries.clone(), Vec::new())),
        ..StepChanges::default()
    };
    let appended = store.append_step(&mut lease, &TURN, changes, LEASE).await;
    assert_eq!(appended.unwrap(), AppendOutcome::Committed);
    let read = async || {
        let files = store.container_files(&bed.tenant, "container_1").await;
        let files = files.unwrap().unwrap();
        (files.generation, files.entries)
    };
    assert_eq!(read().await, (1, entries.clone()));

    // A change from an older generation is refused, with all of its step.
    let stale = StepChanges {
        container: Some(change(0, Vec::new(), vec!["large".to_owned()])),
        ..StepChanges::default()
    };
    let refused = store.append_step(&mut lease, &TURN, stale, LEASE).await;
    assert_eq!(refused.unwrap(), AppendOutcome::ContainerChanged);
    assert_eq!(read().await, (1, entries.clone()));

    // A file becomes a directory, and content that is stored is not read again.
    let sizes = [(digest, 50_000), (Digest::from_content(b"unknown"), 7)];
    let stored = store.stage_stored_contents(&sizes.into()).await.unwrap();
    assert_eq!(stored.len(), 1);
    let changed = vec![
        entry("large", EntryContent::Directory, 0),
        entry("large/copy", EntryContent::File(digest), large.len()),
    ];
    let changes = StepChanges {
        contents: stored,
        container: Some(change(1, changed.clone(), vec!["link".to_owned()])),
        ..StepChanges::default()
    };
    let appended = store.append_step(&mut lease, &TURN, changes, LEASE).await;
    assert_eq!(appended.unwrap(), AppendOutcome::Committed);
    let expected = [&entries[..1], &changed].concat();
    assert_eq!(read().await, (2, expected));
    store.collect_garbage(Duration::ZERO).await.unwrap();
    let content = store.container_content(&bed.tenant, "container_1", digest);
    let content = content.await.unwrap().collect().await.unwrap();
    assert_eq!(content, large);
}

async fn a_new_container_is_recorded_and_held_with_its_first_step(bed: TestBed) {
    let store = bed.open().await;
    let mut lease = begin(&store, &bed.tenant).await;
    let record = ContainerRecord {
        id: "container_1".to_owned(),
        upstream: None,
        skills: serde_json::json!(["pdf"]),
    };
    let changes = || StepChanges {
        new_container: Some(record.clone()),
        container: Some(ContainerChange {
            container: "container_1".to_owned(),
            generation: 0,
            changed: vec![entry("d", EntryContent::Directory, 0)],
            removed: Vec::new(),
            files_digest: None,
        }),
        ..StepChanges::default()
    };
    // Neither exists if the step does not.
    let mut lost = RunLease {
        epoch: lease.epoch + 1,
        ..lease.clone()
    };
    let refused = store.append_step(&mut lost, &TURN, changes(), LEASE).await;
    assert_eq!(refused.unwrap(), AppendOutcome::Lost);
    let found = store.container(&bed.tenant, "container_1").await;
    assert_eq!(found.unwrap(), None);

    let appended = store.append_step(&mut lease, &TURN, changes(), LEASE).await;
    assert_eq!(appended.unwrap(), AppendOutcome::Committed);
    let found = store.container(&bed.tenant, "container_1").await;
    assert_eq!(found.unwrap().as_ref(), Some(&record));
    assert_eq!(count_files(&store, &bed.tenant, "container_1").await, 1);
    let held = store.is_container_held(&bed.tenant, "container_1").await;
    assert!(held.unwrap());
    let busy = HoldOutcome::Busy {
        run: lease.run.clone(),
    };
    let mut other = begin(&store, &bed.tenant).await;
    let outcome = store.hold_container(&other, "container_1").await.unwrap();
    assert_eq!(outcome, busy);
    // One that exists is not new, whoever says so.
    let refused = store.append_step(&mut other, &TURN, changes(), LEASE).await;
    assert_eq!(refused.unwrap(), AppendOutcome::ContainerChanged);

    let result = RunResult {
        state: RunState::Completed,
        body: "{}",
        events: None,
    };
    let ended = store.end_run(&lease, &result, &[]).await.unwrap();
    assert_eq!(ended, EndOutcome::Ended);
    let held = store.is_container_held(&bed.tenant, "container_1").await;
    assert!(!held.unwrap());
}

async fn contents_of_a_container_are_read_by_its_tenant_only(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    save_container(&store, &bed.tenant, "container_1").await;
    save_container(&store, &bed.tenant, "container_2").await;
    save_container(&store, &other, "container_3").await;
    let mut lease = begin(&store, &bed.tenant).await;
    let digest = Digest::from_content(b"secret");
    let changes = StepChanges {
        contents: vec![stage(&store, b"secret", StagingPlace::Memory).await],
        container: Some(ContainerChange {
            container: "container_1".to_owned(),
            generation: 0,
            changed: vec![entry("a", EntryContent::File(digest), 6)],
            removed: Vec::new(),
            files_digest: None,
        }),
        ..StepChanges::default()
    };
    let appended = store.append_step(&mut lease, &TURN, changes, LEASE).await;
    assert_eq!(appended.unwrap(), AppendOutcome::Committed);
    let read = store.container_content(&bed.tenant, "container_1", digest);
    assert_eq!(read.await.unwrap().collect().await.unwrap(), "secret");
    let small = async |tenant, container| {
        let read = store.small_container_contents(tenant, container, "a", 6, 9);
        read.await.unwrap().into_values().collect::<Vec<_>>()
    };
    assert_eq!(small(&bed.tenant, "container_1").await, ["secret"]);
    for (path, max_bytes) in [("b", 6), ("a", 5)] {
        let (tenant, id) = (&bed.tenant, "container_1");
        let none = store.small_container_contents(tenant, id, path, max_bytes, 9);
        assert!(none.await.unwrap().is_empty());
    }
    for (tenant, container) in [
        (&other, "container_1"),
        (&other, "container_3"),
        (&bed.tenant, "container_2"),
        (&bed.tenant, "container_4"),
    ] {
        assert_eq!(small(tenant, container).await, [""; 0], "{container}");
        let refused = store.container_content(tenant, container, digest).await;
        let error = refused.err().unwrap();
        assert_eq!(error.code(), "file-not-found", "{container}");
    }
}

async fn staged_content_has_the_expected_digest_and_bounded_memory(bed: TestBed) {
    let store = bed.open().await;
    let small = stage(&store, b"small", StagingPlace::Memory).await;
    assert_eq!((small.memory_bytes(), bed.objects()), (5, 0));
    let written = stage(&store, b"small", StagingPlace::Storage).await;
    assert_eq!((written.memory_bytes(), bed.objects()), (0, 1));
    let large = stage(&store, &[7; 50_000], StagingPlace::Memory).await;
    assert_eq!((large.memory_bytes(), bed.objects()), (0, 2));
    // What the file contains now is not what was recorded.
    let wrong = Digest::from_content(b"other");
    for (size, code) in [(5, "content-damaged"), (4, "file-too-large")] {
        let content = stream::iter([Ok(Bytes::from_static(b"small"))]);
        let staged = store.stage_content(wrong, size, content, StagingPlace::Storage);
        let error = staged.await.unwrap_err();
        assert_eq!(error.code(), code);
    }
    assert_eq!(bed.objects(), 2);
    // Nothing of it is referenced, so it is collected.
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(bed.objects(), 0);
}

/// Commits one file to a container that the run holds.
async fn commit_file(store: &Store, lease: &mut RunLease, container: &str) -> AppendOutcome {
    let held = store.hold_container(lease, container).await.unwrap();
    let HoldOutcome::Held { generation } = held else {
        panic!("{held:?}")
    };
    let content = vec![7; 50_000];
    let digest = Digest::from_content(&content);
    let changes = StepChanges {
        contents: vec![stage(store, &content, StagingPlace::Memory).await],
        container: Some(ContainerChange {
            container: container.to_owned(),
            generation,
            changed: vec![entry("a", EntryContent::File(digest), content.len())],
            removed: Vec::new(),
            files_digest: None,
        }),
        ..StepChanges::default()
    };
    let appended = store.append_step(lease, &TURN, changes, LEASE).await;
    appended.unwrap()
}

async fn count_files(store: &Store, tenant: &TenantId, container: &str) -> usize {
    let files = store.container_files(tenant, container).await.unwrap();
    files.unwrap().entries.len()
}

async fn files_of_an_idle_container_are_deleted_unless_a_run_holds_it(bed: TestBed) {
    let store = bed.open().await;
    for container in ["container_1", "container_2"] {
        save_container(&store, &bed.tenant, container).await;
    }
    let (mut one, mut two) = (
        begin(&store, &bed.tenant).await,
        begin(&store, &bed.tenant).await,
    );
    for (lease, container) in [(&mut one, "container_1"), (&mut two, "container_2")] {
        let committed = commit_file(&store, lease, container).await;
        assert_eq!(committed, AppendOutcome::Committed);
    }
    let result = RunResult {
        state: RunState::Completed,
        body: "{}",
        events: None,
    };
    let ended = store.end_run(&one, &result, &[]).await.unwrap();
    assert_eq!(ended, EndOutcome::Ended);
    // It has no server, and will be resumed.
    store.release_lease(&two).await.unwrap();
    let counts = async || {
        store.collect_garbage(Duration::ZERO).await.unwrap();
        let one = count_files(&store, &bed.tenant, "container_1").await;
        let two = count_files(&store, &bed.tenant, "container_2").await;
        (one, two, bed.objects())
    };
    assert_eq!(counts().await, (1, 1, 1));
    // Two days, in microseconds.
    let ago = "UPDATE sessions SET used_at = used_at - 172800000000";
    execute(&bed, ago).await;
    assert_eq!(counts().await, (0, 1, 1));
    let two = store.claim_runs("b", LEASE, 1, 1, &[], &[]).await.unwrap();
    let ended = store.end_run(&two[0].lease, &result, &[]).await.unwrap();
    assert_eq!(ended, EndOutcome::Ended);
    assert_eq!(counts().await, (0, 0, 0));
    // The next run finds no files, and commits all of them again.
    let mut three = begin(&store, &bed.tenant).await;
    let committed = commit_file(&store, &mut three, "container_1").await;
    assert_eq!(committed, AppendOutcome::Committed);
}

async fn files_of_a_deleted_container_are_deleted_at_once(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    save_container(&store, &bed.tenant, "container_1").await;
    let mut lease = begin(&store, &bed.tenant).await;
    let committed = commit_file(&store, &mut lease, "container_1").await;
    assert_eq!(committed, AppendOutcome::Committed);
    store
        .delete_container_files(&other, "container_1")
        .await
        .unwrap();
    assert_eq!(count_files(&store, &bed.tenant, "container_1").await, 1);
    store
        .delete_container_files(&bed.tenant, "container_1")
        .await
        .unwrap();
    assert_eq!(count_files(&store, &bed.tenant, "container_1").await, 0);
    // A run that has read the files before cannot commit a difference from them.
    let stale = StepChanges {
        container: Some(ContainerChange {
            container: "container_1".to_owned(),
            generation: 1,
            changed: Vec::new(),
            removed: vec!["a".to_owned()],
            files_digest: None,
        }),
        ..StepChanges::default()
    };
    let refused = store.append_step(&mut lease, &TURN, stale, LEASE).await;
    assert_eq!(refused.unwrap(), AppendOutcome::ContainerChanged);
}
