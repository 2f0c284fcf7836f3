//! Contents by signed URLs, on an S3 server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use prowess_skill::Digest;
use prowess_store::{
    ContainerUpdate, ContainerUser, Database, SignedContent, StagedContent, StorageLimits, Store,
    UpdateContainerOutcome,
};
use prowess_testkit::s3::TestS3;

use super::setup::{HOLD, create, file, put_file, stage};
use crate::testbed::{TestBed, run};

fn bed(s3: &TestS3) -> TestBed {
    s3.bucket("contents");
    let mut bed = TestBed::new(Database::Sqlite);
    bed.config.blobs = "s3://contents/prefix".to_owned();
    let options = [
        ("aws_endpoint", s3.endpoint()),
        ("aws_allow_http", "true".to_owned()),
        ("aws_region", "us-east-1".to_owned()),
        ("aws_access_key_id", "id".to_owned()),
        ("aws_secret_access_key", "secret".to_owned()),
    ];
    bed.config.blob_options = options.map(|(name, value)| (name.to_owned(), value)).into();
    bed
}

/// A request of somebody who knows nothing but the URL. Returns status line and body.
fn request(method: &str, url: &str, body: &[u8]) -> (String, Vec<u8>) {
    let (host, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.lines().next().unwrap_or_default().to_owned();
    (status, answer[end + 4..].to_vec())
}

async fn add(store: &Store, bed: &TestBed, content: &[u8], staged: StagedContent) {
    let update = ContainerUpdate {
        user: ContainerUser::Anyone,
        generation: None,
        changed: vec![file("uploaded", content)],
        removed: Vec::new(),
        files_digest: None,
        contents: vec![staged],
        setup: None,
    };
    let changed = store.change_container_files(&bed.tenant, "container_1", update);
    let changed = changed.await.unwrap();
    assert!(matches!(changed, UpdateContainerOutcome::Changed { .. }));
}

#[test]
fn a_worker_reads_and_writes_contents_by_url() {
    let s3 = TestS3::start();
    let bed = bed(&s3);
    run(async {
        let store = bed.open().await;
        assert!(store.can_sign());
        create(&store, &bed.tenant, "container_1").await;
        let large = vec![5; 100_000];
        put_file(&store, &bed.tenant, "container_1", "a", &large).await;
        let digest = Digest::from_content(&large);
        let digests = [digest];
        let signed = store.signed_content(&bed.tenant, "container_1", &digests, HOLD);
        let signed = signed.await.unwrap().remove(&digest).unwrap();
        assert_eq!(format!("{signed:?}"), "Url(…)");
        let SignedContent::Url(url) = signed else {
            panic!("{signed:?}");
        };
        let (status, body) = request("GET", &url, b"");
        assert!(status.contains("200"), "{status}");
        assert_eq!(body, large);

        let new = vec![6; 200_000];
        let slots = store.reserve_uploads(&bed.tenant, &[200_000, 7], HOLD);
        let slots = slots.await.unwrap();
        assert_eq!(slots[1].size, 7);
        assert!(!format!("{slots:?}").contains("Signature"));
        let (status, _) = request("PUT", &slots[0].url, &new);
        assert!(status.contains("200"), "{status}");
        let digest = Digest::from_content(&new);
        let staged = store.stage_upload(&slots[0], digest).await.unwrap();
        // Before it is part of a container, commands of the same run need it.
        let opened = store.open_staged(&staged).await.unwrap();
        assert_eq!(opened.collect().await.unwrap(), new);
        let signed = store.sign_staged(&staged, HOLD).await.unwrap();
        assert!(matches!(signed, SignedContent::Url(_)));
        // What the worker writes after the check has no effect.
        let (status, _) = request("PUT", &slots[0].url, &vec![7; 200_000]);
        assert!(status.contains("200"), "{status}");
        add(&store, &bed, &new, staged).await;
        store.discard_uploads(&slots).await;
        let read = store.container_content(&bed.tenant, "container_1", digest);
        assert_eq!(read.await.unwrap().collect().await.unwrap(), new);
        assert_eq!(s3.keys("contents").len(), 2);

        // It can write to its place for as long as the URL is valid, so the place is collected
        // only afterwards.
        request("PUT", &slots[0].url, b"again");
        store.collect_garbage(Duration::ZERO).await.unwrap();
        assert_eq!(s3.keys("contents").len(), 3);
        let later = "UPDATE blobs SET touched_at = 0 WHERE state = 'pending'";
        crate::testbed::execute(&bed, later).await;
        store.collect_garbage(Duration::ZERO).await.unwrap();
        assert_eq!(s3.keys("contents").len(), 2);
    });
}

#[test]
fn an_upload_that_is_not_what_was_announced_is_refused() {
    let s3 = TestS3::start();
    let mut bed = bed(&s3);
    bed.config.limits = StorageLimits {
        bytes: Some(1_000_000),
        ..StorageLimits::default()
    };
    run(async {
        let store = bed.open().await;
        let content = vec![5; 50_000];
        let digest = Digest::from_content(&content);
        let slots = store.reserve_uploads(&bed.tenant, &[50_000], HOLD);
        let slots = slots.await.unwrap();
        for wrong in [
            None,
            Some(vec![6; 50_000]),
            Some(vec![5; 49_999]),
            Some(vec![5; 60_000]),
        ] {
            if let Some(wrong) = &wrong {
                request("PUT", &slots[0].url, wrong);
            }
            let objects = s3.keys("contents").len();
            let error = store.stage_upload(&slots[0], digest).await.unwrap_err();
            assert_eq!(error.code(), "content-damaged", "{error}");
            assert_eq!(s3.keys("contents").len(), objects, "the copy is deleted");
        }
        request("PUT", &slots[0].url, &content);
        let staged = store.stage_upload(&slots[0], digest).await.unwrap();
        // Not committed after all.
        store.discard_staged(vec![staged]).await;
        assert_eq!(s3.keys("contents").len(), 1);

        for (sizes, code) in [
            (vec![1; 1_001], "value-invalid"),
            (vec![5 << 30], "value-invalid"),
            (vec![600_000, 600_000], "storage-quota-exceeded"),
        ] {
            let refused = store.reserve_uploads(&bed.tenant, &sizes, HOLD).await;
            assert_eq!(refused.unwrap_err().code(), code);
        }
    });
}

#[test]
fn stored_content_is_staged_again_only_after_it_was_read() {
    let s3 = TestS3::start();
    let bed = bed(&s3);
    run(async {
        let store = bed.open().await;
        create(&store, &bed.tenant, "container_1").await;
        let content = vec![5; 50_000];
        put_file(&store, &bed.tenant, "container_1", "a", &content).await;
        let digest = Digest::from_content(&content);
        let slots = store.reserve_uploads(&bed.tenant, &[50_000], HOLD);
        let slots = slots.await.unwrap();
        // Who only knows the digest does not get the content by it.
        request("PUT", &slots[0].url, &vec![6; 50_000]);
        let error = store.stage_upload(&slots[0], digest).await.unwrap_err();
        assert_eq!(error.code(), "content-damaged");
        // The copy is not needed, and collected.
        request("PUT", &slots[0].url, &content);
        let staged = store.stage_upload(&slots[0], digest).await.unwrap();
        add(&store, &bed, &content, staged).await;
        store.discard_uploads(&slots).await;
        store.collect_garbage(Duration::ZERO).await.unwrap();
        assert_eq!(s3.keys("contents").len(), 1);
        // What was known when it was staged has a URL too.
        let known = stage(&store, &[&content]).await;
        let signed = store.sign_staged(&known[0], HOLD).await.unwrap();
        assert!(matches!(signed, SignedContent::Url(_)));
    });
}
