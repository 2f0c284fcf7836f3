//! A kept run whose gateway died is resumed by another one: its command is not run twice.

use crate::support::{
    OWNER, TestCluster, bash, create, read, run, streamed, succeeded, workers_known,
};
use prowess_cluster::{ClusterSandboxes, ClusterSettings};
use prowess_sandbox::{ChangesGuard, CommandId, Execution, Sandboxes, SnapshotEntry};
use std::sync::Arc;
use std::time::Duration;

fn identified(execution: Execution) -> Execution {
    Execution {
        id: Some(CommandId::from_parts(["run_1", "2", "call_1", "0"])),
        run: Some("run_1".to_owned()),
        ..execution
    }
}

/// Goes on with the files that are stored, as a resumed run does.
async fn resume(gateway: &Arc<ClusterSandboxes>, id: &str) -> ChangesGuard {
    let guard = gateway.defer_changes(OWNER, id);
    let stored = gateway.snapshot(OWNER, id, None).await.unwrap();
    let entries: Vec<SnapshotEntry> = stored.entries().cloned().collect();
    let no_content = |_: &SnapshotEntry| Err(std::io::Error::other("it is stored already"));
    let restored = gateway.restore(OWNER, id, entries, Box::new(no_content));
    assert_eq!(restored.await.unwrap().digest(), stored.digest());
    guard
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_command_is_answered_by_the_worker_that_ran_it() {
    let cluster = TestCluster::sqlite();
    let _workers = [
        cluster.worker("w1").await,
        cluster.worker("w2").await,
        cluster.worker("w3").await,
    ];
    let first = cluster.gateway("gw1").await;
    let id = create(&first).await;
    run(&first, &id, "echo 1 > log").await;
    let guard = first.defer_changes(OWNER, &id);
    let line = "echo 2 >> log; date +%s%N";
    let ran = first
        .exec(OWNER, &id, identified(bash(line)))
        .await
        .unwrap();
    // It dies before the step with the result is stored.
    drop((guard, first));
    let second = cluster.gateway("gw2").await;
    workers_known(&second, 3).await;
    let _guard = resume(&second, &id).await;
    let again = second
        .exec(OWNER, &id, identified(bash(line)))
        .await
        .unwrap();
    assert_eq!(succeeded(&again), succeeded(&ran));
    assert_eq!(read(&second, &id, "log").await, b"1\n2\n");
    // Another command is another one.
    let other = second.exec(OWNER, &id, bash("cat log; date +%s%N"));
    let other = succeeded(&other.await.unwrap());
    assert!(other.starts_with("1\n2\n"));
    assert_ne!(other, format!("1\n2\n{}", succeeded(&ran)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_command_is_attached_to() {
    let cluster = Arc::new(TestCluster::sqlite());
    let worker = cluster.worker("w1").await;
    let second = cluster.gateway("gw2").await;
    workers_known(&second, 1).await;
    let id = create(&second).await;
    let line = "date +%s%N | tee -a log; sleep 3";
    let (execution, mut output) = streamed(line);
    // What dies with its runtime tells nobody, like a process that is killed.
    let process = tokio::runtime::Runtime::new().unwrap();
    process.spawn({
        let (cluster, id) = (Arc::clone(&cluster), id.clone());
        async move {
            let settings = |settings: &mut ClusterSettings| {
                settings.hold = Duration::from_millis(300);
            };
            let first = cluster.gateway_with("gw1", settings).await;
            let _guard = first.defer_changes(OWNER, &id);
            first.exec(OWNER, &id, identified(execution)).await
        }
    });
    let first_chunk = output.recv().await.unwrap();
    process.shutdown_background();
    let _guard = resume(&second, &id).await;
    let ran = second
        .exec(OWNER, &id, identified(bash(line)))
        .await
        .unwrap();
    assert_eq!(succeeded(&ran).as_bytes(), first_chunk.bytes);
    assert_eq!(read(&second, &id, "log").await, first_chunk.bytes);
    assert_eq!(worker.sandbox.statistics().commands[0], ("exited", 1));
}
