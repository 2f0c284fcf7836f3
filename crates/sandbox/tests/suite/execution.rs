//! The environment of a command, and how its end is reported.

use crate::support::{TestHost, TestSandbox, everyone, stderr, stdout};
use prowess_sandbox::{Command, CommandOutcome, Execution, OutputStream};
use serde_json::json;
use std::time::Duration;

#[test]
fn argv_bash_and_python_run_in_the_data_folder() {
    for who in everyone() {
        let reports = TestHost::new(who).run(json!({ "runs": [
            { "command": { "argv": ["printf", "%s|", "a b", "$HOME"] } },
            { "command": { "bash": "echo $((6 * 7)) | tee answer; pwd" } },
            { "command": { "python": "import sys; print(open('answer').read(), sys.argv)" } },
        ] }));
        assert_eq!(stdout(&reports[0]), "a b|$HOME|");
        assert_eq!(stdout(&reports[1]), "42\n/mnt/data\n");
        assert_eq!(stdout(&reports[2]), "42\n ['-c']\n");
    }
}

#[test]
fn python_is_found_by_the_name_that_most_skills_use() {
    for who in everyone() {
        let reports = TestHost::new(who).run(json!({ "runs": [
            { "command": { "argv": ["python", "-c", "print(6 * 7)"] } },
            { "command": { "bash": "python -c 'import sys; print(sys.version_info[0])'" } },
        ] }));
        assert_eq!(stdout(&reports[0]), "42\n");
        assert_eq!(stdout(&reports[1]), "3\n");
    }
}

#[test]
fn only_the_given_environment_is_seen_and_it_wins() {
    let run = json!({ "command": { "argv": ["env"] }, "env": [["LANG", "C"], ["TOKEN", "x=y"]] });
    for who in everyone() {
        let report = TestHost::new(who).run(json!({ "runs": [run] })).remove(0);
        let mut seen: Vec<_> = stdout(&report).lines().collect();
        seen.sort_unstable();
        let expected = [
            "HOME=/tmp",
            "LANG=C",
            "PATH=/usr/local/bin:/usr/bin:/bin:/programs",
            "PIP_RETRIES=0",
            "PYTHONDONTWRITEBYTECODE=1",
            "TMPDIR=/tmp",
            "TOKEN=x=y",
            "USER=sandbox",
            "npm_config_fetch_retries=0",
        ];
        assert_eq!(seen, expected);
    }
}

#[test]
fn standard_input_is_what_was_given_and_then_ends() {
    let long = "line\n".repeat(100_000);
    let runs = json!([
        { "command": { "argv": ["wc", "-c"] }, "stdin": long },
        { "command": { "argv": ["wc", "-c"] } },
        { "command": { "argv": ["true"] }, "stdin": long },
    ]);
    for who in everyone() {
        let reports = TestHost::new(who).run(json!({ "runs": runs }));
        assert_eq!(stdout(&reports[0]).trim(), "500000");
        assert_eq!(stdout(&reports[1]).trim(), "0");
        assert_eq!(reports[2]["outcome"], json!({ "exit": 0 }));
    }
}

#[test]
fn exit_codes_and_signals_are_distinguished() {
    for who in everyone() {
        let reports = TestHost::new(who).run(json!({ "runs": [
            { "command": { "bash": "exit 137" } },
            { "command": { "bash": "kill -KILL $$" } },
            { "command": { "bash": "kill -SEGV $$" } },
            { "command": { "argv": ["no-such-program"] } },
            { "command": { "argv": ["/etc/passwd"] } },
        ] }));
        assert_eq!(reports[0]["outcome"], json!({ "exit": 137 }));
        assert_eq!(reports[1]["outcome"], json!({ "signal": 9 }));
        assert_eq!(reports[2]["outcome"], json!({ "signal": 11 }));
        assert_eq!(reports[3]["outcome"], json!({ "exit": 127 }));
        assert_eq!(stderr(&reports[3]), "no-such-program: command not found\n");
        assert_eq!(reports[4]["outcome"], json!({ "exit": 126 }));
    }
}

#[test]
fn time_is_up_for_a_command_that_ignores_every_signal() {
    let stubborn = "import signal, os, time
for number in set(range(1, 65)) - {9, 19, 32, 33}:
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.kill(os.getppid(), signal.SIGSTOP)
print('still here', flush=True)
while True: time.sleep(1)";
    for who in everyone() {
        let run = json!({ "command": { "python": stubborn }, "timeout_ms": 1500 });
        let report = TestHost::new(who).run(json!({ "runs": [run] })).remove(0);
        assert_eq!(report["outcome"], json!("timeout"), "{report}");
    }
}

#[test]
fn a_daemon_does_not_outlive_its_command_nor_hold_it_up() {
    let daemon = "import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            open('/mnt/data/alive', 'a').write('x'); time.sleep(0.01)
    os._exit(0)
os.wait()
while not os.path.exists('/mnt/data/alive'): pass";
    for who in everyone() {
        let reports = TestHost::new(who).run(json!({ "runs": [
            { "command": { "python": daemon } },
            { "command": { "bash": "wc -c < alive; set -- /proc/[0-9]*; echo $#; wc -c < alive" } },
        ] }));
        assert_eq!(reports[0]["outcome"], json!({ "exit": 0 }));
        let seen: Vec<_> = stdout(&reports[1]).split_whitespace().collect();
        assert_eq!(seen[0], seen[2], "nothing writes any more");
        assert_eq!(seen[1], "1", "only the shell itself is there");
    }
}

#[test]
fn ordinary_programs_work() {
    let program = "import concurrent.futures, hashlib, multiprocessing, socket, sqlite3, ssl
import subprocess, tempfile, threading
def square(x): return x * x
if __name__ == '__main__':
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(square, range(4))) == [0, 1, 4, 9]
    with multiprocessing.get_context('fork').Pool(2) as pool:
        assert pool.map(square, range(4)) == [0, 1, 4, 9]
    server = socket.create_server(('127.0.0.1', 0))
    socket.create_connection(server.getsockname())
    sqlite3.connect('a.db').execute('create table t (x)').connection.commit()
    assert subprocess.run('echo a | tr a b', shell=True, capture_output=True, text=True).stdout == 'b\\n'
    tempfile.NamedTemporaryFile().write(b'x')
    print('fine')";
    for who in everyone() {
        let report = TestHost::new(who).one(json!({ "python": program }));
        assert_eq!(stdout(&report), "fine\n", "{who:?} {}", stderr(&report));
    }
}

#[tokio::test]
async fn output_is_streamed_while_the_command_runs() {
    let sandboxed = TestSandbox::open(|_| {}).await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let execution = Execution {
        command: Command::Bash("echo out; echo err >&2; sleep 600".into()),
        stream: Some(sender),
        ..Execution::default()
    };
    let run = sandboxed.exec(execution);
    tokio::pin!(run);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        tokio::select! {
            chunk = receiver.recv() => seen.push(chunk.unwrap()),
            report = &mut run => unreachable!("ended before its output was seen: {report:?}"),
        }
    }
    seen.sort_by_key(|chunk| chunk.stream == OutputStream::Stderr);
    assert_eq!(
        (seen[0].stream, seen[0].bytes.as_slice()),
        (OutputStream::Stdout, &b"out\n"[..])
    );
    assert_eq!(
        (seen[1].stream, seen[1].bytes.as_slice()),
        (OutputStream::Stderr, &b"err\n"[..])
    );
}

#[tokio::test]
async fn a_caller_that_leaves_ends_the_command() {
    let sandboxed = TestSandbox::open(|_| {}).await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let execution = Execution {
        command: Command::Bash("echo started; touch marker; sleep 600".into()),
        stream: Some(sender),
        ..Execution::default()
    };
    {
        let run = sandboxed.exec(execution);
        tokio::pin!(run);
        tokio::select! {
            _ = receiver.recv() => {}
            report = &mut run => unreachable!("{report:?}"),
        }
    }
    // The stream ends when the last process that could write to it is dead, and the
    // container is free again.
    assert!(receiver.recv().await.is_none());
    let report = sandboxed.bash("ls").await;
    assert_eq!(report.outcome, CommandOutcome::Exit(0));
    assert_eq!(report.stdout.text, "", "what it wrote was not taken");
}

#[tokio::test]
async fn one_too_many_is_refused_as_busy() {
    let sandboxed = TestSandbox::open(|settings| {
        settings.running = 1;
        settings.waiting = 0;
    })
    .await;
    let other = sandboxed.another().await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let long = Execution {
        command: Command::Bash("echo started; sleep 600".into()),
        timeout: Some(Duration::from_secs(500)),
        stream: Some(sender),
        ..Execution::default()
    };
    let run = sandboxed.exec(long);
    tokio::pin!(run);
    tokio::select! {
        _ = receiver.recv() => {}
        report = &mut run => unreachable!("{report:?}"),
    }
    let refused = other.try_bash("true").await.unwrap_err();
    assert_eq!(refused.code(), "busy");
}
