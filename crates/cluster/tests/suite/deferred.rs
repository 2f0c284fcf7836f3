//! Changes that a kept run commits with its steps.

use crate::support::{OWNER, TestCluster, create, paths, read, run, workers_known};
use prowess_cluster::ClusterSandboxes;
use prowess_sandbox::{Sandboxes, Snapshot, SnapshotContent, SnapshotEntry};
use prowess_store::{
    ContainerEntry, ContainerUpdate, ContainerUser, Database, EntryContent, StagingPlace, Store,
    TenantId, UpdateContainerOutcome,
};
use std::sync::Arc;

fn stored(entry: &SnapshotEntry) -> ContainerEntry {
    ContainerEntry {
        path: entry.path.clone(),
        content: match &entry.content {
            SnapshotContent::File(digest) => EntryContent::File(*digest),
            SnapshotContent::Link(target) => EntryContent::Link(target.clone()),
            SnapshotContent::Directory => EntryContent::Directory,
        },
        size: i64::try_from(entry.size).unwrap(),
        mode: entry.mode,
    }
}

/// Commits what a run has changed, as the engine does with a step.
async fn commit(store: &Store, gateway: &ClusterSandboxes, id: &str, before: &Snapshot) {
    let tenant = TenantId::default_tenant();
    let after = Arc::new(gateway.snapshot(OWNER, id, None).await.unwrap());
    let changes = after.changes_since(Some(before));
    let mut contents = Vec::new();
    for entry in &changes.changed {
        if let SnapshotContent::File(digest) = entry.content {
            let opened = gateway
                .open_files(OWNER, id, vec![entry.path.clone()])
                .await;
            let file = opened.unwrap().remove(0);
            let (size, body) = (entry.size, file.body);
            let staged = store.stage_content(digest, size, body, StagingPlace::Memory);
            contents.push(staged.await.unwrap());
        }
    }
    let known = store.cluster_container(&tenant, id).await.unwrap().unwrap();
    let update = ContainerUpdate {
        user: ContainerUser::HoldingRun,
        generation: Some(known.generation),
        changed: changes.changed.iter().map(stored).collect(),
        removed: changes.removed,
        files_digest: Some(after.digest()),
        contents,
        setup: None,
    };
    let changed = store
        .change_container_files(&tenant, id, update)
        .await
        .unwrap();
    let UpdateContainerOutcome::Changed { generation } = changed else {
        panic!("{changed:?}");
    };
    gateway.changes_committed(OWNER, id, generation, &after);
}

#[tokio::test(flavor = "multi_thread")]
async fn deferred_changes_are_seen_by_their_run_and_by_others_once_committed() {
    for database in [Database::Sqlite, Database::Postgres] {
        let cluster = TestCluster::new(database);
        let (gateway, other) = (cluster.gateway("gw1").await, cluster.gateway("gw2").await);
        let workers = [cluster.worker("w1").await, cluster.worker("w2").await];
        workers_known(&gateway, 2).await;
        let store = cluster.store().await;
        let id = create(&gateway).await;
        run(&gateway, &id, "echo 1 > log; echo old > removed").await;
        let guard = gateway.defer_changes(OWNER, &id);
        let before = gateway.snapshot(OWNER, &id, None).await.unwrap();
        run(
            &gateway,
            &id,
            "echo 2 >> log; rm removed; head -c 200000 /dev/zero > large",
        )
        .await;
        gateway
            .put(OWNER, &id, "dir/put", b"put".to_vec())
            .await
            .unwrap();
        gateway
            .upload(OWNER, &id, "file_1", "up", vec![1; 300_000])
            .await
            .unwrap();
        assert!(
            gateway
                .has_upload(OWNER, &id, "file_1", "up")
                .await
                .unwrap()
        );
        // The run sees them, and so does its next command, on whichever worker.
        assert_eq!(read(&gateway, &id, "log").await, b"1\n2\n");
        assert_eq!(read(&gateway, &id, "large").await, vec![0; 200_000]);
        assert_eq!(read(&gateway, &id, "up").await, vec![1; 300_000]);
        let seen = "cat log dir/put; wc -c < large; rm dir/put; echo 3 >> log";
        assert_eq!(run(&gateway, &id, seen).await, "1\n2\nput200000\n");
        let drained = workers
            .iter()
            .find(|worker| !worker.sandbox.containers().is_empty());
        drained.unwrap().service.drain().await;
        assert_eq!(
            run(&gateway, &id, "wc -c < large; wc -c < up").await,
            "200000\n300000\n"
        );
        // Nobody else does.
        assert_eq!(read(&other, &id, "log").await, b"1\n");
        assert_eq!(paths(&other, &id).await, ["log", "removed"]);
        commit(&store, &gateway, &id, &before).await;
        for gateway in [&gateway, &other] {
            assert_eq!(paths(gateway, &id).await, ["large", "log", "up"]);
            assert_eq!(read(gateway, &id, "log").await, b"1\n2\n3\n");
        }
        // What is not committed is discarded with the run.
        run(&gateway, &id, "echo lost >> log; rm large").await;
        gateway.unlink(OWNER, &id, "up").await.unwrap();
        drop(guard);
        assert_eq!(paths(&gateway, &id).await, ["large", "log", "up"]);
        assert_eq!(run(&gateway, &id, "cat log").await, "1\n2\n3\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_a_run_replaces_is_there_when_the_run_is_resumed() {
    let cluster = TestCluster::new(Database::Sqlite);
    let gateway = cluster.gateway("gw1").await;
    let _worker = cluster.worker("w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    run(&gateway, &id, "echo committed > log").await;
    let guard = gateway.defer_changes(OWNER, &id);
    run(&gateway, &id, "echo lost > log").await;
    gateway.destroy(OWNER, &id).await.unwrap();
    // As if the gateway had died before the next step.
    drop(guard);
    assert_eq!(read(&gateway, &id, "log").await, b"committed\n");
    gateway.destroy(OWNER, &id).await.unwrap();
    assert!(gateway.container(OWNER, &id).await.is_err());
}
