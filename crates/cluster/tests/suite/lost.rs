//! Workers that die or fall silent while they run a command.

use crate::fake_worker::{FakeWorker, ended};
use crate::support::{
    OWNER, TestCluster, bash, create, paths, read, run, streamed, succeeded, workers_known,
};
use prowess_sandbox::{DomainRule, Error, Network, Policy, Sandboxes};
use prowess_store::Database;
use prowess_worker::protocol::WorkerReply;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_a_worker_that_died_runs_elsewhere_from_the_committed_files() {
    let cluster = TestCluster::new(Database::Postgres);
    let gateway = cluster.gateway("gw").await;
    let first = cluster.worker("w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    run(&gateway, &id, "echo 1 > log; mkdir d; ln -s log link").await;
    let _second = cluster.worker("w2").await;
    workers_known(&gateway, 2).await;
    let (execution, mut output) = streamed("echo 2 >> log; echo begun; sleep 1; cat log");
    let running = gateway.exec(OWNER, &id, execution);
    let death = async {
        let first_chunk = output.recv().await.unwrap();
        // It was the last worker of the container, so it has this command too.
        assert_eq!(first.service.beat().running, 1);
        drop(first);
        first_chunk.bytes
    };
    let (ran, mut passed) = tokio::join!(running, death);
    assert_eq!(succeeded(&ran.unwrap()), "begun\n1\n2\n");
    assert_eq!(read(&gateway, &id, "log").await, b"1\n2\n");
    while let Ok(chunk) = output.try_recv() {
        passed.extend(chunk.bytes);
    }
    // Output was passed on once.
    assert_eq!(String::from_utf8(passed).unwrap(), "begun\n1\n2\n");
    let seen = run(&gateway, &id, "readlink link; ls -d d").await;
    assert_eq!(seen, "log\nd\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_may_have_had_effects_is_not_repeated() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let domain: DomainRule = "example.com".parse().unwrap();
    let policy = Policy {
        network: Network::Allow(vec![domain]),
        ..Policy::default()
    };
    let id = Sandboxes::create(&*gateway, OWNER, policy.into())
        .await
        .unwrap();
    assert!(gateway.network_allowed(OWNER, &id).await.unwrap());
    let silence = async {
        let (_, reply) = worker.next_exec().await;
        worker
            .reply(&reply, &WorkerReply::Accepted { attached: false })
            .await;
    };
    let (ran, ()) = tokio::join!(gateway.exec(OWNER, &id, bash("true")), silence);
    let error = ran.unwrap_err();
    assert!(matches!(error, Error::WorkerLost { .. }), "{error}");
    assert!(
        error.to_string().contains("may have had effects"),
        "{error}"
    );
    // The container is free again.
    worker.beat(0).await;
    let answer = async {
        let (_, reply) = worker.next_exec().await;
        worker.reply(&reply, &ended("again", None)).await;
    };
    let (ran, ()) = tokio::join!(gateway.exec(OWNER, &id, bash("true")), answer);
    assert_eq!(ran.unwrap().stdout.text, "again");
}

#[tokio::test]
async fn a_lost_result_is_requested_again() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    let script = async {
        let (request, reply) = worker.next_exec().await;
        worker
            .reply(&reply, &WorkerReply::Accepted { attached: false })
            .await;
        // Everything from now on is lost, until the gateway asks again.
        let again = loop {
            tokio::select! {
                again = worker.next_exec() => break again,
                () = tokio::time::sleep(Duration::from_millis(500)) => {}
            }
            worker.beat(1).await;
        };
        assert!(again.0.attach_only);
        assert_eq!(again.0.command, request.command);
        worker
            .reply(&again.1, &WorkerReply::Accepted { attached: true })
            .await;
        worker.reply(&again.1, &ended("kept", None)).await;
    };
    let (ran, ()) = tokio::join!(gateway.exec(OWNER, &id, bash("true")), script);
    assert_eq!(ran.unwrap().stdout.text, "kept");
}

#[tokio::test]
async fn without_workers_a_command_is_refused_after_a_while() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway_with("gw", |settings| {
        settings.wait = Duration::from_millis(200);
    });
    let gateway = gateway.await;
    let id = create(&gateway).await;
    let error = gateway.exec(OWNER, &id, bash("true")).await.unwrap_err();
    let text = "no worker is available: none is connected; try again in 2 seconds";
    assert_eq!(error.to_string(), text);
    assert!(matches!(error, Error::NoWorker { .. }));
    // Nothing is held by it, and files need no worker.
    gateway.put(OWNER, &id, "a", b"a".to_vec()).await.unwrap();
    assert_eq!(paths(&gateway, &id).await, ["a"]);
}

#[tokio::test]
async fn a_command_waits_for_the_first_worker() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let id = create(&gateway).await;
    let (ran, _worker) = tokio::join!(run(&gateway, &id, "echo late"), cluster.worker("w1"));
    assert_eq!(ran, "late\n");
}
