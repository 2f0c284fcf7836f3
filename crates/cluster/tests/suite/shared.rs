//! Two gateways and one container.

use crate::support::{OWNER, TestCluster, create, paths, read, run, workers_known};
use prowess_sandbox::Sandboxes;
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
