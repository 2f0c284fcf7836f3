//! A worker that was broken into: whatever it reports, only this container can change, and only
//! to what the worker has really given.

use crate::fake_worker::{FakeWorker, ended};
use crate::support::{OWNER, TestCluster, bash, create, paths, read, until, workers_known};
use bytes::Bytes;
use prowess_cluster::ClusterSandboxes;
use prowess_sandbox::{
    Error, Policy, Requirements, SandboxLimits, Sandboxes, Snapshot, SnapshotContent, SnapshotEntry,
};
use prowess_skill::Digest;
use prowess_worker::protocol::{
    Ask, ChangedContent, ContentPlace, FileChanges, GatewayAnswer, WorkerBeat, WorkerReply,
    WorkerRequest, encode,
};
use std::sync::Arc;
use std::time::Duration;

fn entry(path: &str, text: &str) -> SnapshotEntry {
    SnapshotEntry {
        path: path.into(),
        content: SnapshotContent::File(Digest::from_content(text.as_bytes())),
        size: text.len() as u64,
        mode: 0o644,
    }
}

fn content(digest_of: &str, text: &str) -> (Digest, ChangedContent) {
    let bytes = Bytes::copy_from_slice(text.as_bytes());
    let digest = Digest::from_content(digest_of.as_bytes());
    (digest, ChangedContent::Inline(bytes.into()))
}

/// The container has `a` with `old`; this result makes `b` with `new` beside it.
fn honest() -> FileChanges {
    let files = vec![entry("a", "old"), entry("b", "new")];
    FileChanges {
        changed: vec![entry("b", "new")],
        removed: Vec::new(),
        files_digest: Snapshot::from_entries(files).digest(),
        contents: vec![content("new", "new")],
        omitted: 0,
    }
}

fn with_digest(changes: FileChanges, files: Vec<SnapshotEntry>) -> FileChanges {
    FileChanges {
        files_digest: Snapshot::from_entries(files).digest(),
        ..changes
    }
}

async fn container(gateway: &Arc<ClusterSandboxes>) -> String {
    let policy = Policy {
        limits: SandboxLimits {
            data_bytes: 1_000,
            ..SandboxLimits::default()
        },
        ..Policy::default()
    };
    let id = Sandboxes::create(&**gateway, OWNER, policy.into())
        .await
        .unwrap();
    gateway.put(OWNER, &id, "a", b"old".to_vec()).await.unwrap();
    id
}

async fn report(
    gateway: &Arc<ClusterSandboxes>,
    worker: &mut FakeWorker,
    id: &str,
    changes: FileChanges,
) -> Result<(), Error> {
    worker.beat(0).await;
    let lie = async {
        let (_, reply) = worker.next_exec().await;
        worker.reply(&reply, &ended("", Some(changes))).await;
    };
    let (ran, ()) = tokio::join!(gateway.exec(OWNER, id, bash("true")), lie);
    ran.map(drop)
}

#[tokio::test]
async fn forged_results_are_refused_and_change_nothing() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let id = container(&gateway).await;
    // A file of another container of the same tenant: its content is stored.
    let other = create(&gateway).await;
    let secret = b"secret of others".to_vec();
    gateway.put(OWNER, &other, "s", secret).await.unwrap();
    let old = entry("a", "old");
    let large = "x".repeat(2_000);
    let stolen = entry("b", "secret of others");
    let forged = [
        // Wrong digest of all files.
        FileChanges {
            files_digest: Digest::from_content(b"wrong"),
            ..honest()
        },
        // Content that has not its digest.
        FileChanges {
            contents: vec![content("new", "bad")],
            ..honest()
        },
        // Content that was not given.
        FileChanges {
            contents: Vec::new(),
            ..honest()
        },
        // Content that only another container has.
        with_digest(
            FileChanges {
                changed: vec![stolen.clone()],
                contents: Vec::new(),
                ..honest()
            },
            vec![old.clone(), stolen.clone()],
        ),
        // Content that was said to be uploaded, to a place that was not given.
        with_digest(
            FileChanges {
                changed: vec![stolen.clone()],
                contents: vec![(
                    Digest::from_content(b"secret of others"),
                    ChangedContent::Uploaded(0),
                )],
                ..honest()
            },
            vec![old.clone(), stolen],
        ),
        // Paths outside.
        with_digest(
            FileChanges {
                changed: vec![entry("../b", "new")],
                ..honest()
            },
            vec![old.clone(), entry("../b", "new")],
        ),
        // More than the container may have.
        with_digest(
            FileChanges {
                changed: vec![entry("b", &large)],
                contents: vec![content(&large, &large)],
                ..honest()
            },
            vec![old.clone(), entry("b", &large)],
        ),
        // A file that was not there.
        FileChanges {
            removed: vec!["c".into()],
            ..honest()
        },
    ];
    for (number, changes) in forged.into_iter().enumerate() {
        let refused = report(&gateway, &mut worker, &id, changes).await;
        let Err(error) = refused else {
            panic!("number {number} was accepted");
        };
        assert!(
            matches!(&error, Error::Remote { code, .. } if code == "worker-result"),
            "{error}"
        );
        assert_eq!(paths(&gateway, &id).await, ["a"]);
        assert_eq!(read(&gateway, &id, "a").await, b"old");
    }
    // The same worker, when it is honest.
    report(&gateway, &mut worker, &id, honest()).await.unwrap();
    assert_eq!(read(&gateway, &id, "b").await, b"new");
}

#[tokio::test]
async fn a_worker_gets_the_contents_of_its_container_and_no_others() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let id = container(&gateway).await;
    let other = create(&gateway).await;
    gateway
        .put(OWNER, &other, "s", b"secret".to_vec())
        .await
        .unwrap();
    // Whoever listens on the subjects of others hears nothing.
    let mut at_others = cluster.bus.subscribe("prowess.w.w2.>").await.unwrap();
    let mut dropped = cluster.bus.subscribe("prowess.drop").await.unwrap();
    let ask = |digests: Vec<Digest>| Ask::Contents { digests };
    let (own, foreign) = (
        Digest::from_content(b"old"),
        Digest::from_content(b"secret"),
    );
    let questions = async {
        let (request, reply) = worker.next_exec().await;
        let files = worker.ask(&reply, Ask::Files { after: None }).await;
        let GatewayAnswer::Files(page) = files else {
            panic!("{files:?}");
        };
        assert_eq!(page.entries, [entry("a", "old")]);
        assert_eq!(
            Snapshot::from_entries(page.entries).digest(),
            request.files_digest
        );
        let answer = worker.ask(&reply, ask(vec![own])).await;
        let inline = ContentPlace::Inline(Bytes::from_static(b"old").into());
        assert_eq!(answer, GatewayAnswer::Contents(vec![(own, inline)]));
        for digests in [vec![foreign], vec![own, foreign], vec![own; 257]] {
            let answer = worker.ask(&reply, ask(digests)).await;
            assert!(
                matches!(answer, GatewayAnswer::Refused { .. }),
                "{answer:?}"
            );
        }
        // More than the container can have.
        let answer = worker
            .ask(&reply, Ask::Uploads { sizes: vec![1_001] })
            .await;
        assert!(
            matches!(answer, GatewayAnswer::Refused { .. }),
            "{answer:?}"
        );
        // The gateway writes to no subject of the cluster but the worker's own inbox.
        for subject in ["prowess.w.w2.do", "prowess.drop"] {
            let payload = encode(&WorkerReply::Ask(ask(vec![own]))).unwrap();
            let sent = cluster.bus.publish_with_reply(&reply, subject, payload);
            sent.await.unwrap();
        }
        worker.reply(&reply, &ended("", None)).await;
    };
    let (ran, ()) = tokio::join!(gateway.exec(OWNER, &id, bash("true")), questions);
    ran.unwrap();
    cluster.bus.drain().await.unwrap();
    assert!(at_others.next().await.is_none());
    assert!(dropped.next().await.is_none());
}

/// A beat of the worker `w1` that names this start of its process.
fn beat(boot: &str, running: usize, draining: bool) -> WorkerBeat {
    WorkerBeat {
        id: "w1".into(),
        boot: boot.into(),
        protocol: 1,
        running,
        slots: 4,
        grade: "strict".into(),
        draining,
        ..WorkerBeat::default()
    }
}

/// Where the gateway waits for what the worker says of itself, which it asks because of this beat.
async fn question_because_of(
    worker: &mut FakeWorker,
    own: &WorkerBeat,
    because: &WorkerBeat,
) -> String {
    loop {
        worker.announce(own).await;
        worker.announce(because).await;
        let pause = tokio::time::sleep(Duration::from_millis(50));
        tokio::select! {
            (request, reply) = worker.next_request() => {
                assert!(matches!(request, WorkerRequest::Describe), "{request:?}");
                return reply.unwrap();
            }
            () = pause => {}
        }
    }
}

#[tokio::test]
async fn a_worker_cannot_announce_the_end_of_another() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    let is = |boot: &str, running: usize| {
        let workers = gateway.workers();
        workers
            .iter()
            .any(|worker| worker.boot == boot && worker.running == running && !worker.is_draining)
    };
    worker.leave_questions_to_test();
    // Somebody says that it was started again and stops. The worker itself is asked.
    let (idle, busy) = (beat("1", 0, false), beat("1", 3, false));
    let forged = beat("forged", 0, true);
    let reply = question_because_of(&mut worker, &idle, &forged).await;
    assert!(is("1", 0));
    let own = WorkerReply::Described(Box::new(busy.clone()));
    worker.reply(&reply, &own).await;
    until("the worker was believed", || is("1", 3)).await;
    // What another worker answers in its own name does not count.
    let reply = question_because_of(&mut worker, &busy, &forged).await;
    let mut other = beat("2", 0, false);
    other.id = "w2".into();
    let other = WorkerReply::Described(Box::new(other));
    worker.reply(&reply, &other).await;
    // It was really started again.
    let reply = question_because_of(&mut worker, &busy, &beat("2", 1, false)).await;
    assert!(is("1", 3));
    assert_eq!(gateway.workers().len(), 1);
    let again = WorkerReply::Described(Box::new(beat("2", 2, false)));
    worker.reply(&reply, &again).await;
    until("the restarted worker is known", || is("2", 2)).await;
}

#[tokio::test]
async fn workers_that_were_invented_are_no_place_for_commands() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    // More than a gateway remembers, and all of them idle.
    for number in 0..5_000 {
        let invented = WorkerBeat {
            id: format!("invented-{number}"),
            slots: 1_000,
            ..beat("1", 0, false)
        };
        worker.announce(&invented).await;
        // The gateway receives what was announced.
        tokio::task::yield_now().await;
    }
    // One that really starts is known nevertheless, soon if not with its first beat.
    let another = FakeWorker::start(&cluster.bus, "w2").await;
    let ids = || {
        let workers = gateway.workers().into_iter();
        workers.map(|worker| worker.id).collect::<Vec<_>>()
    };
    while !ids().contains(&"w2".to_owned()) {
        another.beat(4).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(ids(), ["w1", "w2"]);
    // It has no room: the command goes to the other real one.
    another.beat(4).await;
    until("it is busy", || {
        gateway.workers().iter().any(|worker| worker.running == 4)
    })
    .await;
    worker.beat(0).await;
    let id = create(&gateway).await;
    let answer = async {
        let (_, reply) = worker.next_exec().await;
        worker.reply(&reply, &ended("", None)).await;
    };
    let (ran, ()) = tokio::join!(gateway.exec(OWNER, &id, bash("true")), answer);
    assert_eq!(ran.unwrap().worker.as_deref(), Some("w1"));
}

/// Has packages installed, of which the worker remarks this if it is asked.
async fn install(
    gateway: &ClusterSandboxes,
    worker: &mut FakeWorker,
    owner: &str,
    remark: Option<String>,
) -> Option<String> {
    let requirements = Requirements::parse("tiny").unwrap();
    let answers = async {
        let reply = worker.next_layer().await;
        let ready = WorkerReply::LayerReady { remark };
        worker.reply(&reply, &ready).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        layer = gateway.layer(owner, &requirements) => layer.unwrap().remark().map(str::to_owned),
        () = answers => None,
    }
}

#[tokio::test]
async fn what_a_worker_remarks_of_packages_is_bounded_and_reaches_one_tenant_only() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let mut worker = FakeWorker::start(&cluster.bus, "w1").await;
    workers_known(&gateway, 1).await;
    cluster.add_tenant("another").await;
    let forged = Some("obey ".repeat(1 << 20));
    let shown = install(&gateway, &mut worker, OWNER, forged).await.unwrap();
    assert!(shown.len() <= 8 << 10, "{} bytes", shown.len());
    // The same packages: nobody is asked again for this tenant, but for the other one.
    let again = install(&gateway, &mut worker, OWNER, None).await;
    assert_eq!(again, Some(shown));
    let other = install(&gateway, &mut worker, "another", None).await;
    assert_eq!(other, None);
}
