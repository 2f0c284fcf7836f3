//! Attacks on a container's folder: filling it uncounted, hiding in it, and leading the
//! server out of it.

use crate::support::{OWNER, TestHost, TestSandbox, everyone, stdout};
use prowess_sandbox::{
    Command, CommandOutcome, ContainerSpec, Error, Execution, ExecutionReport, LimitHit, Policy,
    Sandbox, SandboxLimits, SkipReason,
};
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

/// A container with these limits, and what runs lines of bash in it.
struct Target {
    one: TestSandbox,
    id: String,
}

impl Target {
    async fn new(limits: SandboxLimits) -> Self {
        let one = TestSandbox::open(|_| {}).await;
        let policy = Policy {
            limits,
            ..Policy::default()
        };
        let id = one.sandbox.create(OWNER, policy.into()).await.unwrap();
        Self { one, id }
    }

    fn sandbox(&self) -> &Sandbox {
        &self.one.sandbox
    }

    async fn try_bash(&self, line: &str) -> Result<ExecutionReport, Error> {
        let execution = Execution {
            command: Command::Bash(line.into()),
            ..Execution::default()
        };
        self.sandbox().exec(OWNER, &self.id, execution).await
    }

    async fn bash(&self, line: &str) -> ExecutionReport {
        self.try_bash(line).await.unwrap()
    }

    /// Its folder on the host.
    fn folder(&self) -> PathBuf {
        let containers = self.one.folder.path().join("state/sessions");
        containers.join(&self.id)
    }

    async fn content(&self, path: &str) -> String {
        let mut text = String::new();
        let file = self.sandbox().get(OWNER, &self.id, path).await;
        file.unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

fn is_over(report: &ExecutionReport) -> bool {
    let quota = |one: &prowess_sandbox::SkippedFile| one.reason == SkipReason::Quota;
    report.hits.contains(&LimitHit::Data) && report.skipped.iter().any(quota)
}

#[test]
fn files_of_many_commands_together_are_bounded() {
    for who in everyone() {
        let host = TestHost::new(who);
        let fill = |name: &str| json!({ "command": { "bash": format!("mkdir {name}; touch {name}/{{1..39}}") } });
        let answer = host.ask(json!({
            "limits": { "session_entries": 100, "data_files": 60 },
            "runs": [
                fill("a"), fill("b"), fill("c"), fill("d"),
                { "command": { "bash": "find . -mindepth 1 | wc -l" } },
                { "command": { "bash": "rm -r a b; echo $?" } },
                fill("e"),
                { "command": { "bash": "find . -mindepth 1 | wc -l; ls e | wc -l" } },
            ],
        }));
        let reports = answer["reports"].as_array().unwrap();
        let hits = |place: usize| reports[place]["hits"].clone();
        assert_eq!(hits(1), json!([]), "{who:?}");
        assert_eq!(
            hits(2),
            json!(["data"]),
            "{who:?}: told where it does not fit"
        );
        assert_eq!(hits(3), json!(["data"]), "{who:?}");
        assert_eq!(stdout(&reports[4]), "100\n", "{who:?}");
        assert_eq!(stdout(&reports[5]), "0\n", "{who:?}: removing always works");
        assert_eq!(hits(6), json!([]), "{who:?}: and makes room");
        assert_eq!(stdout(&reports[7]), "60\n39\n", "{who:?}");
    }
}

#[tokio::test]
async fn the_text_of_links_counts_and_is_bounded() {
    let target = Target::new(SandboxLimits {
        data_bytes: 100_000,
        ..SandboxLimits::default()
    })
    .await;
    let line = "t=$(head -c 4000 /dev/zero | tr '\\0' x); for i in {1..100}; do ln -s $t l$i; done";
    let report = target.bash(line).await;
    assert!(is_over(&report), "{:?}", report.hits);
    let known = target.sandbox().container(OWNER, &target.id).await.unwrap();
    assert_eq!(known.bytes, 100_000, "25 links of 4000 bytes");
    let report = target.bash("ls | wc -l; rm l*; echo fine > f").await;
    assert_eq!(report.stdout.text, "25\n");
    assert_eq!(target.content("f").await, "fine\n");
}

#[tokio::test]
async fn folders_and_links_count_like_files_and_what_is_not_kept_does_not() {
    let target = Target::new(SandboxLimits {
        container_entries: 10,
        ..SandboxLimits::default()
    })
    .await;
    let report = target
        .bash("mkdir -p a/b/c; ln -s x l1; ln -s y l2; echo > f; ln f g; mkfifo p q r s t u v")
        .await;
    assert!(!report.hits.contains(&LimitHit::Data), "{report:?}");
    assert_eq!(
        target.bash("find . -mindepth 1 | wc -l").await.stdout.text,
        "7\n"
    );
    let report = target.bash("mkdir -p d/e/f/g/h").await;
    assert!(is_over(&report), "{report:?}");
    let left = target
        .bash("find . -mindepth 1 | wc -l; find d | wc -l")
        .await;
    assert_eq!(left.stdout.text, "10\n3\n");
    // What is there already may change.
    let report = target
        .bash("echo changed > f; rm l1; ln -s z l1; cat f")
        .await;
    assert!(!report.hits.contains(&LimitHit::Data), "{report:?}");
    assert_eq!(target.content("f").await, "changed\n");
}

#[tokio::test]
async fn what_a_command_deletes_frees_space_for_what_it_writes() {
    let target = Target::new(SandboxLimits {
        data_bytes: 1_000_000,
        container_entries: 3,
        ..SandboxLimits::default()
    })
    .await;
    // The names sort, and are listed, either way around.
    for (old, new) in [("z", "a"), ("a", "z")] {
        let fill =
            format!("rm -rf *; head -c 700000 /dev/zero > {old}1; mkdir {old}2; touch {old}3");
        assert!(target.bash(&fill).await.hits.is_empty());
        let replace =
            format!("rm -r {old}*; head -c 700000 /dev/zero > {new}1; touch {new}2 {new}3");
        let report = target.bash(&replace).await;
        assert!(report.hits.is_empty(), "{report:?}");
        let listed = target.sandbox().list(OWNER, &target.id).await.unwrap();
        assert_eq!(listed.len(), 3);
    }
}

#[tokio::test]
async fn a_file_that_is_put_is_held_to_the_same_bounds() {
    let target = Target::new(SandboxLimits {
        container_entries: 4,
        data_bytes: 1000,
        ..SandboxLimits::default()
    })
    .await;
    let put = async |path: &str, size: usize| {
        let put = target
            .sandbox()
            .put(OWNER, &target.id, path, vec![b'x'; size]);
        put.await.map_err(|error| (error.code(), error.to_string()))
    };
    put("a/b/c", 10).await.unwrap();
    put("a/b/c", 900).await.unwrap();
    let (code, text) = put("x/y", 1).await.unwrap_err();
    assert_eq!(code, "over-quota");
    assert!(text.contains("4 files and folders"), "{text}");
    put("z", 100).await.unwrap();
    let (code, text) = put("z", 101).await.unwrap_err();
    assert_eq!(code, "over-quota");
    assert!(text.contains("1000 bytes"), "{text}");
    let deep = "d/".repeat(40) + "f";
    assert_eq!(put(&deep, 1).await.unwrap_err().0, "bad-name");
    assert_eq!(
        target.bash("find . -mindepth 1 | wc -l").await.stdout.text,
        "4\n"
    );
}

#[tokio::test]
async fn deep_folders_and_long_names_are_measured_and_removed() {
    // Files are kept down to the deepest folder, and to the longest path.
    for (name_bytes, kept) in [(20, 31), (200, 5)] {
        let target = Target::new(SandboxLimits::default()).await;
        let program = format!(
            "import os\n\
            for i in range(300):\n    os.mkdir('d' * {name_bytes})\n    os.chdir('d' * {name_bytes})\n    open('f', 'w').close()\n\
            print('made')"
        );
        let execution = Execution {
            command: Command::Python(program),
            ..Execution::default()
        };
        let report = target.sandbox().exec(OWNER, &target.id, execution).await;
        let report = report.unwrap();
        assert_eq!(report.stdout.text, "made\n", "{}", report.stderr.text);
        let mut skipped = report.skipped.iter();
        assert!(skipped.any(|one| one.reason == SkipReason::Depth));
        let listed = target.sandbox().list(OWNER, &target.id).await.unwrap();
        assert_eq!(listed.len(), kept);
        target.sandbox().destroy(OWNER, &target.id).await.unwrap();
        assert!(!target.folder().exists());
    }
}

#[tokio::test]
async fn a_containers_folder_is_open_to_its_own_commands_only() {
    let target = Target::new(SandboxLimits::default()).await;
    target.bash("echo x > f; chmod 777 .").await;
    let mode = |name: &str| {
        let found = fs::symlink_metadata(target.folder().join(name)).unwrap();
        (found.permissions().mode() & 0o777, found.uid(), found.gid())
    };
    let us = rustix::process::getuid().as_raw();
    assert_eq!(mode("meta.json").0, 0o600);
    assert_eq!(mode("lock").0, 0o600);
    let (container, data) = (mode(""), mode("data"));
    assert_eq!(data.0, 0o700);
    if us == 0 {
        assert_eq!((container.0, container.1), (0o710, 0));
        assert!(data.1 >= 1_900_000_000 && container.2 == data.1 && data.2 == data.1);
    } else {
        assert_eq!(container.0, 0o700);
    }
    assert_eq!(target.bash("cat f").await.stdout.text, "x\n");
}

#[tokio::test]
async fn a_container_that_was_open_to_more_is_closed_when_it_is_found() {
    let target = Target::new(SandboxLimits::default()).await;
    target.bash("echo x > f").await;
    let open = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(target.folder(), open(0o711)).unwrap();
    fs::set_permissions(target.folder().join("data"), open(0o755)).unwrap();
    let again = TestSandbox::open_in(target.one.folder.clone(), |_| {}).await;
    let mode = |name: &str| {
        let found = fs::symlink_metadata(target.folder().join(name)).unwrap();
        found.permissions().mode() & 0o007
    };
    assert_eq!((mode(""), mode("data")), (0, 0));
    let execution = Execution {
        command: Command::Bash("cat f".into()),
        ..Execution::default()
    };
    let report = again.sandbox.exec(OWNER, &target.id, execution).await;
    assert_eq!(report.unwrap().stdout.text, "x\n");
}

#[tokio::test]
async fn a_link_in_place_of_a_containers_files_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious.txt");
    fs::write(&precious, "SECRET").unwrap();
    let target = Target::new(SandboxLimits::default()).await;
    target.bash("echo x > f").await;
    let data = target.folder().join("data");
    fs::rename(&data, target.folder().join("kept")).unwrap();
    symlink(outside.path(), &data).unwrap();
    let again = TestSandbox::open_in(target.one.folder.clone(), |_| {}).await;
    for sandbox in [target.sandbox(), &again.sandbox] {
        let id = target.id.as_str();
        let put = sandbox.put(OWNER, id, "precious.txt", b"gone".to_vec());
        let failed = [
            sandbox.list(OWNER, id).await.map(drop).unwrap_err(),
            sandbox
                .get(OWNER, id, "precious.txt")
                .await
                .map(drop)
                .unwrap_err(),
            sandbox.unlink(OWNER, id, "precious.txt").await.unwrap_err(),
            put.await.unwrap_err(),
            target
                .try_bash("cat precious.txt")
                .await
                .map(drop)
                .unwrap_err(),
        ];
        let host = target.one.folder.path().display().to_string();
        for error in failed {
            assert!(!error.to_string().contains(&host), "{error}");
        }
    }
    let mode = fs::metadata(outside.path()).unwrap().permissions().mode();
    target.sandbox().destroy(OWNER, &target.id).await.unwrap();
    assert!(!target.folder().exists());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "SECRET");
    assert_eq!(
        fs::metadata(outside.path()).unwrap().permissions().mode(),
        mode
    );
}

#[tokio::test]
async fn a_link_in_place_of_what_is_known_of_a_container_is_no_container() {
    let target = Target::new(SandboxLimits::default()).await;
    let place = target.folder().join("meta.json");
    let moved = target.one.folder.path().join("moved.json");
    fs::rename(&place, &moved).unwrap();
    symlink(&moved, &place).unwrap();
    let refused = target.try_bash("true").await.unwrap_err();
    assert_eq!(refused.code(), "container-not-found");
}

#[tokio::test]
async fn an_error_that_a_model_reads_has_no_path_of_the_host() {
    let target = Target::new(SandboxLimits::default()).await;
    let (sandbox, id) = (target.sandbox(), target.id.as_str());
    fs::remove_dir_all(target.folder().join("data")).unwrap();
    let host = target.one.folder.path().display().to_string();
    let errors = [
        sandbox.list(OWNER, id).await.map(drop).unwrap_err(),
        sandbox.put(OWNER, id, "f", Vec::new()).await.unwrap_err(),
        target.try_bash("echo > f").await.map(drop).unwrap_err(),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(
            !text.contains(&host) && !text.contains("sessions/"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_upload_wins_over_what_code_left_under_its_name() {
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious.txt");
    fs::write(&precious, "keep").unwrap();
    let target = Target::new(SandboxLimits::default()).await;
    let left = [
        "echo old > data.csv".to_owned(),
        format!("ln -s {} data.csv", precious.display()),
        "ln -s other data.csv; echo other > other".to_owned(),
        "mkdir -p data.csv/deep; echo x > data.csv/deep/y".to_owned(),
        "echo a > b; ln b data.csv; chmod 0 data.csv".to_owned(),
    ];
    for (number, line) in left.iter().enumerate() {
        assert_eq!(
            target.bash(line).await.outcome,
            CommandOutcome::Exit(0),
            "{line}"
        );
        let (sandbox, id, source) = (target.sandbox(), &target.id, format!("file_{number}"));
        let known = async || sandbox.has_upload(OWNER, id, &source, "data.csv").await;
        assert!(!known().await.unwrap(), "{line}");
        let new = format!("new {number}").into_bytes();
        let upload = sandbox.upload(OWNER, id, &source, "data.csv", new);
        upload.await.unwrap();
        assert!(known().await.unwrap(), "{line}");
        let seen = target
            .bash("cat data.csv; test -L data.csv && echo link")
            .await;
        assert_eq!(seen.stdout.text, format!("new {number}"), "{line}");
        // Changes by code are retained, and removed when the code removes the file.
        target.bash("echo edited > data.csv").await;
        assert!(known().await.unwrap(), "{line}");
        target.bash("rm -rf *").await;
        assert!(!known().await.unwrap(), "{line}");
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "keep");
    let full = target
        .sandbox()
        .upload(OWNER, &target.id, "file_x", "big", vec![0; 513 << 20]);
    assert_eq!(full.await.unwrap_err().code(), "over-quota");
}

#[tokio::test]
async fn what_a_crash_left_of_a_container_is_not_one() {
    let target = Target::new(SandboxLimits::default()).await;
    let containers = target.folder().parent().unwrap().to_owned();
    fs::create_dir(containers.join("container_half")).unwrap();
    fs::create_dir(containers.join(".new-half")).unwrap();
    let again = TestSandbox::open_in(target.one.folder.clone(), |_| {}).await;
    let ids: Vec<String> = again
        .sandbox
        .containers()
        .into_iter()
        .map(|one| one.id)
        .collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert!(
        containers.join(".new-half").exists(),
        "another process may be making it"
    );
    let refused = again
        .sandbox
        .list(OWNER, "container_half")
        .await
        .unwrap_err();
    assert_eq!(refused.code(), "container-not-found");
}

/// In a Docker container files are written to the disk itself, and measured from outside.
mod container {
    use super::*;
    use crate::daemon::{Daemon, IMAGE};
    use crate::support::Who;

    fn run(daemon: &Daemon, limits: Value, runs: Value) -> Vec<Value> {
        let host = TestHost::new(Who::Root);
        let answer = host.ask(json!({
            "docker": [daemon.socket(), IMAGE], "allow_reduced": true,
            "limits": limits, "runs": runs,
        }));
        let Some(reports) = answer["reports"].as_array() else {
            panic!("{answer}")
        };
        reports.clone()
    }

    fn python(code: &str) -> Value {
        json!({ "command": { "python": code } })
    }

    #[test]
    fn bounds_hold_whatever_is_made_meanwhile_and_removing_always_works() {
        let Some(daemon) = crate::docker::daemon() else {
            return;
        };
        let limits = json!({ "session_entries": 200, "data_files": 150, "data_bytes": 4 << 20,
            "timeout_ms": 60_000 });
        let wait = "\nimport time\nwhile True: time.sleep(1)";
        // A loop of renames makes names vanish between two reads.
        let renaming = "import os, threading\n\
            def spin():\n    open('a', 'w').close()\n    while True:\n        os.rename('a', 'b'); os.rename('b', 'a')\n\
            threading.Thread(target=spin, daemon=True).start()\n";
        let files = "for i in range(400): open(f'f{i}', 'w').close()";
        let links = "import os\nfor i in range(400): os.symlink('x' * 4000, f'l{i}')";
        let deep = "import os\nfor i in range(2000):\n    os.mkdir('d'); os.chdir('d')";
        let count = "import os; print(sum(len(d) + len(f) for _, d, f in os.walk('.')))";
        let reports = run(
            &daemon,
            limits,
            json!([
                python(&format!("{renaming}{files}{wait}")),
                { "command": { "bash": "rm -rf f* a b; echo $?" } },
                python(count),
                python(&format!("{links}{wait}")),
                python(count),
                { "command": { "bash": "rm -rf l*" } },
                python(&format!("{deep}{wait}")),
                { "command": { "bash": "rm -rf d; echo fine > f; ls" } },
            ]),
        );
        for place in [0, 3, 6] {
            assert_eq!(
                reports[place]["hits"],
                json!(["data"]),
                "{}",
                reports[place]
            );
            assert_eq!(reports[place]["outcome"], json!({ "signal": 9 }));
        }
        assert_eq!((stdout(&reports[1]), stdout(&reports[2])), ("0\n", "0\n"));
        let kept: usize = stdout(&reports[4]).trim().parse().unwrap();
        assert!(kept <= 200, "{kept}");
        assert_eq!(stdout(&reports[7]), "f\n");
    }
}

#[tokio::test]
async fn a_container_with_many_waiting_refuses_the_next_one() {
    let one = TestSandbox::open(|_| {}).await;
    let new = one.sandbox.create(OWNER, ContainerSpec::default()).await;
    let id = new.unwrap();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let long = Execution {
        command: Command::Bash("echo started; sleep 600".into()),
        stream: Some(sender),
        ..Execution::default()
    };
    let run = one.sandbox.exec(OWNER, &id, long);
    tokio::pin!(run);
    tokio::select! {
        _ = receiver.recv() => {}
        report = &mut run => unreachable!("{report:?}"),
    }
    let mut waiting: Vec<_> = (0..256)
        .map(|_| Box::pin(one.sandbox.list(OWNER, &id)))
        .collect();
    for one in &mut waiting {
        let polled = std::future::poll_fn(|context| {
            std::task::Poll::Ready(one.as_mut().poll(context).is_pending())
        });
        assert!(polled.await);
    }
    let refused = one.sandbox.list(OWNER, &id).await.unwrap_err();
    assert_eq!(refused.code(), "container-queue-full");
    waiting.clear();
    let mut again = Box::pin(one.sandbox.list(OWNER, &id));
    let waits = std::future::poll_fn(|context| {
        std::task::Poll::Ready(again.as_mut().poll(context).is_pending())
    });
    assert!(waits.await, "those who leave make place");
}

#[test]
fn files_that_show_as_others_or_that_nobody_could_name_are_not_stored() {
    let program = "import os
os.chdir('/mnt/data')
for name in ('\\u202efdp.exe', 'a\\u2066b', 'c\\u2028d', 'e\\u200bf', 'fine \\u05e9.txt'):
    open(name, 'w').write('x')
for _ in range(5):
    os.mkdir('d' * 250)
    os.chdir('d' * 250)
open('f', 'w').write('x')";
    for who in everyone() {
        let runs = json!([{ "command": { "python": program } }, { "command": { "bash": "find . -type f" } }]);
        let reports = TestHost::new(who).run(json!({ "runs": runs }));
        let outputs = reports[0]["outputs"].as_array().unwrap();
        let paths: Vec<&Value> = outputs.iter().map(|one| &one["path"]).collect();
        assert_eq!(paths, [&json!("fine \u{5e9}.txt")], "{who:?}");
        let skipped = reports[0]["skipped"].as_array().unwrap();
        let mut reasons: Vec<_> = skipped.iter().map(|one| one["reason"].as_str()).collect();
        reasons.sort();
        let expected = ["depth", "name", "name", "name", "name"].map(Some);
        assert_eq!(reasons, expected, "{who:?}");
        assert_eq!(stdout(&reports[1]), "./fine \u{5e9}.txt\n", "{who:?}");
    }
}
