//! Commands that nobody waits for any more.

use crate::support::{OWNER, TestCluster, create, paths, run, streamed, until, workers_known};
use prowess_sandbox::Sandboxes;

#[tokio::test]
async fn a_dropped_command_is_killed_and_its_container_free() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let worker = cluster.worker("w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    let (execution, mut output) = streamed("echo x > file; echo begun; sleep 600");
    let mut running = gateway.exec(OWNER, &id, execution);
    tokio::select! {
        ended = &mut running => panic!("{ended:?}"),
        chunk = output.recv() => assert!(chunk.is_some()),
    }
    assert_eq!(*gateway.running_commands().borrow(), 1);
    drop(running);
    assert_eq!(*gateway.running_commands().borrow(), 0);
    until("it is killed", || worker.sandbox.load() == (0, 0)).await;
    // What it wrote never happened.
    assert!(paths(&gateway, &id).await.is_empty());
    assert_eq!(run(&gateway, &id, "ls | wc -l").await, "0\n");
}
