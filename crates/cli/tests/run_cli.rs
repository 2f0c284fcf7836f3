//! `prowess run` and `prowess demo` as a person or a script uses them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod command_output;
#[allow(
    dead_code,
    clippy::allow_attributes,
    reason = "another test binary uses the rest of this module"
)]
mod scripted;
mod server;

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use command_output::shown;
use insta::assert_snapshot;
use scripted::{config_text, scripted_config};
use serde_json::Value;

const CONFIG: &str = "[[models]]\nname = 'hero'\nprovider = 'stage'\n";

const SCRIPT: &str = r#"
[[step]]
when.user = "fail"
error = { status = 400, message = "the script says no" }

[[step]]
when.user = "hang"
text = "One moment."
pace = { chunk = 1, delay_ms = 60000 }

[[step]]
when.user = "stay"
calls = [{ name = "bash_code_execution", input = { command = "echo staying | tee kept.txt" } }]

[[step]]
when.tool_result = "staying"
text = "One moment."
pace = { chunk = 1, delay_ms = 60000 }

[[step]]
when.user = "loop"
calls = [{ name = "load_skill", input = { name = "greet" } }]

[[step]]
when.turn = 1
when.tools = ["load_skill"]
text = "Let me see."
calls = [{ name = "load_skill", input = { name = "greet" } }]

[[step]]
when.turn = 2
calls = [{ name = "bash_code_execution", input = { command = "mkdir -p a b; echo one > a/card.txt; echo two > b/card.txt; echo x > .hidden" } }]

[[step]]
when.turn = 3
text = "Two cards."

[[step]]
text = "You said: {{user}}"
"#;

/// A folder with a configuration and a skill, and the command in it.
struct Workdir {
    dir: tempfile::TempDir,
}

impl Workdir {
    fn new() -> Workdir {
        let dir = scripted_config(SCRIPT, CONFIG);
        prowess_testkit::SkillFixture::new("greet").write_to(dir.path());
        Workdir { dir }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
        command
            .args(args)
            .env("XDG_DATA_HOME", self.dir.path().join("data"))
            .env_remove("PROWESS_CONFIG")
            .env_remove("PROWESS_DATA_DIR")
            .stdin(Stdio::null())
            .current_dir(self.dir.path());
        command
    }

    /// Exit code, standard output and standard error, with what differs each time
    /// taken out.
    fn run(&self, args: &[&str]) -> String {
        steady(&shown(&self.command(args).output().unwrap()))
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }
}

fn steady(text: &str) -> String {
    let words = text.split(' ').collect::<Vec<_>>();
    let steady = words.iter().enumerate().map(|(at, word)| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        match before {
            Some(&"in") if word.parse::<u64>().is_ok() => "N",
            Some(&"--container") => "container_…\n",
            _ => word,
        }
    });
    steady.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_answer_goes_to_stdout_and_what_happens_to_stderr_and_files_are_saved() {
    let workdir = Workdir::new();
    let args = [
        "run",
        "-m",
        "hero",
        "--skill",
        "greet",
        "--reduced",
        "--out",
        "out",
        "Cards!",
    ];
    assert_snapshot!(workdir.run(&args), @"
    exit 0
    --- stdout
    Let me see.
    Two cards.
    --- stderr
    calls load_skill greet
    done in N ms
    loaded greet
    calls bash_code_execution mkdir -p a b; echo one > a/card.txt; echo two > b/card.txt; echo x > .hidden
    done in N ms
    file .hidden (text/plain, 2 B)
    file a/card.txt (text/plain, 4 B)
    file b/card.txt (text/plain, 4 B)
    saved out/_hidden
    saved out/card.txt
    saved out/card-2.txt
    continue with --container container_…
    ");
    assert_eq!(workdir.read("out/card.txt"), "one\n");
    assert_eq!(workdir.read("out/card-2.txt"), "two\n");
    assert_eq!(workdir.read("out/_hidden"), "x\n", "no hidden file is made");
    // Again: nothing is replaced, unless it is asked for.
    workdir.run(&args);
    assert_eq!(workdir.read("out/card-3.txt"), "one\n");
    std::fs::write(workdir.dir.path().join("out/card.txt"), "mine").unwrap();
    workdir.run(&[&args[..], &["--force"]].concat());
    assert_eq!(workdir.read("out/card.txt"), "one\n");
}

#[test]
fn an_interrupted_run_keeps_its_files_and_is_on_record() {
    let workdir = Workdir::new();
    let args = [
        "run",
        "-m",
        "hero",
        "--skill",
        "greet",
        "--reduced",
        "--out",
        "out",
        "stay",
    ];
    let mut command = workdir.command(&args);
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("file kept.txt")));
    let pid = rustix::process::Pid::from_child(&child);
    // Programs that end others may send two signals at once.
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        rustix::process::kill_process(pid, signal).unwrap();
    }
    let rest: Vec<String> = lines.collect();
    assert_eq!(
        rest,
        ["error: the run was interrupted", "saved out/kept.txt"]
    );
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(workdir.read("out/kept.txt"), "staying\n");
    let listed = workdir.command(&["runs", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed[0]["status"], "cancelled");
}

#[test]
fn every_line_of_json_is_an_event_and_the_run_is_on_record() {
    let workdir = Workdir::new();
    let args = [
        "run",
        "-m",
        "hero",
        "--skill",
        "greet",
        "--no-code",
        "--json",
        "loop",
    ];
    let output = workdir.command(&[&args[..], &["--max-turns", "1"]].concat());
    let output = { output }.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "a limit cut it short");
    let lines = String::from_utf8(output.stdout).unwrap();
    let events: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["turn", "limit_met", "ended"]);
    let run = events[2]["run"].as_str().unwrap();
    assert!(workdir.run(&["runs"]).contains(run));
}

#[test]
fn a_prompt_may_come_from_standard_input() {
    let workdir = Workdir::new();
    let mut child = workdir
        .command(&["run", "-m", "hero", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"hello").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"You said: hello\n");
}

#[test]
fn a_run_has_the_sandbox_of_the_configuration() {
    let workdir = Workdir::new();
    let config = |sandbox: &str| {
        let text = config_text(&format!("{CONFIG}[sandbox]\n{sandbox}\n"));
        std::fs::write(workdir.dir.path().join("prowess.toml"), text).unwrap();
    };
    let run = [
        "run",
        "-m",
        "hero",
        "--skill",
        "greet",
        "--reduced",
        "--out",
        "out",
        "Hi.",
    ];
    config("container_entries = 1");
    let limited = workdir.run(&run);
    assert!(
        !workdir.dir.path().join("out/card.txt").exists(),
        "{limited}"
    );
    // Without such a group, this host has no control groups for the sandbox.
    config("cgroup = 'no-such-group-of-prowess'\nreduced = true");
    let without_flag: Vec<_> = run.into_iter().filter(|arg| *arg != "--reduced").collect();
    let reduced = workdir.run(&without_flag);
    assert_eq!(workdir.read("out/card.txt"), "one\n", "{reduced}");
    config("backend = 'off'");
    let off = workdir.run(&run);
    // Without a sandbox the tool is not offered: the script's call of it is the client's.
    assert!(off.contains("cut short: tool_use"), "{off}");
}

#[test]
fn exit_codes_separate_the_model_s_failures_from_ours() {
    let workdir = Workdir::new();
    assert_snapshot!(workdir.run(&["run", "-m", "hero", "fail"]), @"
    exit 1
    --- stdout
    --- stderr
    error: the script says no
    ");
    assert_snapshot!(workdir.run(&["run", "-m", "nobody", "hi"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: unknown model "nobody"; use a configured model or PROVIDER/MODEL; providers are stage
    "#);
    assert_snapshot!(workdir.run(&["run", "-m", "hero", "--skill", "missing", "hi"]), @"
    exit 3
    --- stdout
    --- stderr
    error: missing: no such file or folder
    ");
    assert_snapshot!(workdir.run(&["run", "-m", "hero", "--skill", "skill_nowhere", "--no-code", "hi"]), @"
    exit 1
    --- stdout
    --- stderr
    error: skill `skill_nowhere` not found: no skill that is stored here has this id (`skill_…`, not a name), and the provider of model `hero` has no skills of its own; upload it, or name it in `[skills] aliases`
    ");
    assert_snapshot!(workdir.run(&["run", "-m", "hero", "--timeout", "1", "hang"]), @"
    exit 1
    --- stdout
    --- stderr
    error: the run timed out
    ");
}

#[test]
fn tenants_and_times_that_cannot_be_are_wrong_usage() {
    let workdir = Workdir::new();
    let wrong: [&[&str]; 11] = [
        &["usage", "--since", "yesterday"],
        &["usage", "--tenant", "A B"],
        &["audit", "--since", "yesterday"],
        &["audit", "--until", "soon"],
        &["audit", "--tenant", "A B"],
        &["runs", "--tenant", "A B"],
        &["runs", "--limit", "0"],
        &["runs", "--since", "yesterday"],
        &["tenants", "--since", "yesterday"],
        &["batches", "--tenant", "A B"],
        &["keys", "list", "--tenant", "A B"],
    ];
    for args in wrong {
        let output = workdir.command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let reason = String::from_utf8(output.stderr).unwrap();
        assert!(reason.contains("invalid value"), "{args:?}: {reason}");
    }
    let right = ["usage", "--since", "7d", "--tenant", "acme", "--json"];
    assert_eq!(workdir.run(&right), "exit 0\n--- stdout\n[]\n--- stderr\n");
}

#[test]
fn the_demo_makes_a_gif_over_real_http_and_ends_where_nobody_watches() {
    let workdir = Workdir::new();
    let output = workdir
        .command(&["demo", "--reduced", "-o", "it.gif"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for shown in [
        "stored as skill_",
        "loads   /skills/",
        "runs    python3",
        "file    file_",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    let gif = std::fs::read(workdir.dir.path().join("it.gif")).unwrap();
    assert!(gif.starts_with(b"GIF89a"));
    for command in next(&text) {
        let ran = shell(&workdir, &command);
        assert!(ran.status.success(), "{command}: {ran:?}");
    }
}

#[test]
fn the_demo_s_server_stays_and_what_it_suggests_works() {
    let workdir = Workdir::new();
    let mut child = workdir
        .command(&["demo", "--reduced", "--keep", "--open"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("Press Ctrl-C") {
        assert_ne!(lines.read_line(&mut text).unwrap(), 0, "{text}");
    }
    let answers: Vec<String> = next(&text)
        .iter()
        .map(|command| {
            let ran = shell(&workdir, command);
            assert!(ran.status.success(), "{command}: {ran:?}");
            String::from_utf8(ran.stdout).unwrap()
        })
        .collect();
    let chat: Value = serde_json::from_str(&answers[0]).unwrap();
    let content = chat["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(content.contains("Here is your bouncing ball"), "{content}");
    assert!(answers[1].contains("bouncing-ball"), "{}", answers[1]);
    assert!(answers[2].contains("completed"), "{}", answers[2]);
    for shown in ["   console ", "   the run "] {
        let url = text
            .lines()
            .find_map(|line| line.strip_prefix(shown))
            .unwrap();
        let page = shell(&workdir, &format!("curl -sL --noproxy '*' {url}"));
        let page = String::from_utf8(page.stdout).unwrap();
        assert!(page.contains("bouncing-ball"), "{url}: {page}");
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert!(child.wait().unwrap().success());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("[y/N]"), "{rest}");
    let mut remarks = String::new();
    let stderr = child.stderr.take().unwrap();
    BufReader::new(stderr).read_to_string(&mut remarks).unwrap();
    let remark = "no browser is opened: this is not a terminal";
    assert!(remarks.contains(remark), "{remarks}");
}

/// The demo on a terminal of its own, where `xdg-open` writes down what it is to open.
struct DemoTerminal {
    child: Child,
    shown: ChildStdout,
    text: String,
    opened: PathBuf,
    _workdir: Workdir,
}

impl DemoTerminal {
    fn start(args: &str) -> DemoTerminal {
        let workdir = Workdir::new();
        let folder = workdir.dir.path();
        let opened = folder.join("opened");
        let made = Command::new("mkfifo").arg(&opened).status().unwrap();
        assert!(made.success());
        let opener = folder.join("xdg-open");
        let program = format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", opened.display());
        std::fs::write(&opener, program).unwrap();
        std::fs::set_permissions(&opener, Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let prowess = env!("CARGO_BIN_EXE_prowess");
        let mut child = Command::new("script")
            .args(["-qec", &format!("exec '{prowess}' demo --reduced {args}")])
            .arg("/dev/null")
            .env("PATH", format!("{}:{path}", folder.display()))
            .env("XDG_DATA_HOME", folder.join("data"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .current_dir(folder)
            .spawn()
            .unwrap();
        DemoTerminal {
            shown: child.stdout.take().unwrap(),
            child,
            text: String::new(),
            opened,
            _workdir: workdir,
        }
    }

    /// Reads until the terminal shows a text.
    fn wait_for(&mut self, text: &str) {
        let mut buffer = [0; 4096];
        while !self.text.contains(text) {
            let count = self.shown.read(&mut buffer).unwrap();
            assert_ne!(count, 0, "{text}: {}", self.text);
            let more = String::from_utf8_lossy(buffer.get(..count).unwrap());
            self.text.push_str(&more);
        }
    }

    fn write(&mut self, keys: &[u8]) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(keys).unwrap();
        stdin.flush().unwrap();
    }

    /// Presses Ctrl-C; returns what the terminal showed.
    fn stop(mut self) -> String {
        self.write(b"\x03");
        let mut rest = Vec::new();
        self.shown.read_to_end(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{}", self.text);
        self.text.push_str(&String::from_utf8_lossy(&rest));
        self.text.clone()
    }
}

#[test]
fn on_a_terminal_the_demo_offers_to_open_the_console() {
    for (args, answer) in [("", Some(&b"yes\n"[..])), ("--open", None)] {
        let mut demo = DemoTerminal::start(args);
        demo.wait_for("Press Ctrl-C");
        if let Some(answer) = answer {
            demo.wait_for("Open the console in a browser? [y/N]");
            demo.write(answer);
        }
        demo.wait_for("opening http://127.0.0.1:");
        let url = std::fs::read_to_string(&demo.opened).unwrap();
        assert!(url.contains("/console/runs/run_"), "{url}");
        let text = demo.stop();
        assert_eq!(text.contains("[y/N]"), answer.is_some(), "{text}");
    }
    let mut demo = DemoTerminal::start("");
    demo.wait_for("[y/N]");
    // The default is no.
    demo.write(b"\n");
    let text = demo.stop();
    assert!(!text.contains("opening http"), "{text}");
}

/// The commands below `Next`.
fn next(text: &str) -> Vec<String> {
    let (_, after) = text.split_once("\nNext\n").unwrap();
    let commands = after.lines().map_while(|line| line.strip_prefix("   "));
    let commands: Vec<String> = commands.map(str::to_owned).collect();
    assert_eq!(commands.len(), 3, "{text}");
    commands
}

fn shell(workdir: &Workdir, command: &str) -> std::process::Output {
    let mut shell = workdir.command(&[]);
    let env: Vec<_> = shell
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    shell = Command::new("sh");
    shell
        .args(["-c", command])
        .envs(env)
        .current_dir(workdir.dir.path());
    shell.output().unwrap()
}
