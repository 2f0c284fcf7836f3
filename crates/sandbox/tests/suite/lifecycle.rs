//! Nothing is left behind: not by many executions, not by many at once, and not by a
//! server that is killed in the middle of one.

use crate::support::{TestHost, TestSandbox, everyone};
use prowess_sandbox::{Command, Execution};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Everything of the host that an execution could leave behind.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    descriptors: usize,
    launchers: BTreeSet<u32>,
    mounts: usize,
    groups: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
}

impl Traces {
    fn read(folder: &Path) -> Self {
        let mut files = BTreeSet::new();
        walk(&folder.join("state"), &mut files);
        Self {
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            launchers: running_children(),
            mounts: fs::read_to_string("/proc/self/mountinfo")
                .unwrap()
                .lines()
                .count(),
            groups: groups(std::process::id()),
            files,
        }
    }
}

fn walk(folder: &Path, into: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), into);
        }
        into.insert(entry.path());
    }
}

/// Child processes of this one, without zombies.
fn running_children() -> BTreeSet<u32> {
    let all = children(std::process::id());
    all.into_iter().filter(|pid| is_running(*pid)).collect()
}

/// Processes descended from `pid`, of whatever name.
fn children(pid: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in text.split_whitespace().filter_map(|text| text.parse().ok()) {
            found.insert(child);
            found.extend(children(child));
        }
    }
    found
}

/// Control groups that a process with this id has created.
fn groups(pid: u32) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for controller in ["memory", "pids", "cpu", "."] {
        walk(&Path::new("/sys/fs/cgroup").join(controller), &mut all);
    }
    let prefix = format!("prowess-{pid}-");
    let ours = |path: &PathBuf| {
        path.is_dir()
            && path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    all.into_iter().filter(ours).collect()
}

/// Waits until the container is released: its time of last use is saved after a command's
/// report is returned.
async fn settle(one: &TestSandbox) {
    let files = one
        .sandbox
        .list(crate::support::OWNER, &one.container)
        .await;
    files.unwrap();
}

#[tokio::test]
async fn two_hundred_executions_leave_nothing() {
    let one = TestSandbox::open(|_| {}).await;
    // The first creates the slot that the others reuse.
    one.bash("true").await;
    settle(&one).await;
    let before = Traces::read(one.folder.path());
    for _ in 0..200 {
        one.bash("(sleep 100 &) ; echo x > /tmp/x").await;
    }
    settle(&one).await;
    // Mounts are released in the background, also those of the first.
    let mut after = Traces::read(one.folder.path());
    for _ in 0..10_000 {
        if after.descriptors <= before.descriptors {
            break;
        }
        tokio::task::yield_now().await;
        after = Traces::read(one.folder.path());
    }
    assert!(after.descriptors <= before.descriptors, "{after:?}");
    after.descriptors = before.descriptors;
    assert_eq!(after, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_at_once_all_end_and_leave_only_their_slots() {
    let one = Arc::new(TestSandbox::open(|settings| settings.running = 64).await);
    let tasks: Vec<_> = (0..64)
        .map(|n| {
            let one = Arc::clone(&one);
            tokio::spawn(async move {
                let other = one.another().await;
                let report = other.bash(&format!("echo {n} > n; cat n")).await;
                other
                    .sandbox
                    .destroy(crate::support::OWNER, &other.container)
                    .await
                    .unwrap();
                report.stdout.text
            })
        })
        .collect();
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), format!("{n}\n"));
    }
    assert_eq!(one.sandbox.load(), (0, 0));
    let brokers = running_children();
    assert!(brokers.len() <= 64, "only brokers wait: {brokers:?}");
    let one = Arc::into_inner(one).unwrap();
    drop(one.sandbox);
    assert_eq!(children(std::process::id()), BTreeSet::new());
    assert_eq!(groups(std::process::id()), BTreeSet::new());
}

#[test]
fn a_server_killed_in_mid_run_leaves_nothing_running_and_its_containers_usable() {
    for who in everyone() {
        let host = TestHost::new(who);
        let kept = host.ask(json!({ "keep": true, "put": [["a", "kept"]], "runs": [] }));
        let marker = host.state().join("state/sessions");
        let mut server = host.start(json!({ "session": kept["session"], "runs": [
            { "command": { "bash": "echo lost > b; (setsid sleep 700 &); sleep 700" } },
        ] }));
        // Wait for the innermost process: server, broker, init, bash, two sleeps.
        let pid = server.id();
        let sleeping = || children(pid).iter().filter(|pid| is_sleep(**pid)).count();
        while sleeping() < 2 {
            std::thread::yield_now();
        }
        let family = children(pid);
        server.kill().unwrap();
        server.wait().unwrap();
        // The kernel kills them one after the other.
        for pid in family {
            while is_running(pid) {
                std::thread::yield_now();
            }
        }
        assert!(marker.is_dir());
        let after = host.ask(json!({ "session": kept["session"], "runs": [
            { "command": { "bash": "cat a; ls" } },
        ] }));
        assert_eq!(
            after["reports"][0]["stdout"]["text"],
            json!("kepta\n"),
            "{who:?} {after}"
        );
        assert_eq!(groups(pid), BTreeSet::new(), "the next server sweeps");
    }
}

fn is_sleep(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sleep")
}

/// Whether a process runs; a zombie does not.
fn is_running(pid: u32) -> bool {
    let mut text = String::new();
    let Ok(mut file) = fs::File::open(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let _ = file.read_to_string(&mut text);
    let state = text
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| state != "Z" && state != "X")
}

#[tokio::test]
async fn a_launcher_that_is_killed_fails_its_run_and_the_next_one_works() {
    let one = TestSandbox::open(|_| {}).await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let execution = Execution {
        command: Command::Bash("echo started; sleep 600".into()),
        stream: Some(sender),
        ..Execution::default()
    };
    let run = one.exec(execution);
    tokio::pin!(run);
    tokio::select! {
        _ = receiver.recv() => {}
        report = &mut run => unreachable!("{report:?}"),
    }
    for broker in fs::read_dir("/proc/self/task")
        .unwrap()
        .flatten()
        .flat_map(|task| {
            let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            text.split_whitespace()
                .map(|pid| pid.parse::<i32>().unwrap())
                .collect::<Vec<_>>()
        })
    {
        let pid = rustix::process::Pid::from_raw(broker).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    let report = run.await.unwrap();
    assert_eq!(report.outcome, prowess_sandbox::CommandOutcome::Signal(9));
    assert_eq!(one.bash("echo again").await.stdout.text, "again\n");
}
