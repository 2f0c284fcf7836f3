//! Large contents go by signed URLs, past the gateway.

use crate::support::{OWNER, TestCluster, create, paths, read, run, workers_known};
use prowess_sandbox::Sandboxes;
use prowess_testkit::s3::TestS3;

#[tokio::test(flavor = "multi_thread")]
async fn large_files_move_between_workers_by_the_object_storage() {
    let s3 = tokio::task::spawn_blocking(|| {
        let s3 = TestS3::start();
        s3.bucket("contents");
        s3
    });
    let s3 = s3.await.unwrap();
    let mut cluster = TestCluster::sqlite();
    cluster.config.blobs = "s3://contents/some".to_owned();
    let options = [
        ("aws_endpoint", s3.endpoint()),
        ("aws_allow_http", "true".to_owned()),
        ("aws_region", "us-east-1".to_owned()),
        ("aws_access_key_id", "id".to_owned()),
        ("aws_secret_access_key", "secret".to_owned()),
    ];
    cluster.config.blob_options = options.map(|(name, value)| (name.to_owned(), value)).into();
    let gateway = cluster.gateway("gw").await;
    let first = cluster.worker("w1").await;
    workers_known(&gateway, 1).await;
    let id = create(&gateway).await;
    gateway
        .put(OWNER, &id, "in", vec![7; 600_000])
        .await
        .unwrap();
    let line = "for n in 1 2 3; do head -c 700000 /dev/urandom > r$n; done; cp in out; echo x >> out; \
                sha256sum r1 r2 r3 out";
    let sums = run(&gateway, &id, line).await;
    assert_eq!(paths(&gateway, &id).await, ["in", "out", "r1", "r2", "r3"]);
    let mut out = vec![7; 600_000];
    out.extend(b"x\n");
    assert_eq!(read(&gateway, &id, "out").await, out);
    // Its worker dies: another one has everything.
    drop(first);
    let _second = cluster.worker("w2").await;
    workers_known(&gateway, 1).await;
    assert_eq!(run(&gateway, &id, "sha256sum r1 r2 r3 out").await, sums);
    // The same while nothing is committed.
    let _guard = gateway.defer_changes(OWNER, &id);
    run(&gateway, &id, "cat r1 r2 > both; rm r1 r2 r3").await;
    assert_eq!(read(&gateway, &id, "both").await.len(), 1_400_000);
    assert_eq!(run(&gateway, &id, "wc -c < both").await, "1400000\n");
}
