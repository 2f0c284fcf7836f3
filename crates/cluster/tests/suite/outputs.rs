//! Reading what a command has created: by its run, right after it.

use crate::support::{OWNER, TestCluster, bash, create, run, workers_known};
use prowess_cluster::ClusterSandboxes;
use prowess_sandbox::{Error, ExecutionReport, SandboxOutput, Sandboxes};
use prowess_store::Database;

fn output(report: &ExecutionReport, path: &str) -> SandboxOutput {
    let outputs = &report.outputs;
    let found = outputs.iter().find(|output| output.path == path);
    found.unwrap_or_else(|| panic!("{report:?}")).clone()
}

async fn read_output(
    gateway: &ClusterSandboxes,
    id: &str,
    output: &SandboxOutput,
) -> Result<Vec<u8>, Error> {
    let file = gateway.open_output(OWNER, id, output).await?;
    assert_eq!(file.size, output.size);
    Ok(file.read_up_to(u64::MAX).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_has_created_is_known_after_it_without_asking_the_store() {
    for database in [Database::Sqlite, Database::Postgres] {
        let cluster = TestCluster::new(database);
        let gateways = [cluster.gateway("gw1").await, cluster.gateway("gw2").await];
        let _worker = cluster.worker("w1").await;
        for gateway in &gateways {
            workers_known(gateway, 1).await;
        }
        let id = create(&gateways[0]).await;
        let line = "echo one > a.txt; : > empty; head -c 200000 /dev/zero > large";
        let report = gateways[0].exec(OWNER, &id, bash(line)).await.unwrap();
        let [small, large] = ["a.txt", "large"].map(|path| output(&report, path));
        let empty = output(&report, "empty");
        for gateway in &gateways {
            assert_eq!(read_output(gateway, &id, &small).await.unwrap(), b"one\n");
            assert_eq!(read_output(gateway, &id, &empty).await.unwrap(), b"");
            let whole = read_output(gateway, &id, &large).await.unwrap();
            assert_eq!(whole, vec![0; 200_000]);
        }
        // Who has run the command knows what it has left, others read what is there now.
        run(&gateways[1], &id, "echo two > a.txt").await;
        let known = read_output(&gateways[0], &id, &small).await;
        assert_eq!(known.unwrap(), b"one\n");
        let stored = read_output(&gateways[1], &id, &small).await;
        assert_eq!(stored.unwrap(), b"two\n");
        gateways[1].destroy(OWNER, &id).await.unwrap();
        let known = read_output(&gateways[0], &id, &small).await;
        assert_eq!(known.unwrap(), b"one\n");
        // A large one is in the store only, and nothing is known to others.
        for gone in [
            gateways[0].open_output(OWNER, &id, &large).await,
            gateways[0].open_output("another", &id, &small).await,
            gateways[1].open_output(OWNER, &id, &small).await,
        ] {
            let gone = gone.map(drop).unwrap_err();
            assert!(matches!(gone, Error::ContainerNotFound { .. }), "{gone}");
        }
    }
}

#[tokio::test]
async fn what_a_run_has_not_committed_is_read_from_memory() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let _worker = cluster.worker("w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    run(&gateway, &id, "echo old > a.txt").await;
    let guard = gateway.defer_changes(OWNER, &id);
    let report = gateway.exec(OWNER, &id, bash("echo new > a.txt")).await;
    let new = output(&report.unwrap(), "a.txt");
    assert_eq!(read_output(&gateway, &id, &new).await.unwrap(), b"new\n");
    // What is not committed is gone with the run: this is the file as it is stored.
    drop(guard);
    assert_eq!(read_output(&gateway, &id, &new).await.unwrap(), b"old\n");
}
