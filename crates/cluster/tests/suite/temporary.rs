//! Temporary containers: in no list, counted for nobody, without a row of their own.

use crate::support::{OWNER, TestCluster, bash, create, paths, read, run, until, workers_known};
use prowess_sandbox::{Policy, Sandboxes};
use prowess_store::{Database, TenantId};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_temporary_container_is_in_no_list_and_has_no_row() {
    for database in [Database::Sqlite, Database::Postgres] {
        let cluster = TestCluster::new(database);
        // A further container would take the place of the first.
        let gateway = cluster.gateway_with("gw", |settings| {
            settings.containers_per_tenant = 1;
            settings.evict_idle = Duration::ZERO;
        });
        let gateway = gateway.await;
        let other = cluster.gateway("gw2").await;
        let worker = cluster.worker("w1").await;
        workers_known(&gateway, 1).await;
        let own = create(&gateway).await;
        let id = gateway.create_temporary(OWNER, Policy::default()).await;
        let id = id.unwrap();
        // Small, and too large for a message.
        let large = vec![7; 300_000];
        gateway
            .put(OWNER, &id, "small", b"1\n".to_vec())
            .await
            .unwrap();
        gateway
            .put(OWNER, &id, "large", large.clone())
            .await
            .unwrap();
        let line = "cat small > out; wc -c < large >> out; rm small; cat out";
        assert_eq!(run(&gateway, &id, line).await, "1\n300000\n");
        assert_eq!(run(&gateway, &id, "cat out").await, "1\n300000\n");
        assert_eq!(paths(&gateway, &id).await, ["large", "out"]);
        assert_eq!(read(&gateway, &id, "large").await, large);
        assert!(gateway.expiry(OWNER, &id).await.is_ok());

        let (store, tenant) = (cluster.store().await, TenantId::default_tenant());
        let stored = store.cluster_container(&tenant, &id).await.unwrap();
        assert_eq!(stored, None);
        assert!(store.container(&tenant, &id).await.unwrap().is_none());
        let listed = gateway.containers_of_owner(OWNER).await.unwrap();
        let listed: Vec<_> = listed.into_iter().map(|one| one.id).collect();
        assert_eq!(listed, [own.as_str()]);
        // Nobody else can use it.
        for (gateway, owner) in [(&gateway, "other"), (&other, OWNER)] {
            let refused = gateway.exec(owner, &id, bash("true")).await.unwrap_err();
            assert_eq!(refused.code(), "container-not-found");
        }

        gateway.destroy(OWNER, &id).await.unwrap();
        let gone = gateway.exec(OWNER, &id, bash("true")).await.unwrap_err();
        assert_eq!(gone.code(), "container-not-found");
        let gone = gateway.destroy(OWNER, &id).await.unwrap_err();
        assert_eq!(gone.code(), "container-not-found");
        assert!(store.container(&tenant, &id).await.unwrap().is_none());
        until("its copy is removed", || {
            worker.sandbox.containers().is_empty()
        })
        .await;
    }
}
