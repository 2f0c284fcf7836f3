//! Commands, and the files they find and leave.

use crate::gateway::{TestGateway, ended, failed};
use crate::object_server::ObjectServer;
use crate::support::TestWorker;
use prowess_bus::Bus;
use prowess_sandbox::{CommandOutcome, Snapshot, SnapshotContent};
use prowess_skill::Digest;
use prowess_worker::protocol::{Ask, ChangedContent, RemoteError, WorkerReply};

#[tokio::test]
async fn a_command_runs_with_its_output_and_what_it_changed_comes_back() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    let line = "echo out; echo err >&2; mkdir -p a/b; echo one > a/b/1; ln -s b a/l; \
                chmod 750 a/b/1; exit 3";
    let request = gateway.request(line);
    let (last, conversation) = gateway.exec(request).await;
    let ended = ended(last);
    assert_ne!(conversation.attached, Some(true));
    let output = String::from_utf8(conversation.output).unwrap();
    assert!(
        output.contains("out\n") && output.contains("err\n"),
        "{output}"
    );
    assert_eq!(ended.report.outcome, CommandOutcome::Exit(3));
    assert_eq!(ended.report.stdout.text, "out\n");
    let changes = ended.changes.unwrap();
    gateway.commit(&changes);
    let paths: Vec<&str> = gateway.entries.keys().map(String::as_str).collect();
    assert_eq!(paths, ["a", "a/b", "a/b/1", "a/l"]);
    assert_eq!(gateway.content("a/b/1"), b"one\n");
    assert_eq!(gateway.entries["a/b/1"].mode, 0o750);
    assert_eq!(
        gateway.entries["a/l"].content,
        SnapshotContent::Link("b".into())
    );
    assert!(gateway.asks.is_empty(), "an empty container needs nothing");
}

#[tokio::test]
async fn the_next_command_finds_the_files_and_only_differences_come_back() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway
        .run("echo one > one; echo two > two; echo three > three")
        .await;
    let nothing = gateway.run("cat one two three").await;
    assert_eq!(nothing.report.stdout.text, "one\ntwo\nthree\n");
    assert!(nothing.changes.is_none());
    let moved = gateway.run("mv one first; rm two").await;
    let changes = moved.changes.unwrap();
    assert_eq!(changes.removed, ["one", "two"]);
    assert_eq!(changes.changed.len(), 1);
    assert!(changes.contents.is_empty(), "the container had the content");
    assert_eq!(gateway.content("first"), b"one\n");
    assert!(gateway.asks.is_empty(), "the copy has the right label");
}

#[tokio::test]
async fn a_copy_with_another_label_is_made_equal_to_the_committed_files() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway.page = 2;
    gateway
        .run("mkdir d; for i in 1 2 3 4 5; do echo $i > d/$i; done")
        .await;
    // The result of this one is never committed.
    let lost = gateway.request("rm d/1; echo changed > d/2; echo new > new");
    ended(gateway.exec(lost).await.0);
    // Another gateway, or a client, has changed something in the store.
    gateway.put("d/3", "uploaded");
    let seen = gateway.run("cat d/1 d/2 d/3; ls").await;
    assert_eq!(seen.report.stdout.text, "1\n2\nuploadedd\n");
    let pages = gateway
        .asks
        .iter()
        .filter(|ask| matches!(ask, Ask::Files { .. }));
    assert_eq!(pages.count(), 3, "six entries, two at a time");
    let contents = gateway.asks.iter().filter_map(|ask| match ask {
        Ask::Contents { digests } => Some(digests.as_slice()),
        _ => None,
    });
    let fetched: Vec<Digest> = contents.flatten().copied().collect();
    let uploaded = Digest::from_content(b"uploaded");
    assert!(fetched.contains(&uploaded));
    assert!(
        !fetched.contains(&Digest::from_content(b"4\n")),
        "the copy has it"
    );
}

#[tokio::test]
async fn a_worker_without_a_copy_restores_all_files() {
    let bus = Bus::local();
    let first = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway
        .run("mkdir -p a/b; echo x > a/b/x; ln -s nowhere link; touch empty; chmod 700 a")
        .await;
    drop(first);
    let _second = TestWorker::start(&bus).await;
    let seen = gateway
        .run("cat a/b/x; readlink link; stat -c %a a; stat -c %s empty")
        .await;
    assert_eq!(seen.report.stdout.text, "x\nnowhere\n700\n0\n");
    assert!(seen.changes.is_none());
    // Now it has them.
    let asks = gateway.asks.len();
    gateway.run("cat a/b/x").await;
    assert_eq!(gateway.asks.len(), asks);
}

#[tokio::test]
async fn files_that_are_not_those_of_the_digest_are_refused_and_nothing_runs() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway.put("file", "content");
    let mut request = gateway.request("echo ran");
    request.files_digest = Digest::from_content(b"another");
    let (last, conversation) = gateway.exec(request).await;
    assert_eq!(failed(last), RemoteError::FILES_UNAVAILABLE);
    assert!(conversation.output.is_empty());
    // A content that is not the digest's is not used either.
    let digest = Digest::from_content(b"content");
    gateway.contents.insert(digest, "forged!".into());
    let request = gateway.request("cat file");
    let (last, conversation) = gateway.exec(request).await;
    assert_eq!(failed(last), RemoteError::CONTENT_UNAVAILABLE);
    assert!(conversation.output.is_empty());
    gateway.contents.insert(digest, "content".into());
    assert_eq!(gateway.run("cat file").await.report.stdout.text, "content");
}

#[tokio::test]
async fn large_contents_are_fetched_and_uploaded_by_url() {
    let bus = Bus::local();
    let first = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway.objects = Some(ObjectServer::start().await);
    let line = "head -c 3000000 /dev/zero | tr '\\0' x > large; head -c 3000000 /dev/zero > zeros; \
                cp large copy; echo small > small";
    let ended = gateway.run(line).await;
    let contents = ended.changes.unwrap().contents;
    let count =
        |is: fn(&ChangedContent) -> bool| contents.iter().filter(|(_, place)| is(place)).count();
    assert_eq!(
        count(|place| matches!(place, ChangedContent::Uploaded(_))),
        2
    );
    assert_eq!(count(|place| matches!(place, ChangedContent::Inline(_))), 1);
    drop(first);
    let _second = TestWorker::start(&bus).await;
    // The object storage is overloaded for a moment.
    *gateway.objects.as_ref().unwrap().failures.lock().unwrap() = 2;
    let seen = gateway
        .run("cmp large copy && wc -c large zeros < /dev/null && cat small")
        .await;
    assert_eq!(seen.report.outcome, CommandOutcome::Exit(0));
    assert!(seen.report.stdout.text.contains("6000000"), "{seen:?}");
    // Another content at the same URL is noticed.
    let mut other = TestGateway::new(&bus);
    other.objects.clone_from(&gateway.objects);
    other.put("late", vec![7; 500_000]);
    let digest = Digest::from_content(&[7; 500_000]);
    let mut request = other.request("cat late | wc -c");
    request.command = "late".into();
    other.contents.insert(digest, vec![8; 500_000].into());
    let (last, _) = other.exec(request).await;
    assert_eq!(failed(last), RemoteError::CONTENT_UNAVAILABLE);
}

#[tokio::test]
async fn a_container_that_the_sandbox_evicted_is_created_again() {
    let bus = Bus::local();
    let worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway.run("echo kept > file").await;
    let destroyed = worker
        .sandbox
        .destroy(crate::gateway::OWNER, &gateway.container);
    destroyed.await.unwrap();
    assert_eq!(gateway.run("cat file").await.report.stdout.text, "kept\n");
}

#[tokio::test]
async fn copies_of_containers_that_are_gone_are_removed() {
    let bus = Bus::local();
    let worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway.run("echo x > x").await;
    assert_eq!(worker.sandbox.containers().len(), 1);
    let containers = vec![gateway.container.clone(), "container_unknown".into()];
    gateway
        .send(prowess_worker::protocol::WorkerRequest::Forget { containers })
        .await;
    while !worker.sandbox.containers().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(gateway.run("cat x").await.report.stdout.text, "x\n");
}

#[tokio::test]
async fn what_is_wrong_with_a_command_is_reported_as_by_a_sandbox_here() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    let mut request = gateway.request("");
    request.execution.command = prowess_sandbox::Command::Argv(Vec::new());
    let (last, _) = gateway.exec(request).await;
    let WorkerReply::Failed(error) = last else {
        panic!("{last:?}")
    };
    assert!(!error.began && !error.is_of_worker());
    let error = error.into_error();
    assert!(
        matches!(error, prowess_sandbox::Error::BadName { .. }),
        "{error:?}"
    );
    // The files were not touched by it.
    gateway.run("echo x > x").await;
    assert_ne!(gateway.files_digest(), Snapshot::default().digest());
}
