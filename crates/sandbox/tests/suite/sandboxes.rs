//! The same behaviour through the interface that users of containers know.

use crate::support::{OWNER, TestSandbox};
use prowess_sandbox::{
    Command, CommandId, CommandOutcome, ContainerSpec, ContentReader, Execution, Grade, Layer,
    Policy, Requirements, SharedSandboxes, SkillFile, SkillFiles, Snapshot, SnapshotContent,
    SnapshotEntry,
};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

async fn open() -> (SharedSandboxes, Arc<TempDir>) {
    let one = TestSandbox::open(|_| {}).await;
    (one.sandbox.clone().into(), Arc::clone(&one.folder))
}

fn skill(name: &str) -> SkillFiles {
    SkillFiles {
        name: name.to_owned(),
        digest: format!("digest-of-{name}"),
        files: vec![SkillFile {
            path: "SKILL.md".to_owned(),
            bytes: format!("# {name}").into_bytes().into(),
            executable: false,
        }],
    }
}

async fn bash(shared: &SharedSandboxes, id: &str, line: &str) -> String {
    let execution = Execution {
        command: Command::Bash(line.to_owned()),
        // Where commands are not sent to other hosts, these change nothing.
        id: Some(CommandId::from_parts(["run_1", "2", "call_3", "0"])),
        run: Some("run_1".to_owned()),
        ..Execution::default()
    };
    let report = shared.exec(OWNER, id, execution).await.unwrap();
    assert_eq!(report.outcome, CommandOutcome::Exit(0), "{report:?}");
    report.stdout.text
}

async fn read(shared: &SharedSandboxes, id: &str, path: &str) -> Vec<u8> {
    let file = shared.get(OWNER, id, path).await.unwrap();
    let size = file.size;
    let bytes = file.read_up_to(u64::MAX).await.unwrap();
    assert_eq!(bytes.len() as u64, size);
    bytes
}

#[tokio::test]
async fn a_container_is_created_used_and_removed() {
    let (shared, _folder) = open().await;
    let spec = ContainerSpec {
        skills: vec![skill("pdf")],
        ..ContainerSpec::default()
    };
    let id = &shared.create(OWNER, spec).await.unwrap();
    shared
        .put(OWNER, id, "in/a.txt", b"a".to_vec())
        .await
        .unwrap();
    let text = bash(
        &shared,
        id,
        "cat in/a.txt /skills/pdf/SKILL.md; seq 100000 > out",
    )
    .await;
    assert_eq!(text, "a# pdf");
    assert_eq!(read(&shared, id, "in/a.txt").await, b"a");
    // Longer than one part of the stream.
    assert_eq!(read(&shared, id, "out").await.len(), 588_895);
    shared.mount(OWNER, id, vec![skill("xlsx")]).await.unwrap();
    assert_eq!(
        bash(&shared, id, "cat /skills/xlsx/SKILL.md").await,
        "# xlsx"
    );
    let files = shared.list(OWNER, id).await.unwrap();
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["in/a.txt", "out"]);
    shared.unlink(OWNER, id, "out").await.unwrap();
    let gone = shared.get(OWNER, id, "out").await.unwrap_err();
    assert_eq!(gone.code(), "file-not-found");
    assert_eq!(shared.statistics().commands[0], ("exited", 2));
    assert_eq!(*shared.running_commands().borrow(), 0);

    let about = shared.container(OWNER, id).await.unwrap();
    let expiry = shared.expiry(OWNER, id).await.unwrap();
    assert_eq!(about.owner, OWNER);
    assert!(expiry > about.used);
    assert!(!shared.network_allowed(OWNER, id).await.unwrap());
    let listed = shared.containers_of_owner(OWNER).await.unwrap();
    assert!(listed.iter().any(|one| one.id == *id));
    assert_eq!(shared.expire().await.unwrap(), 0);
    let refused = shared.container("thief", id).await.unwrap_err();
    assert_eq!(refused.code(), "container-not-found");
    shared.destroy(OWNER, id).await.unwrap();
    let refused = shared.list(OWNER, id).await.unwrap_err();
    assert_eq!(refused.code(), "container-not-found");
    shared
        .recreate(OWNER, id, Policy::default().into())
        .await
        .unwrap();
    assert_eq!(bash(&shared, id, "ls").await, "");
}

#[tokio::test]
async fn a_temporary_container_is_used_like_any_other_and_nobody_loses_one_for_it() {
    // A further container of the tenant would take the place of its first.
    let one = TestSandbox::open(|settings| {
        settings.containers_per_tenant = 1;
        settings.evict_idle = Duration::ZERO;
    });
    let one = one.await;
    let shared: SharedSandboxes = one.sandbox.clone().into();
    let id = &shared
        .create_temporary(OWNER, Policy::default())
        .await
        .unwrap();
    shared.put(OWNER, id, "in", b"a".to_vec()).await.unwrap();
    assert_eq!(bash(&shared, id, "cat in; echo b > out").await, "a");
    assert_eq!(read(&shared, id, "out").await, b"b\n");
    let listed = shared.containers_of_owner(OWNER).await.unwrap();
    let listed: Vec<_> = listed.into_iter().map(|container| container.id).collect();
    assert_eq!(listed, [one.container.as_str()]);
    assert_eq!(one.sandbox.containers().len(), 2);
    let refused = shared.list("thief", id).await.unwrap_err();
    assert_eq!(refused.code(), "container-not-found");
    shared.destroy(OWNER, id).await.unwrap();
    let gone = shared.list(OWNER, id).await.unwrap_err();
    assert_eq!(gone.code(), "container-not-found");
    assert_eq!(one.sandbox.containers().len(), 1);
}

#[tokio::test]
async fn records_of_uploads_and_the_setup_are_the_same() {
    let (shared, _folder) = open().await;
    let new = || shared.create(OWNER, ContainerSpec::default());
    let (one, other) = (&new().await.unwrap(), &new().await.unwrap());
    let uploaded = shared.upload(OWNER, one, "file_1", "a.csv", b"1".to_vec());
    uploaded.await.unwrap();
    assert!(
        shared
            .has_upload(OWNER, one, "file_1", "a.csv")
            .await
            .unwrap()
    );
    assert!(
        !shared
            .has_upload(OWNER, one, "file_2", "a.csv")
            .await
            .unwrap()
    );
    shared.copy_uploads(OWNER, one, other).await.unwrap();
    let more = vec![("file_2".to_owned(), "b.csv".to_owned())];
    shared.add_upload_records(OWNER, other, more).await.unwrap();
    let setup = shared.container_setup(OWNER, other).await.unwrap();
    assert_eq!(setup.policy, Policy::default());
    let sources: Vec<_> = setup
        .uploads
        .iter()
        .map(|(source, _)| source.as_str())
        .collect();
    assert_eq!(sources, ["file_1", "file_2"]);
}

#[tokio::test]
async fn files_move_to_another_container_by_snapshot_and_streams() {
    let (shared, _folder) = open().await;
    let new = || shared.create(OWNER, ContainerSpec::default());
    let (from, to) = (&new().await.unwrap(), &new().await.unwrap());
    let made = "mkdir -p a/b; echo one > a/b/c; echo two > 'ü \\ x'; chmod 750 a; ln -s c a/b/l";
    bash(&shared, from, made).await;
    bash(&shared, to, "echo other > other").await;
    let snapshot = Arc::new(shared.snapshot(OWNER, from, None).await.unwrap());
    let files = snapshot.entries().filter_map(|entry| match entry.content {
        SnapshotContent::File(digest) => Some((digest, entry.path.clone())),
        _ => None,
    });
    let (digests, paths): (Vec<_>, Vec<_>) = files.unzip();
    let opened = shared.open_files(OWNER, from, paths).await.unwrap();
    let mut contents = BTreeMap::new();
    for (digest, file) in digests.into_iter().zip(opened) {
        contents.insert(digest, file.read_up_to(u64::MAX).await.unwrap());
    }
    let open = move |entry: &SnapshotEntry| -> io::Result<ContentReader> {
        let SnapshotContent::File(digest) = &entry.content else {
            panic!("{entry:?}")
        };
        Ok(Box::new(io::Cursor::new(contents[digest].clone())))
    };
    let entries: Vec<_> = snapshot.entries().cloned().collect();
    let restored = shared.restore(OWNER, to, entries, Box::new(open));
    let restored = restored.await.unwrap();
    assert!(restored.changes_since(Some(&snapshot)).is_empty());
    // The copy is another file on the disk, and has the same digest.
    assert_eq!(restored.digest(), snapshot.digest());
    let list = "find . -mindepth 1 -printf '%P %y %m %l\\n' | sort";
    assert_eq!(
        bash(&shared, to, list).await,
        bash(&shared, from, list).await
    );
    bash(&shared, to, "chmod 700 a").await;
    let seen = shared.snapshot(OWNER, to, None).await.unwrap();
    assert_ne!(seen.digest(), snapshot.digest());
}

#[tokio::test]
async fn changes_on_this_host_are_kept_whoever_commits_them() {
    let (shared, _folder) = open().await;
    let id = &shared
        .create(OWNER, ContainerSpec::default())
        .await
        .unwrap();
    let guard = shared.defer_changes(OWNER, id);
    bash(&shared, id, "echo one > a").await;
    let files = Arc::new(shared.snapshot(OWNER, id, None).await.unwrap());
    shared.changes_committed(OWNER, id, 1, &files);
    bash(&shared, id, "echo two > b").await;
    drop(guard);
    assert_eq!(bash(&shared, id, "cat a b").await, "one\ntwo\n");
}

#[tokio::test]
async fn the_isolation_is_that_of_this_host() {
    let (shared, _folder) = open().await;
    let probe = shared.host_probe().unwrap();
    assert_eq!(shared.grade(), probe.grade);
    assert!(!matches!(probe.grade, Grade::Refused { .. }));
    shared.warm_up(&Policy::default());
}

#[tokio::test]
async fn a_layer_of_other_hosts_is_no_folder_of_this_one() {
    let (shared, _folder) = open().await;
    let requirements = Requirements::parse("six==1.17.0").unwrap();
    let refused = shared.layer(OWNER, &requirements).await.unwrap_err();
    assert_eq!(refused.code(), "layer");
    let layer = Layer::remote(requirements.clone(), Some("no npm".to_owned()));
    assert_eq!(layer.requirements(), Some(&requirements));
    assert_eq!(layer.remark(), Some("no npm"));
    let spec = ContainerSpec {
        layer: Some(layer),
        ..ContainerSpec::default()
    };
    let id = shared.create(OWNER, spec).await.unwrap();
    let execution = Execution {
        command: Command::Bash("true".to_owned()),
        ..Execution::default()
    };
    let refused = shared.exec(OWNER, &id, execution).await.unwrap_err();
    assert_eq!(refused.code(), "layer-gone");
}

#[tokio::test]
async fn an_empty_snapshot_has_the_digest_of_no_files() {
    let (shared, _folder) = open().await;
    let id = &shared
        .create(OWNER, ContainerSpec::default())
        .await
        .unwrap();
    let seen = shared.snapshot(OWNER, id, None).await.unwrap();
    assert_eq!(seen.digest(), Snapshot::default().digest());
}
