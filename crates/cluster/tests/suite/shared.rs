//! Two gateways and one container.

use crate::support::{OWNER, TestCluster, create, paths, read, run, workers_known};
use prowess_sandbox::{Error, Sandboxes};
use prowess_store::Database;

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_two_gateways_in_one_container_take_turns() {
    for database in [Database::Sqlite, Database::Postgres] {
        let cluster = TestCluster::new(database);
        let gateways = [cluster.gateway("gw1").await, cluster.gateway("gw2").await];
        let _workers = [cluster.worker("w1").await, cluster.worker("w2").await];
        for gateway in &gateways {
            workers_known(gateway, 2).await;
        }
        let id = create(&gateways[0]).await;
        let mut commands = tokio::task::JoinSet::new();
        for (number, gateway) in gateways.iter().enumerate() {
            for command in 0..6 {
                let (gateway, id) = (gateway.clone(), id.clone());
                commands.spawn(async move {
                    run(&gateway, &id, &format!("echo {number}-{command} >> log")).await;
                });
            }
            let (gateway, id) = (gateway.clone(), id.clone());
            commands.spawn(async move {
                let path = format!("put-{number}");
                gateway.put(OWNER, &id, &path, b"x".to_vec()).await.unwrap();
            });
        }
        while let Some(done) = commands.join_next().await {
            done.unwrap();
        }
        let log = String::from_utf8(read(&gateways[1], &id, "log").await).unwrap();
        let mut lines: Vec<&str> = log.lines().collect();
        lines.sort_unstable();
        let expected = (0..12).map(|number| format!("{}-{}", number / 6, number % 6));
        assert_eq!(lines, expected.collect::<Vec<_>>());
        for gateway in &gateways {
            assert_eq!(paths(gateway, &id).await, ["log", "put-0", "put-1"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_container_expires_is_known_after_a_command_without_asking_the_store() {
    for database in [Database::Sqlite, Database::Postgres] {
        let cluster = TestCluster::new(database);
        let gateways = [cluster.gateway("gw1").await, cluster.gateway("gw2").await];
        let _worker = cluster.worker("w1").await;
        workers_known(&gateways[0], 1).await;
        let id = create(&gateways[0]).await;
        for line in ["true", "echo new > file"] {
            run(&gateways[0], &id, line).await;
            let known = gateways[0].expiry_after_use(OWNER, &id).await.unwrap();
            let stored = gateways[1].expiry(OWNER, &id).await.unwrap();
            assert!(known.abs_diff(stored) < 60, "{known} {stored}");
        }
        gateways[1].destroy(OWNER, &id).await.unwrap();
        let remembered = gateways[0].expiry_after_use(OWNER, &id).await;
        assert!(remembered.is_ok());
        // Whoever has not used it, or has to know whether it exists, asks the store.
        for answer in [
            gateways[0].expiry_after_use("another", &id).await,
            gateways[1].expiry_after_use(OWNER, &id).await,
            gateways[0].expiry(OWNER, &id).await,
        ] {
            assert!(matches!(answer, Err(Error::ContainerNotFound { .. })));
        }
    }
}
