//! A kept run whose gateway died is resumed by another one: its command is not run twice.

use crate::fake_worker::{FakeWorker, ended};
use crate::support::{
    OWNER, TestCluster, bash, create, read, run, streamed, succeeded, workers_known,
};
use prowess_cluster::{ClusterSandboxes, ClusterSettings};
use prowess_sandbox::{ChangesGuard, CommandId, Error, Execution, Sandboxes, SnapshotEntry};
use prowess_worker::protocol::{RemoteError, WorkerReply};
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
async fn a_command_that_must_not_be_repeated_is_attached_to_or_given_up() {
    let cluster = TestCluster::sqlite();
    let worker = cluster.worker("w1").await;
    let first = cluster.gateway("gw1").await;
    let id = create(&first).await;
    let guard = first.defer_changes(OWNER, &id);
    let line = "echo 1 >> log; date +%s%N";
    let ran = first.exec(OWNER, &id, identified(bash(line))).await;
    let ran = succeeded(&ran.unwrap());
    drop((guard, first));
    let second = cluster.gateway("gw2").await;
    workers_known(&second, 1).await;
    let _guard = resume(&second, &id).await;
    let attached = |line: &str| Execution {
        attach_only: true,
        ..identified(bash(line))
    };
    let again = second.exec(OWNER, &id, attached(line)).await;
    assert_eq!(succeeded(&again.unwrap()), ran);
    let unknown = Execution {
        id: Some(CommandId::from_parts(["run_1", "2", "call_1", "1"])),
        ..attached("echo 2 >> log")
    };
    let error = second.exec(OWNER, &id, unknown).await.unwrap_err();
    assert!(matches!(error, Error::WorkerLost { .. }), "{error}");
    assert_eq!(read(&second, &id, "log").await, b"1\n");
    assert_eq!(worker.sandbox.statistics().commands[0], ("exited", 1));
}

#[tokio::test]
async fn a_gateway_that_has_lost_the_run_has_its_command_run_nowhere() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw1").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    let _guard = resume(&gateway, &id).await;
    let execution = Execution {
        epoch: 3,
        ..identified(bash("true"))
    };
    let lost = async {
        let (request, reply) = worker.next_exec().await;
        assert_eq!((request.attach_only, request.epoch), (true, 3));
        let error = RemoteError::new(RemoteError::RUN_LOST, "another gateway has it");
        worker.reply(&reply, &WorkerReply::Failed(error)).await;
        request.command
    };
    let (ran, command) = tokio::join!(gateway.exec(OWNER, &id, execution), lost);
    let error = ran.unwrap_err();
    let is_lost = matches!(&error, Error::Remote { code, .. } if code == RemoteError::RUN_LOST);
    assert!(is_lost, "{error:?}");
    // The next request is for another command.
    worker.beat(0).await;
    let answer = async {
        let (request, reply) = worker.next_exec().await;
        assert_eq!((request.attach_only, request.epoch), (false, 0));
        assert_ne!(request.command, command);
        worker.reply(&reply, &ended("other", None)).await;
    };
    let (ran, ()) = tokio::join!(gateway.exec(OWNER, &id, bash("true")), answer);
    assert_eq!(succeeded(&ran.unwrap()), "other");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_has_lost_the_run_leaves_its_command_to_the_next_one() {
    let cluster = TestCluster::sqlite();
    let worker = cluster.worker("w1").await;
    let (first, second) = (cluster.gateway("gw1").await, cluster.gateway("gw2").await);
    workers_known(&first, 1).await;
    workers_known(&second, 1).await;
    let id = create(&first).await;
    let line = "date +%s%N | tee -a log; sleep 2";
    let owned_by = |epoch: i64, execution: Execution| Execution {
        epoch,
        ..identified(execution)
    };
    let guard = first.defer_changes(OWNER, &id);
    let (execution, mut output) = streamed(line);
    let execution = owned_by(1, execution);
    let ownership = execution.ownership.clone();
    let mut running = first.exec(OWNER, &id, execution);
    let first_chunk = tokio::select! {
        ended = &mut running => panic!("{ended:?}"),
        chunk = output.recv() => chunk.unwrap(),
    };
    // It stood still, and finds out before the next gateway has asked for the command.
    ownership.set_lost();
    drop(running);
    drop(guard);
    let _guard = resume(&second, &id).await;
    let ran = second.exec(OWNER, &id, owned_by(2, bash(line))).await;
    assert_eq!(succeeded(&ran.unwrap()).as_bytes(), first_chunk.bytes);
    assert_eq!(worker.sandbox.statistics().commands[0], ("exited", 1));
}
