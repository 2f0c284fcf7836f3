//! Containers: ownership, lifetime, and what survives a restart.

use crate::support::{OWNER, TestHost, TestSandbox, everyone, stdout};
use prowess_sandbox::{Command, CommandOutcome, ContainerSpec, Execution, SkillFile, SkillFiles};
use serde_json::json;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_container_survives_a_restart_of_the_server() {
    for who in everyone() {
        let host = TestHost::new(who);
        let first = host.ask(json!({
            "keep": true,
            "limits": { "processes": 7 },
            "skills": [["pdf", [["SKILL.md", "# pdf", false]]]],
            "put": [["in.txt", "put"]],
            "runs": [{ "command": { "bash": "echo made > out.txt" } }],
        }));
        let second = host.ask(json!({
            "session": first["session"],
            "runs": [{ "command": { "bash": "cat in.txt out.txt /skills/pdf/SKILL.md; ulimit -u" } }],
        }));
        assert_eq!(
            stdout(&second["reports"][0]),
            "putmade\n# pdf7\n",
            "{who:?}"
        );
    }
}

#[tokio::test]
async fn a_container_is_no_one_elses() {
    let one = TestSandbox::open(|_| {}).await;
    let execution = || Execution {
        command: Command::Bash("true".into()),
        ..Execution::default()
    };
    let (sandbox, id) = (&one.sandbox, &one.container);
    assert_eq!(
        sandbox
            .exec("thief", id, execution())
            .await
            .unwrap_err()
            .code(),
        "container-not-found"
    );
    assert_eq!(
        sandbox.list("thief", id).await.unwrap_err().code(),
        "container-not-found"
    );
    assert_eq!(
        sandbox.get("thief", id, "x").await.unwrap_err().code(),
        "container-not-found"
    );
    assert_eq!(
        sandbox.destroy("thief", id).await.unwrap_err().code(),
        "container-not-found"
    );
    for id in ["", "..", "container_nope", "../sessions", "a/b"] {
        assert_eq!(
            sandbox.list(OWNER, id).await.unwrap_err().code(),
            "container-not-found",
            "{id}"
        );
    }
}

#[tokio::test]
async fn what_is_removed_is_a_file_of_the_container_and_nothing_a_link_leads_to() {
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious.txt");
    std::fs::write(&precious, "keep").unwrap();
    let one = TestSandbox::open(|_| {}).await;
    let (sandbox, id) = (&one.sandbox, one.container.as_str());
    let folder = outside.path().display();
    let report = one
        .bash(&format!(
            "mkdir deep; echo x > deep/real.txt; ln -s deep/real.txt alias; ln -s deep around; \
             ln -s {folder}/precious.txt file; ln -s {folder} folder; ln -s / root; \
             ln -s ../../../../../../../..{folder} above"
        ))
        .await;
    assert_eq!(
        report.outcome,
        CommandOutcome::Exit(0),
        "{}",
        report.stderr.text
    );
    let hostile = [
        "alias",
        "around/real.txt",
        "file",
        "folder/precious.txt",
        "folder",
        "above/precious.txt",
        "root",
        "root/etc/passwd",
        "deep",
        "deep/../alias",
        "../meta.json",
        "/etc/passwd",
        "",
    ];
    for path in hostile {
        let refused = sandbox.unlink(OWNER, id, path).await.unwrap_err();
        let code = refused.code();
        assert!(
            matches!(code, "file-not-found" | "bad-name"),
            "{path}: {refused}"
        );
    }
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "keep");
    let left = one.bash("cat deep/real.txt; ls").await.stdout.text;
    assert_eq!(left, "x\nabove\nalias\naround\ndeep\nfile\nfolder\nroot\n");
    sandbox.unlink(OWNER, id, "deep/real.txt").await.unwrap();
    assert_eq!(one.bash("ls deep").await.stdout.text, "");
}

#[tokio::test]
async fn files_go_in_and_come_out_and_links_are_not_followed() {
    let one = TestSandbox::open(|_| {}).await;
    let (sandbox, id) = (&one.sandbox, one.container.as_str());
    sandbox
        .put(OWNER, id, "deep/er/in.txt", b"hello".to_vec())
        .await
        .unwrap();
    let report = one
        .bash("tr a-z A-Z < deep/er/in.txt > out.txt; ln -s /etc/passwd link; ln -s / dir; rm deep/er/in.txt")
        .await;
    assert_eq!(report.outcome, CommandOutcome::Exit(0));
    let mut text = String::new();
    sandbox
        .get(OWNER, id, "out.txt")
        .await
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "HELLO");
    let listed = sandbox.list(OWNER, id).await.unwrap();
    assert_eq!(
        listed
            .iter()
            .map(|file| file.path.as_str())
            .collect::<Vec<_>>(),
        ["out.txt"]
    );
    for path in ["link", "dir/etc/passwd", "deep", "deep/er/in.txt"] {
        assert_eq!(
            sandbox.get(OWNER, id, path).await.unwrap_err().code(),
            "file-not-found",
            "{path}"
        );
    }
    for path in ["../x", "/etc/passwd", "a/../../b", ""] {
        assert_eq!(
            sandbox.get(OWNER, id, path).await.unwrap_err().code(),
            "bad-name",
            "{path}"
        );
        let put = sandbox.put(OWNER, id, path, Vec::new()).await;
        assert_eq!(put.unwrap_err().code(), "bad-name", "{path}");
    }
    // Writing to a name that is a link replaces the link.
    sandbox
        .put(OWNER, id, "dir/x", b"x".to_vec())
        .await
        .unwrap();
    assert_eq!(
        one.bash("cat dir/x; test -L dir || echo folder")
            .await
            .stdout
            .text,
        "xfolder\n"
    );
    let too_large = sandbox.put(OWNER, id, "big", vec![0; 513 << 20]).await;
    assert_eq!(too_large.unwrap_err().code(), "over-quota");
}

#[tokio::test]
async fn two_containers_see_nothing_of_each_other_while_both_run() {
    let one = TestSandbox::open(|_| {}).await;
    let other = one.another().await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let secret = Execution {
        command: Command::Bash(
            "echo secret > mine; echo secret > /tmp/mine; echo ready; sleep 600".into(),
        ),
        stream: Some(sender),
        ..Execution::default()
    };
    let run = one.exec(secret);
    tokio::pin!(run);
    tokio::select! {
        _ = receiver.recv() => {}
        report = &mut run => unreachable!("{report:?}"),
    }
    let look = "ls -A /mnt/data /tmp /.state /.layer; grep -l '[s]ecret' /proc/[0-9]*/cmdline; set -- /proc/[0-9]*; echo $#";
    let report = other.bash(look).await;
    assert_eq!(
        report.stdout.text,
        "/.layer:\n\n/.state:\n\n/mnt/data:\n\n/tmp:\n1\n"
    );
}

#[tokio::test]
async fn commands_in_one_container_run_one_after_the_other() {
    let one = Arc::new(TestSandbox::open(|_| {}).await);
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let one = Arc::clone(&one);
            tokio::spawn(async move {
                one.bash("n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n")
                    .await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(one.bash("cat n").await.stdout.text, "8\n");
}

#[tokio::test]
async fn a_container_held_by_another_process_is_busy() {
    let one = TestSandbox::open(|_| {}).await;
    let other = TestSandbox::open_in(one.folder.clone(), |_| {}).await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let long = Execution {
        command: Command::Bash("echo started; sleep 600".into()),
        stream: Some(sender),
        ..Execution::default()
    };
    let run = one.exec(long);
    tokio::pin!(run);
    tokio::select! {
        _ = receiver.recv() => {}
        report = &mut run => unreachable!("{report:?}"),
    }
    let refused = other.sandbox.list(OWNER, &one.container).await.unwrap_err();
    assert_eq!(refused.code(), "container-busy");
}

#[tokio::test]
async fn an_idle_container_and_an_old_one_expire() {
    for (idle, life) in [(0, 1000), (1000, 0)] {
        let one = TestSandbox::open(|_| {}).await;
        let strict = TestSandbox::open_in(one.folder.clone(), |settings| {
            settings.container_idle = Duration::from_secs(1000);
            settings.container_life = Duration::from_secs(1000);
        })
        .await;
        assert!(strict.sandbox.list(OWNER, &one.container).await.is_ok());
        let expired = TestSandbox::open_in_expiring(one.folder.clone(), idle, life).await;
        assert_eq!(
            expired
                .list(OWNER, &one.container)
                .await
                .unwrap_err()
                .code(),
            "container-not-found"
        );
        expired.expire().await.unwrap();
        assert_eq!(strict.sandbox.containers().len(), 0);
    }
}

#[tokio::test]
async fn the_least_recently_used_container_is_evicted() {
    let one = TestSandbox::open(|settings| {
        settings.disk_bytes = 100 << 10;
        settings.tenant_disk_bytes = Some(100 << 10);
        settings.evict_idle = Duration::ZERO;
    })
    .await;
    let sandbox = &one.sandbox;
    sandbox
        .put(OWNER, &one.container, "a", vec![0; 30 << 10])
        .await
        .unwrap();
    let second = sandbox
        .create(OWNER, ContainerSpec::default())
        .await
        .unwrap();
    assert_eq!(sandbox.containers().len(), 2, "there is room yet");
    sandbox
        .put(OWNER, &second, "b", vec![0; 20 << 10])
        .await
        .unwrap();
    let third = sandbox
        .create(OWNER, ContainerSpec::default())
        .await
        .unwrap();
    let left: Vec<_> = sandbox
        .containers()
        .into_iter()
        .map(|container| container.id)
        .collect();
    assert_eq!(left.len(), 2, "one of the two had to go");
    assert!(left.contains(&third));
}

#[tokio::test]
async fn a_skill_is_written_once_and_shared() {
    let one = TestSandbox::open(|_| {}).await;
    let skill = |text: &str| SkillFiles {
        name: "pdf".into(),
        digest: "d1".into(),
        files: vec![SkillFile {
            path: "a/b.txt".into(),
            bytes: text.to_owned().into(),
            executable: false,
        }],
    };
    let mut seen = Vec::new();
    for text in ["first", "ignored, for the digest is the same"] {
        let id = one
            .sandbox
            .create(
                OWNER,
                ContainerSpec {
                    skills: vec![skill(text)],
                    ..ContainerSpec::default()
                },
            )
            .await
            .unwrap();
        let command = Command::Bash("cat /skills/pdf/a/b.txt".into());
        let execution = Execution {
            command,
            ..Execution::default()
        };
        seen.push(
            one.sandbox
                .exec(OWNER, &id, execution)
                .await
                .unwrap()
                .stdout
                .text,
        );
    }
    assert_eq!(seen, ["first", "first"]);
    for path in ["../evil", "/evil", "a/../../evil"] {
        let mut evil = skill("x");
        (evil.digest, evil.files[0].path) = ("d2".into(), path.into());
        let refused = one
            .sandbox
            .create(
                OWNER,
                ContainerSpec {
                    skills: vec![evil],
                    ..ContainerSpec::default()
                },
            )
            .await;
        assert_eq!(refused.unwrap_err().code(), "bad-name", "{path}");
    }
}

#[tokio::test]
async fn a_container_shows_skills_that_were_added_later() {
    let one = TestSandbox::open(|_| {}).await;
    let (sandbox, id) = (&one.sandbox, &one.container);
    let skill = |digest: &str, text: &str| SkillFiles {
        name: "pdf".into(),
        digest: digest.into(),
        files: vec![SkillFile {
            path: "SKILL.md".into(),
            bytes: text.to_owned().into(),
            executable: false,
        }],
    };
    for (digest, text) in [("d1", "one"), ("d2", "two")] {
        let skills = vec![skill(digest, text)];
        sandbox.mount(OWNER, id, skills).await.unwrap();
        let command = Command::Bash("cat /skills/pdf/SKILL.md".into());
        let execution = Execution {
            command,
            ..Execution::default()
        };
        let report = sandbox.exec(OWNER, id, execution).await.unwrap();
        assert_eq!(report.stdout.text, text, "{}", report.stderr.text);
    }
    let refused = sandbox.mount("thief", id, vec![skill("d1", "one")]).await;
    assert_eq!(refused.unwrap_err().code(), "container-not-found");
}

#[tokio::test]
async fn a_container_has_a_known_expiry() {
    let one =
        TestSandbox::open(|settings| settings.container_idle = Duration::from_secs(100)).await;
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let until = one.sandbox.expiry(OWNER, &one.container).await.unwrap();
    assert!((now + 1..=now + 100).contains(&until), "{until} {now}");
    for (owner, id) in [("thief", one.container.as_str()), (OWNER, "container_nope")] {
        let refused = one.sandbox.expiry(owner, id).await.unwrap_err();
        assert_eq!(refused.code(), "container-not-found");
    }
}
