//! `prowess batch` and `prowess batches`, on a server and in one process, on both databases.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod command_output;
#[allow(
    dead_code,
    clippy::allow_attributes,
    reason = "another test binary uses the rest of this module"
)]
mod long_runs;
mod scripted;
mod server;

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use command_output::{json_lines, shown, text};
use insta::assert_snapshot;
use long_runs::proxy::CuttingProxy;
use prowess_testkit::SkillFixture;
use prowess_testkit::postgres::TestPostgres;
use scripted::{scripted_config, start_scripted};
use serde_json::{Value, json};
use server::{MASTER, TestServer, prowess};
use tempfile::TempDir;

const CONFIG: &str = "[[models]]\nname = 'hero'\nprovider = 'stage'\n[sandbox]\nreduced = true\n";

const SCRIPT: &str = r#"
[[step]]
when.user = "fail"
error = { status = 400, message = "the script says no" }

[[step]]
when.user = "wait"
text = "That took long."
pace = { chunk = 1, delay_ms = 600000 }

[[step]]
when.turn = 1
when.tools = ["load_skill"]
calls = [{ name = "bash_code_execution", input = { command = "echo '{{user}}' > card.txt" } }]

[[step]]
when.turn = 2
text = "Here is the card."

[[step]]
text = "You said: {{user}}"
"#;

/// A folder with files of a test, and a configuration.
struct BatchBed {
    config: TempDir,
    folder: TempDir,
    /// The URL of a PostgreSQL database; SQLite without it.
    database: Option<String>,
}

impl BatchBed {
    fn new() -> BatchBed {
        BatchBed::with_database(None)
    }

    fn with_database(database: Option<String>) -> BatchBed {
        let folder = tempfile::tempdir().unwrap();
        SkillFixture::new("greet").write_to(folder.path());
        BatchBed {
            config: scripted_config(SCRIPT, CONFIG),
            folder,
            database,
        }
    }

    fn variables(&self) -> Vec<(&str, &str)> {
        let database = self.database.as_deref();
        let mut variables: Vec<_> = database
            .map(|url| ("PROWESS_STORE_URL", url))
            .into_iter()
            .collect();
        // A run of a command that was killed is soon continued.
        variables.push(("PROWESS_RUN_LEASE_MS", "2500"));
        variables
    }

    fn start(&self) -> TestServer {
        start_scripted(&self.config, &self.variables())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command of this process, over the local store.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = prowess(self.folder.path());
        command
            .args(args)
            .env("PROWESS_CONFIG", self.config.path().join("prowess.toml"))
            .envs(self.variables())
            .stdin(Stdio::null());
        command
    }

    /// A command that uses a server.
    fn remote(&self, server: &str, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.env("PROWESS_URL", server);
        command.env("PROWESS_API_KEY", MASTER);
        command
    }

    /// Exit code, standard output and standard error, without ids.
    fn shown(&self, command: &mut Command) -> String {
        hide_ids(&shown(&command.output().unwrap()))
    }
}

/// Replaces what follows the prefix of an id.
fn hide_ids(text: &str) -> String {
    let mut shown = text.to_owned();
    for prefix in [
        "msgbatch_",
        "batch_req_",
        "batch_0",
        "sha256:",
        "file_",
        "run_",
        "msg_",
    ] {
        let mut parts = shown.split(prefix);
        let mut hidden = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            hidden.push_str(&format!("{prefix}…{rest}"));
        }
        shown = hidden;
    }
    // How many there are depends on the texts of prompts.
    match shown.split_once(" tokens") {
        Some((before, after)) => {
            let before = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '+');
            format!("{before}… tokens{after}")
        }
        None => shown,
    }
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A command that prints JSON, while it runs.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(command: &mut Command) -> Running {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }

    /// The next line of a type.
    fn next(&mut self, kind: &str) -> Value {
        loop {
            let line = self.lines.next().unwrap().unwrap();
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["type"] == kind {
                return line;
            }
        }
    }

    /// The batch that was submitted or is continued.
    fn batch(&mut self, kind: &str) -> String {
        self.next(kind)["batch"].as_str().unwrap().to_owned()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn end(mut self) -> (Option<i32>, Value) {
        let ended = self.next("ended");
        (self.child.wait().unwrap().code(), ended)
    }
}

const STATE: &str = "out.jsonl.prowess-batch.json";

#[test]
fn prompts_are_answered_in_their_order_with_skills_and_files() {
    let bed = BatchBed::new();
    let server = bed.start();
    bed.write("prompts.txt", "Ada\n\nBob\nCyd\n");
    let batch = ["batch", "prompts.txt", "-m", "hero", "--skill", "greet"];
    let args = [&batch[..], &["-o", "out.jsonl", "--files", "made"]].concat();
    assert_snapshot!(bed.shown(&mut bed.remote(server.url(), &args)), @"
    exit 0
    --- stdout
    --- stderr
    submitted msgbatch_…: 3 requests
    3 succeeded, 0 failed, … tokens, results in out.jsonl
    ");
    let results = json_lines(bed.read("out.jsonl").as_bytes());
    let shown: Vec<_> = results
        .iter()
        .map(|result| {
            (
                result["line"].as_u64().unwrap(),
                result["text"].as_str().unwrap(),
            )
        })
        .collect();
    let text = "Here is the card.";
    assert_eq!(shown, [(1, text), (3, text), (4, text)]);
    assert_eq!(results[1]["files"], json!(["made/line-3/card.txt"]));
    assert_eq!(bed.read("made/line-3/card.txt"), "Bob\n");
    assert!(!bed.path(STATE).exists());
    // Results are not replaced unasked.
    assert_snapshot!(bed.shown(&mut bed.remote(server.url(), &args)), @"
    exit 2
    --- stdout
    --- stderr
    error: out.jsonl exists; choose another file, or pass --force to replace it
    ");
    let again = [&args[..], &["--force"]].concat();
    succeeded(&bed.remote(server.url(), &again).output().unwrap());
    assert_eq!(json_lines(bed.read("out.jsonl").as_bytes()).len(), 3);
}

#[test]
fn a_request_that_fails_is_reported_with_its_line() {
    let bed = BatchBed::new();
    let server = bed.start();
    let lines = "{\"prompt\": \"one\", \"id\": \"a\"}\n{\"prompt\": \"fail\", \"id\": 7}\n";
    bed.write("prompts.jsonl", lines);
    let args = ["batch", "prompts.jsonl", "-m", "hero"];
    assert_snapshot!(bed.shown(&mut bed.remote(server.url(), &args)), @r#"
    exit 1
    --- stdout
    {"line":1,"id":"a","status":"succeeded","text":"You said: one","stop_reason":"end_turn","input_tokens":1,"output_tokens":4}
    {"line":2,"id":7,"status":"errored","error":"the script says no"}
    --- stderr
    submitted msgbatch_…: 2 requests
    error: prompts.jsonl:2: the script says no
    1 succeeded, 1 failed, … tokens
    "#);
    bed.write(
        "wrong.jsonl",
        "{\"prompt\": \"one\"}\n{\"promt\": \"two\"}\n[]\n",
    );
    let args = ["batch", "wrong.jsonl", "-m", "hero"];
    assert_snapshot!(bed.shown(&mut bed.remote(server.url(), &args)), @"
    exit 3
    --- stdout
    --- stderr
    error: wrong.jsonl:2: `prompt` must be a string that is not empty
    error: wrong.jsonl:3: expected a JSON object
    error: nothing was submitted: correct wrong.jsonl first
    ");
}

#[test]
fn requests_of_both_vendors_have_their_results() {
    let bed = BatchBed::new();
    let server = bed.start();
    let message = |name: &str, text: &str| {
        let params = json!({"max_tokens": 9, "messages": [{"role": "user", "content": text}]});
        format!("{}\n", json!({"custom_id": name, "params": params}))
    };
    let all = [
        message("a", "one"),
        message("b", "fail"),
        message("c", "two"),
    ]
    .concat();
    bed.write("messages.jsonl", &all);
    let run = |input: &str| {
        let args = ["batch", input, "-m", "hero", "-o", "out.jsonl", "--force"];
        let output = bed.remote(server.url(), &args).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let errors = text(&output.stderr).lines();
        let errors: Vec<_> = errors.filter(|line| line.starts_with("error")).collect();
        assert_eq!(errors, [format!("error: {input}:2: the script says no")]);
        json_lines(bed.read("out.jsonl").as_bytes())
    };
    let results = run("messages.jsonl");
    assert_eq!(
        results[0]["result"]["message"]["content"][0]["text"],
        "You said: one"
    );
    assert_eq!(
        (&results[1]["custom_id"], &results[1]["result"]["type"]),
        (&json!("b"), &json!("errored"))
    );
    let request = |name: &str, text: &str| {
        let body = json!({"messages": [{"role": "user", "content": text}]});
        let url = "/v1/chat/completions";
        format!(
            "{}\n",
            json!({"custom_id": name, "method": "POST", "url": url, "body": body})
        )
    };
    let all = [
        request("a", "one"),
        request("b", "fail"),
        request("c", "two"),
    ]
    .concat();
    bed.write("requests.jsonl", &all);
    let results = run("requests.jsonl");
    let names: Vec<_> = results
        .iter()
        .map(|line| line["custom_id"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    let answer = "/response/body/choices/0/message/content";
    assert_eq!(results[2].pointer(answer), Some(&json!("You said: two")));
    assert_eq!(results[1]["response"]["status_code"], 400);
    let args = ["batch", "requests.jsonl", "--skill", "greet"];
    let refused = bed.remote(server.url(), &args).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).starts_with("error: --skill is for prompts"));
}

#[test]
fn a_killed_command_continues_its_batch_and_a_change_is_an_error() {
    let bed = BatchBed::new();
    let mut server = bed.start();
    let proxy = CuttingProxy::without_cuts(server.url());
    bed.write("prompts.txt", "one\nwait\n");
    let args = [
        "batch",
        "prompts.txt",
        "-m",
        "hero",
        "-o",
        "out.jsonl",
        "--json",
    ];
    let mut first = Running::start(&mut bed.remote(proxy.url(), &args));
    let batch = first.batch("submitted");
    first.kill();
    assert!(bed.path(STATE).exists() && !bed.path("out.jsonl").exists());
    // Another file, and other options, are not the same batch.
    bed.write("prompts.txt", "one\nwaiting\n");
    let plain = ["batch", "prompts.txt", "-m", "other", "-o", "out.jsonl"];
    assert_snapshot!(bed.shown(&mut bed.remote(proxy.url(), &plain)), @"
    exit 3
    --- stdout
    --- stderr
    error: out.jsonl.prowess-batch.json has an unfinished batch, and what it was submitted with has changed: the lines of prompts.txt; --model: it was hero; restore it to continue, or pass --force to submit a new batch
    ");
    bed.write("prompts.txt", "one\nwait\n");
    let mut second = Running::start(&mut bed.remote(proxy.url(), &args));
    assert_eq!(second.batch("resumed"), batch);
    // The server dies too, while the command waits.
    server.kill_and_restart(
        &[
            &[(
                "PROWESS_CONFIG",
                bed.config.path().join("prowess.toml").to_str().unwrap(),
            )],
            &bed.variables()[..],
        ]
        .concat(),
    );
    proxy.set_target(server.url());
    let cancel = ["batches", "cancel", &batch, "--json"];
    let cancelled = bed.remote(server.url(), &cancel).output().unwrap();
    succeeded(&cancelled);
    let (code, ended) = second.end();
    assert_eq!((code, &ended["batch"]), (Some(1), &json!(batch)));
    let results = json_lines(bed.read("out.jsonl").as_bytes());
    assert_eq!(
        (results.len(), &results[1]["status"]),
        (2, &json!("canceled"))
    );
    // There was one batch.
    let listed = bed
        .remote(server.url(), &["batches", "--json"])
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let args = ["batch", "prompts.txt", "-m", "hero", "--resume"];
    let refused = bed.remote(server.url(), &args).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(
        text(&refused.stderr),
        "error: there is no batch to continue: leave out --resume\n"
    );
}

/// A command without a server is killed, and continued by the next one.
fn continue_in_another_process(bed: &BatchBed) {
    let prompts: String = (0..40).map(|number| format!("prompt {number}\n")).collect();
    bed.write("prompts.txt", &prompts);
    let batch = [
        "batch",
        "prompts.txt",
        "-m",
        "hero",
        "-o",
        "out.jsonl",
        "--json",
    ];
    let args = [&batch[..], &["--concurrency", "4"]].concat();
    let mut first = Running::start(&mut bed.command(&args));
    let id = first.batch("submitted");
    first.kill();
    let mut second = Running::start(&mut bed.command(&args));
    assert_eq!(second.batch("resumed"), id);
    let (code, ended) = second.end();
    assert_eq!((code, &ended["succeeded"]), (Some(0), &json!(40)));
    let results = json_lines(bed.read("out.jsonl").as_bytes());
    for (number, result) in results.iter().enumerate() {
        assert_eq!(result["text"], format!("You said: prompt {number}"));
    }
    assert_eq!(results.len(), 40);
    // It is in the local store, once.
    let listed = bed.command(&["batches", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(
        (&listed[0]["id"], &listed[0]["succeeded"]),
        (&json!(id), &json!(40))
    );
}

#[test]
fn a_killed_process_is_continued_by_the_next_on_sqlite() {
    continue_in_another_process(&BatchBed::new());
}

#[test]
fn a_killed_process_is_continued_by_the_next_on_postgres() {
    let postgres = TestPostgres::start();
    continue_in_another_process(&BatchBed::with_database(Some(postgres.database())));
}

#[test]
fn prompts_come_from_standard_input_and_batches_are_listed() {
    let bed = BatchBed::new();
    let mut command = bed.command(&["batch", "-", "-m", "hero"]);
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\ntwo").unwrap();
    let output = child.wait_with_output().unwrap();
    succeeded(&output);
    let results = json_lines(&output.stdout);
    assert_eq!(results[1]["text"], "You said: two");
    let listed = bed.command(&["batches"]).output().unwrap();
    let listed = text(&listed.stdout);
    let id = listed
        .lines()
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    assert_snapshot!(bed.shown(&mut bed.command(&["batches", id])), @"
    exit 0
    --- stdout
    msgbatch_… completed: 2 of 2 succeeded, 0 failed
    --- stderr
    ");
    // One that has ended stays as it is.
    assert_snapshot!(bed.shown(&mut bed.command(&["batches", "cancel", id])), @"
    exit 0
    --- stdout
    msgbatch_… completed: 2 of 2 succeeded, 0 failed
    --- stderr
    ");
    assert_snapshot!(bed.shown(&mut bed.command(&["batches", "batch_0"])), @"
    exit 3
    --- stdout
    --- stderr
    error: batch `batch_0…` not found
    ");
}

#[test]
fn wrong_usage_is_refused_before_anything_is_sent() {
    let bed = BatchBed::new();
    bed.write("prompts.txt", "one\n");
    bed.write("empty.txt", "\n \n");
    let refused = |args: &[&str], code: i32| {
        let output = bed.command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        text(&output.stderr).to_owned()
    };
    let missing = refused(&["batch", "prompts.txt"], 2);
    assert_eq!(missing, "error: --model is missing: prompts need a model\n");
    let empty = refused(&["batch", "empty.txt", "-m", "hero"], 3);
    assert_eq!(
        empty,
        "error: empty.txt has no prompts: write one per line\n"
    );
    let url = "http://127.0.0.1:1";
    let both = [
        "batch",
        "prompts.txt",
        "-m",
        "m",
        "--server",
        url,
        "--concurrency",
        "2",
    ];
    assert!(refused(&both, 2).starts_with("error: --concurrency is for batches of this process"));
    let unknown = ["batch", "prompts.txt", "-m", "hero", "--skill", "great"];
    let unknown = refused(&unknown, 3);
    assert!(
        unknown.contains("`great` is not a folder or an archive here"),
        "{unknown}"
    );
    assert!(!bed.path("prompts.txt.prowess-batch.json").exists());
}
