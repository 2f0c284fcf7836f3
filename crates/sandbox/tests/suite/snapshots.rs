//! Snapshots of containers that real commands write to, and restoring them.

use crate::support::{OWNER, TestSandbox};
use prowess_sandbox::{
    Command, CommandOutcome, ContainerSpec, ContentReader, Execution, Network, Policy, Snapshot,
    SnapshotContent, SnapshotEntry,
};
use prowess_skill::Digest;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

/// The contents of a snapshot's files.
async fn contents(one: &TestSandbox, snapshot: &Snapshot) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for entry in snapshot.entries() {
        if let SnapshotContent::File(digest) = &entry.content {
            let paths = vec![entry.path.clone()];
            let files = one.sandbox.open_files(OWNER, &one.container, paths).await;
            let mut bytes = Vec::new();
            files.unwrap()[0].read_to_end(&mut bytes).unwrap();
            contents.insert(digest.to_string(), bytes);
        }
    }
    contents
}

async fn restore(
    one: &TestSandbox,
    snapshot: &Snapshot,
    contents: &BTreeMap<String, Vec<u8>>,
) -> Snapshot {
    let contents = contents.clone();
    let open = move |entry: &SnapshotEntry| -> io::Result<ContentReader> {
        let SnapshotContent::File(digest) = &entry.content else {
            panic!("{entry:?}")
        };
        Ok(Box::new(io::Cursor::new(
            contents[&digest.to_string()].clone(),
        )))
    };
    let entries = snapshot.entries().cloned().collect();
    let restored = one.sandbox.restore(OWNER, &one.container, entries, open);
    restored.await.unwrap()
}

const LIST: &str = "find . -mindepth 1 -printf '%P %y %m %l\\n' | sort; cat a deep/b 2>/dev/null";

#[tokio::test]
async fn a_command_sees_exactly_the_restored_files() {
    for warm in [0, 2] {
        let one = TestSandbox::open(|settings| settings.warm = warm).await;
        one.bash(
            "echo one > a; mkdir -p deep empty; echo two > deep/b; chmod 750 deep; \
             chmod 755 a; ln -s /etc/passwd secret; ln -s a 'x\\y'",
        )
        .await;
        let before = one.bash(LIST).await.stdout.text;
        let snapshot = Arc::new(
            one.sandbox
                .snapshot(OWNER, &one.container, None)
                .await
                .unwrap(),
        );
        let contents = contents(&one, &snapshot).await;
        let changed = one
            .bash(
                "echo more >> a; rm -r deep; echo file > deep; rmdir empty; rm secret; \
                 mkdir secret; echo x > secret/x; echo new > new; chmod 600 a",
            )
            .await;
        assert_eq!(changed.outcome, CommandOutcome::Exit(0));
        let seen = one
            .sandbox
            .snapshot(OWNER, &one.container, Some(Arc::clone(&snapshot)))
            .await
            .unwrap();
        let changes = seen.changes_since(Some(&snapshot));
        assert_eq!(changes.removed, ["deep/b", "empty"]);
        let restored = restore(&one, &snapshot, &contents).await;
        assert!(restored.changes_since(Some(&snapshot)).is_empty());
        assert_eq!(one.bash(LIST).await.stdout.text, before);
        // The files belong to the command again.
        let written = one
            .bash("echo more >> a; rm -r deep; touch empty/x; ls")
            .await;
        assert_eq!(written.stdout.text, "a\nempty\nsecret\nx\\y\n");
        assert_eq!(written.stderr.text, "");
        // All files, none, and all again: a command finds what is there.
        restore(&one, &Snapshot::default(), &contents).await;
        assert_eq!(one.bash(LIST).await.stdout.text, "");
        restore(&one, &snapshot, &contents).await;
        assert_eq!(one.bash(LIST).await.stdout.text, before);
    }
}

#[tokio::test]
async fn a_snapshot_and_a_restore_are_no_one_elses() {
    let one = TestSandbox::open(|_| {}).await;
    one.bash("echo one > a").await;
    let (sandbox, id) = (&one.sandbox, one.container.as_str());
    let refused = sandbox.snapshot("thief", id, None).await.unwrap_err();
    assert_eq!(refused.code(), "container-not-found");
    let none = |_: &SnapshotEntry| -> io::Result<ContentReader> { Ok(Box::new(io::empty())) };
    let refused = sandbox.restore("thief", id, Vec::new(), none).await;
    assert_eq!(refused.unwrap_err().code(), "container-not-found");
    let refused = sandbox.network_allowed("thief", id).await.unwrap_err();
    assert_eq!(refused.code(), "container-not-found");
    assert_eq!(one.bash("cat a").await.stdout.text, "one\n");
}

#[tokio::test]
async fn a_container_that_is_gone_is_created_again_with_its_id() {
    let one = TestSandbox::open(|_| {}).await;
    one.bash("echo one > a").await;
    let (sandbox, id) = (&one.sandbox, one.container.as_str());
    let snapshot = sandbox.snapshot(OWNER, id, None).await.unwrap();
    let contents = contents(&one, &snapshot).await;
    for owner in [OWNER, "thief"] {
        let refused = sandbox.recreate(owner, id, ContainerSpec::default()).await;
        assert_eq!(refused.unwrap_err().code(), "container-exists");
    }
    sandbox.destroy(OWNER, id).await.unwrap();
    let again = || sandbox.recreate(OWNER, id, ContainerSpec::default());
    let (first, second) = tokio::join!(again(), again());
    let refused = [first, second].into_iter().filter_map(Result::err);
    let refused: Vec<_> = refused.map(|error| error.code()).collect();
    assert_eq!(refused, ["container-exists"]);
    assert_eq!(one.bash("ls").await.stdout.text, "");
    restore(&one, &snapshot, &contents).await;
    assert_eq!(one.bash("cat a; rm a").await.stdout.text, "one\n");
    for id in [
        "container_",
        "container_../x",
        "x",
        "",
        id.trim_end_matches(char::is_alphanumeric),
    ] {
        let refused = sandbox.recreate(OWNER, id, ContainerSpec::default()).await;
        assert_eq!(refused.unwrap_err().code(), "bad-name", "{id}");
    }
}

#[tokio::test]
async fn a_container_that_has_expired_is_created_again_with_its_id() {
    let one = TestSandbox::open(|_| {}).await;
    one.bash("echo one > a").await;
    let expiring = TestSandbox::open_in_expiring(Arc::clone(&one.folder), 0, 600).await;
    let spec = ContainerSpec::default();
    expiring
        .recreate(OWNER, &one.container, spec)
        .await
        .unwrap();
    assert_eq!(one.bash("ls").await.stdout.text, "");
}

#[tokio::test]
async fn whether_a_container_has_a_network_is_known() {
    let one = TestSandbox::open(|_| {}).await;
    let policy = Policy {
        network: Network::Allow(vec!["example.com".parse().unwrap()]),
        ..Policy::default()
    };
    let other = one.sandbox.create(OWNER, policy.into()).await.unwrap();
    let allowed = one.sandbox.network_allowed(OWNER, &other).await;
    assert!(allowed.unwrap());
    let allowed = one.sandbox.network_allowed(OWNER, &one.container).await;
    assert!(!allowed.unwrap());
}

#[tokio::test]
async fn a_restore_counts_on_the_disk_limit_and_leaves_what_was_there_if_refused() {
    let one = TestSandbox::open(|settings| settings.tenant_disk_bytes = Some(2 << 20)).await;
    one.bash("echo one > a").await;
    let (sandbox, id) = (&one.sandbox, one.container.as_str());
    let big = vec![7; 3 << 20];
    let entry = SnapshotEntry {
        path: "big".to_owned(),
        content: SnapshotContent::File(prowess_skill::Digest::from_content(&big)),
        size: big.len() as u64,
        mode: 0o644,
    };
    let open = move |_: &SnapshotEntry| -> io::Result<ContentReader> {
        Ok(Box::new(io::Cursor::new(big.clone())))
    };
    let refused = sandbox.restore(OWNER, id, vec![entry], open).await;
    assert_eq!(refused.unwrap_err().code(), "disk-full");
    assert_eq!(one.bash("ls; cat a").await.stdout.text, "a\none\n");
}

#[tokio::test]
async fn a_command_that_wrote_nothing_left_the_files_as_they_were() {
    let one = TestSandbox::open(|_| {}).await;
    one.bash("echo a > a; ln -s a link; mkdir folder").await;
    let snapshot = || one.sandbox.snapshot(OWNER, &one.container, None);
    for line in ["true", "cat a link", "echo out > /tmp/elsewhere", "exit 3"] {
        let before = snapshot().await.unwrap().digest();
        assert!(one.bash(line).await.files_unchanged, "{line}");
        assert_eq!(snapshot().await.unwrap().digest(), before, "{line}");
    }
    let writing = [
        "echo b > b",
        "echo c > a",
        "chmod 700 a",
        "rm link",
        "mv b folder",
        "rm -r folder",
        "mkdir -p x/y",
    ];
    for line in writing {
        let before = snapshot().await.unwrap().digest();
        assert!(!one.bash(line).await.files_unchanged, "{line}");
        assert_ne!(snapshot().await.unwrap().digest(), before, "{line}");
    }
}

#[tokio::test]
async fn a_command_is_run_with_a_snapshot_of_what_it_has_left() {
    let one = TestSandbox::open(|_| {}).await;
    one.bash("echo a > a").await;
    let snapshot = || one.sandbox.snapshot(OWNER, &one.container, None);
    let before = Arc::new(snapshot().await.unwrap());
    let run = |line: &str| {
        let execution = Execution {
            command: Command::Bash(line.to_owned()),
            ..Execution::default()
        };
        let (id, before) = (&one.container, Arc::clone(&before));
        one.sandbox.exec_and_snapshot(OWNER, id, execution, before)
    };
    let (report, after) = run("cat a").await.unwrap();
    assert_eq!(report.stdout.text, "a\n");
    assert!(after.is_none());
    // Also if it fails.
    let (report, after) = run("echo b > b; rm a; exit 3").await.unwrap();
    assert_eq!(report.outcome, CommandOutcome::Exit(3));
    let after = after.unwrap();
    // With what was read for it, so that nobody need read it again.
    let content = after.contents.get(&Digest::from_content(b"b\n"));
    assert_eq!(content.map(|content| &content[..]), Some(&b"b\n"[..]));
    let after = after.snapshot.unwrap();
    assert_eq!(after.digest(), snapshot().await.unwrap().digest());
    let changes = after.changes_since(Some(&*before));
    let changed = changes.changed.iter().map(|entry| entry.path.as_str());
    assert_eq!(changed.collect::<Vec<_>>(), ["b"]);
    assert_eq!(changes.removed, ["a"]);
    // Large contents, and more than a bounded number of small ones, are left out.
    let line = "head -c 70000 /dev/zero > large; for i in {1..1100}; do echo $i > small-$i; done";
    let after = run(line).await.unwrap().1.unwrap();
    let bytes = after.contents.values().map(|content| content.len());
    assert!(bytes.max().is_some_and(|most| most < 70_000));
    assert!(after.contents.len() <= 1_024, "{}", after.contents.len());
    assert!(after.snapshot.unwrap().entries().count() > 1_100);
}

#[tokio::test]
async fn what_has_changed_since_a_known_snapshot_is_restored_all_the_same() {
    let one = TestSandbox::open(|_| {}).await;
    one.bash("echo one > a; echo two > b").await;
    let known = one.sandbox.snapshot(OWNER, &one.container, None).await;
    let known = Arc::new(known.unwrap());
    let contents = contents(&one, &known).await;
    // Of the same length, and one that is gone.
    one.bash("echo eno > a; rm b; echo new > c").await;
    let open = move |entry: &SnapshotEntry| -> io::Result<ContentReader> {
        let SnapshotContent::File(digest) = &entry.content else {
            panic!("{entry:?}")
        };
        let content = contents[&digest.to_string()].clone();
        Ok(Box::new(io::Cursor::new(content)))
    };
    let entries = known.entries().cloned().collect();
    let earlier = Some(Arc::clone(&known));
    let restored = one
        .sandbox
        .restore_known(OWNER, &one.container, earlier, entries, open)
        .await;
    assert_eq!(restored.unwrap().digest(), known.digest());
    let seen = one.bash("ls; cat a b").await.stdout.text;
    assert_eq!(seen, "a\nb\none\ntwo\n");
}
