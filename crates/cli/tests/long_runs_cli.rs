//! `prowess run --background` and `prowess runs attach, cancel` against the real server.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod command_output;
#[allow(
    dead_code,
    clippy::allow_attributes,
    reason = "another test binary uses the rest of this module"
)]
mod long_runs;
mod scripted;
mod server;

use std::io::{BufRead, BufReader, Lines, Read};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use command_output::{json_lines, shown, text};
use insta::assert_snapshot;
use long_runs::proxy::CuttingProxy;
use scripted::{scripted_config, start_scripted};
use serde_json::{Value, json};
use server::{MASTER, TestServer, prowess};

const CONFIG: &str = "[[models]]\nname = 'hero'\nprovider = 'stage'\n\
                      [[models]]\nname = 'slow'\nprovider = 'stage'\n\
                      [sandbox]\nreduced = true\n";

/// The second turn of the model `slow` takes long.
const SCRIPT: &str = r#"
[[step]]
when.user = "fail"
error = { status = 400, message = "the script says no" }

[[step]]
when.model = "slow"
when.turn = 1
text = "One moment."
calls = [{ name = "bash_code_execution", input = { command = "echo one >> log.txt" } }]

[[step]]
when.model = "slow"
text = "That took long."
pace = { chunk = 99, delay_ms = 600000 }

[[step]]
when.turn = 1
when.tools = ["load_skill"]
text = "Let me see."
calls = [{ name = "load_skill", input = { name = "greet" } }]

[[step]]
when.turn = 2
calls = [{ name = "bash_code_execution", input = { command = "echo one > card.txt" } }]

[[step]]
when.turn = 3
text = "One card, as requested."

[[step]]
text = "You said: {{user}}"
"#;

/// A server with a scripted model, and commands that use it.
struct LongRuns {
    server: TestServer,
    config: tempfile::TempDir,
}

impl LongRuns {
    fn start() -> LongRuns {
        LongRuns::start_with(&[])
    }

    fn start_with(variables: &[(&str, &str)]) -> LongRuns {
        let config = scripted_config(SCRIPT, CONFIG);
        let server = start_scripted(&config, variables);
        prowess_testkit::SkillFixture::new("greet").write_to(server.folder());
        LongRuns { server, config }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = prowess(self.server.folder());
        command
            .args(args)
            .env("PROWESS_URL", self.server.url())
            .env("PROWESS_API_KEY", MASTER)
            .stdin(Stdio::null());
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Exit code, standard output and standard error, without ids and addresses.
    fn shown(&self, args: &[&str], run: &str) -> String {
        let shown = shown(&self.output(args));
        shown
            .replace(self.server.url(), "SERVER")
            .replace(run, "RUN")
    }

    /// Submits a run, and returns its id.
    fn submit(&self, args: &[&str]) -> String {
        let args = [&["run", "--background"], args].concat();
        let output = self.output(&args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let id = text(&output.stdout).trim_end().to_owned();
        assert!(id.starts_with("run_"), "{id}");
        let hint = format!("follow it with: prowess runs attach {id} --server");
        assert!(text(&output.stderr).contains(&hint));
        id
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.output(args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn a_run_is_submitted_and_followed_like_one_of_this_process() {
    let bed = LongRuns::start();
    let run = bed.submit(&["-m", "hero", "--skill", "greet", "A card, please"]);
    let attach = ["runs", "attach", &run];
    assert_snapshot!(bed.shown(&attach, &run), @"
    exit 0
    --- stdout
    Let me see.
    One card, as requested.
    --- stderr
    calls bash_code_execution cat /skills/greet/SKILL.md
    calls bash_code_execution echo one > card.txt
    ");
    // Everything is there for those who come later, also by the id of the response.
    let response = run.replace("run_", "resp_");
    assert_eq!(
        bed.shown(&attach, &run),
        bed.shown(&["runs", "attach", &response], &run)
    );
    let lines = bed.output(&["runs", "attach", &run, "--json"]);
    let lines = json_lines(&lines.stdout);
    let kinds: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["type"].as_str())
        .collect();
    assert_eq!(kinds.last(), Some(&"ended"));
    assert!(kinds.contains(&"tool_started"), "{kinds:?}");
    let texts = lines.iter().filter(|line| line["type"] == "text");
    let texts: String = texts.filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(texts, "Let me see.One card, as requested.");
    let ended = lines.last().unwrap();
    assert_eq!(
        (&ended["run"], &ended["status"]),
        (&run.as_str().into(), &"completed".into())
    );
}

#[test]
fn skills_of_the_server_are_named_by_id_or_name() {
    let bed = LongRuns::start();
    let pushed = bed.json(&["skill", "push", "greet", "--json"]);
    let id = pushed["skill"].as_str().unwrap();
    std::fs::remove_dir_all(bed.server.folder().join("greet")).unwrap();
    let versioned = format!("{id}@1");
    for skill in [id, &versioned, "greet"] {
        let run = bed.submit(&["-m", "hero", "--skill", skill, "A card, please"]);
        let output = bed.output(&["runs", "attach", &run]);
        assert_eq!(
            text(&output.stdout),
            "Let me see.\nOne card, as requested.\n"
        );
    }
    let args = ["run", "--background", "-m", "hero", "--skill", "great", "x"];
    assert_snapshot!(bed.shown(&args, "run_"), @"
    exit 3
    --- stdout
    --- stderr
    error: `great` is not a folder or an archive here, and no skill of SERVER has this name
    ");
}

#[test]
fn background_needs_a_server_and_excludes_what_only_this_process_can_do() {
    let bed = LongRuns::start();
    let refused = |args: &[&str]| {
        let mut command = bed.command(&[&["run", "-m", "hero", "Hi"], args].concat());
        let output = command.env_remove("PROWESS_URL").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        text(&output.stderr).lines().next().unwrap().to_owned()
    };
    assert_snapshot!(refused(&["--background"]), @"error: --background needs a server, which goes on with the run: pass --server URL, or set PROWESS_URL");
    assert_snapshot!(refused(&["--background", "--max-turns", "3"]), @"error: the argument '--background' cannot be used with '--max-turns <TURNS>'");
    assert_snapshot!(refused(&["--server", "http://127.0.0.1:1"]), @"error: the following required arguments were not provided:");
    let both = [
        "--background",
        "--server",
        "http://127.0.0.1:1",
        "--container",
        "c",
        "--allow",
        "a.test",
    ];
    assert_snapshot!(refused(&both), @"error: --allow is for a new container; with --background, leave out --container");
}

#[test]
fn a_submitted_run_can_be_read_by_programs() {
    let bed = LongRuns::start();
    let args = ["run", "--background", "-m", "hero", "--json", "Hello"];
    let submitted = bed.json(&args);
    let (run, response) = (&submitted["run"], submitted["response"].as_str().unwrap());
    assert_eq!(submitted["type"], "submitted");
    assert!(response.starts_with("resp_") && run.as_str().unwrap().starts_with("run_"));
    let unknown = bed.output(&["run", "--background", "-m", "nobody/x", "--json", "Hello"]);
    assert_eq!(unknown.status.code(), Some(3));
    let line = &json_lines(&unknown.stdout)[0];
    assert_eq!(line["type"], "error");
    assert!(
        line["message"].as_str().unwrap().contains("nobody"),
        "{line}"
    );
}

#[test]
fn a_failed_run_is_an_error_with_its_reason() {
    let bed = LongRuns::start();
    let run = bed.submit(&["-m", "hero", "fail"]);
    assert_snapshot!(bed.shown(&["runs", "attach", &run], &run), @"
    exit 1
    --- stdout
    --- stderr
    error: the script says no
    ");
    let output = bed.output(&["runs", "attach", &run, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let lines = json_lines(&output.stdout);
    let [error, ended] = lines.as_slice() else {
        unreachable!("{lines:?}");
    };
    assert_eq!(
        (&error["type"], &ended["status"]),
        (&"error".into(), &"failed".into())
    );
    let unknown = bed.output(&["runs", "attach", "run_none"]);
    assert_eq!(unknown.status.code(), Some(3));
    assert!(text(&unknown.stderr).starts_with("error: run `run_none` not found (404, "));
}

/// A command that follows a run of the model `slow`, in its second turn.
struct Attached {
    child: Child,
    errors: Lines<BufReader<ChildStderr>>,
}

impl Attached {
    fn start(command: &mut Command) -> Attached {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut first = [0; 11];
        let stdout = child.stdout.as_mut().unwrap();
        stdout.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"One moment.");
        let mut attached = Attached { child, errors };
        let call = "calls bash_code_execution echo one >> log.txt";
        assert_eq!(attached.next_error(), call);
        attached
    }

    /// The next line on standard error.
    fn next_error(&mut self) -> String {
        self.errors.next().unwrap().unwrap()
    }

    /// The exit code, and the rest of standard output.
    fn end(self) -> (Option<i32>, String) {
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), text(&output.stdout).to_owned())
    }
}

#[test]
fn an_interrupt_ends_the_command_and_not_the_run_which_can_be_cancelled() {
    let bed = LongRuns::start();
    let run = bed.submit(&["-m", "slow", "Wait"]);
    let mut attached = Attached::start(&mut bed.command(&["runs", "attach", &run]));
    let pid = rustix::process::Pid::from_child(&attached.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let remark = attached.next_error().replace(bed.server.url(), "SERVER");
    assert_snapshot!(remark.replace(&run, "RUN"), @"the run goes on; follow it again with: prowess runs attach RUN --server SERVER");
    assert_eq!(attached.end(), (Some(1), "\n".to_owned()));

    let listed = bed.json(&["runs", "--json"]);
    assert_eq!(
        (&listed[0]["id"], &listed[0]["status"]),
        (&run.as_str().into(), &"running".into())
    );
    let response = run.replacen("run_", "resp_", 1);
    for id in [&run, &response] {
        let shown = bed.output(&["runs", id]);
        let line = format!("{run} running: slow, ");
        assert!(
            text(&shown.stdout).starts_with(&line),
            "{}",
            text(&shown.stdout)
        );
    }

    for id in [&response, &run] {
        let cancelled = bed.output(&["runs", "cancel", id]);
        assert_eq!(text(&cancelled.stdout), format!("{run} cancelled\n"));
    }
    let after = bed.shown(&["runs", "attach", &run], &run);
    assert_snapshot!(after, @"
    exit 1
    --- stdout
    One moment.
    --- stderr
    calls bash_code_execution echo one >> log.txt
    error: the run was cancelled
    ");
}

#[tokio::test]
async fn runs_of_every_api_can_be_followed() {
    let bed = LongRuns::start();
    let pushed = bed.json(&["skill", "push", "greet", "--json"]);
    let container = json!({"skills": [{"type": "custom", "skill_id": pushed["skill"]}]});
    let messages = json!([{"role": "user", "content": "A card, please"}]);
    let code = json!([{"type": "code_execution_20250825", "name": "code_execution"}]);
    let contents = json!([{"parts": [{"text": "A card, please"}]}]);
    let requests = [
        (
            "/v1/messages",
            json!({"model": "hero", "max_tokens": 99, "container": container, "tools": code,
                "messages": messages}),
            "Let me see.\nOne card, as requested.\n",
        ),
        (
            "/v1/chat/completions",
            json!({"model": "hero", "container": container, "messages": messages}),
            "Let me see.\n\nOne card, as requested.\n",
        ),
        (
            "/v1beta/models/hero:generateContent",
            json!({"contents": contents}),
            "You said: A card, please\n",
        ),
    ];
    let client = reqwest::Client::new();
    for (path, body, answer) in requests {
        let request = client.post(format!("{}{path}", bed.server.url()));
        let request = request.bearer_auth(MASTER).header("prowess-keep", "true");
        let response = request.json(&body).send().await.unwrap();
        let run = response.headers().get("prowess-run").cloned();
        let body = response.text().await.unwrap();
        let run = run.unwrap_or_else(|| unreachable!("{path}: {body}"));
        let output = bed.output(&["runs", "attach", run.to_str().unwrap()]);
        let errors = text(&output.stderr);
        assert_eq!(text(&output.stdout), answer, "{path}");
        assert_eq!(output.status.code(), Some(0), "{path}: {errors}");
        assert!(!errors.contains("error"), "{path}: {errors}");
    }
}

#[test]
fn a_connection_that_breaks_is_repaired_without_loss() {
    let bed = LongRuns::start();
    let run = bed.submit(&["-m", "hero", "--skill", "greet", "A card, please"]);
    let whole = bed.output(&["runs", "attach", &run]);
    let proxy = CuttingProxy::start(bed.server.url());
    let mut attach = bed.command(&["runs", "attach", &run]);
    let cut = attach.env("PROWESS_URL", proxy.url()).output().unwrap();
    assert_eq!(text(&cut.stdout), text(&whole.stdout));
    assert_eq!(cut.status.code(), Some(0));
    let lost = text(&cut.stderr)
        .matches("connection lost, reconnecting")
        .count();
    assert!(lost > 1, "{}", text(&cut.stderr));
    assert!(proxy.cut_connections() > 1);
}

#[test]
fn a_run_is_followed_over_the_death_of_its_server() {
    // The run is resumed when the lease of its first server has run out.
    let lease = ("PROWESS_RUN_LEASE_MS", "1000");
    let mut bed = LongRuns::start_with(&[lease]);
    let run = bed.submit(&["-m", "slow", "Wait"]);
    let proxy = CuttingProxy::without_cuts(bed.server.url());
    let mut attach = bed.command(&["runs", "attach", &run]);
    attach.env("PROWESS_URL", proxy.url());
    let mut attached = Attached::start(&mut attach);
    bed.server.kill();
    assert_eq!(attached.next_error(), "connection lost, reconnecting");

    // The second turn is requested again, and does not hang this time.
    let script = SCRIPT.replace("delay_ms = 600000", "delay_ms = 1");
    std::fs::write(bed.config.path().join("script.toml"), script).unwrap();
    let config = bed.config.path().join("prowess.toml");
    let config = ("PROWESS_CONFIG", config.to_str().unwrap());
    bed.server.kill_and_restart(&[config, lease]);
    proxy.set_target(bed.server.url());
    // The finished turn is not repeated.
    let rest = "\nThat took long.\n".to_owned();
    assert_eq!(attached.end(), (Some(0), rest));
}

#[test]
fn help_describes_following_and_cancelling() {
    let folder = tempfile::tempdir().unwrap();
    let help = |args: &[&str]| {
        let mut command = prowess(folder.path());
        let output = command.env_remove("PROWESS_DATA_DIR").args(args).output();
        text(&output.unwrap().stdout).to_owned()
    };
    assert_snapshot!(help(&["runs", "--help"]), @"
    List runs, show one, follow or cancel a run of a server

    Usage: prowess runs [OPTIONS] [ID]
           prowess runs <COMMAND>

    Commands:
      attach  Follow a run of a server until it ends
      cancel  Cancel a run of a server

    Arguments:
      [ID]  The run to show (run_…, resp_…); without one, the newest are listed

    Options:
          --limit <LIMIT>      How many to list [default: 20]
          --state <STATE>      Only runs in this state, such as running, completed, failed or
                               interrupted
          --model <MODEL>      Only runs of this model
          --skill <SKILL>      Only runs with this skill, by its id or name
          --key <ID>           Only runs of this key, by its id
          --since <TIME>       Only runs since this time: 7d, 24h, 2026-11-01
          --until <TIME>       Only runs before this time
          --server <URL>       The server's URL; without it, the local store
          --api-key <KEY>      With --server: an API key, or the master key [env: PROWESS_API_KEY]
          --tenant <TENANT>    Without --server: the tenant [default: default]
          --json               Print JSON
          --config <FILE>      Configuration file; default: prowess.toml in the current folder, if it
                               exists [env: PROWESS_CONFIG=]
          --data-dir <FOLDER>  Data directory (database, files, sandboxes) [env: PROWESS_DATA_DIR=]
      -h, --help               Print help
    ");
    assert_snapshot!(help(&["runs", "attach", "--help"]), @"
    Follow a run of a server until it ends

    Usage: prowess runs attach [OPTIONS] <ID>

    Arguments:
      <ID>  The run (run_…), or its response (resp_…)

    Options:
          --json           Print only JSON, one line per event
          --server <URL>   Server URL; default http://127.0.0.1:4141 [env: PROWESS_URL=]
          --api-key <KEY>  API key [env: PROWESS_API_KEY]
      -h, --help           Print help

    The answer is printed from its beginning, as `prowess run` prints it. A broken connection is
    repaired. Ctrl-C ends this command, and not the run.

    Exit codes:
      0  the model completed its answer
      1  the run failed, was cancelled or cut short by a limit, or Ctrl-C was pressed
      2  wrong usage
      3  the run cannot be followed
    ");
}
