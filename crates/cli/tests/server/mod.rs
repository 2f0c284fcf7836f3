//! The real server, for the length of a test.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test binary uses what it needs of this module"
)]
#![expect(
    clippy::panic,
    reason = "without its server a test must stop, and say why"
)]

#[path = "../../../cluster/tests/one_worker/left_out.rs"]
mod left_out;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

/// The key that may do everything.
pub(crate) const MASTER: &str = "the-master-key-of-these-tests";

/// The test that is a gateway with a worker if this variable is set.
pub(crate) const GATEWAY_TEST: &str = "gateway::commands_run_at_a_worker";
pub(crate) const GATEWAY_VARIABLE: &str = "PROWESS_TEST_GATEWAY";

/// A running server, killed when this is dropped.
pub(crate) struct TestServer {
    child: Child,
    url: String,
    log: Log,
    folder: TempDir,
}

/// Its log so far.
type Log = Arc<Mutex<String>>;

impl TestServer {
    /// Starts it on a free port with a new data folder, and with these variables.
    pub(crate) fn start(variables: &[(&str, &str)]) -> TestServer {
        TestServer::start_with(&[], variables)
    }

    /// The same with more arguments, which the gateway of a cluster in this process has not.
    pub(crate) fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let (child, url, log) = spawn(folder.path(), arguments, variables);
        TestServer {
            child,
            url,
            log,
            folder,
        }
    }

    /// Kills it without a warning, and starts another one over the same data.
    pub(crate) fn kill_and_restart(&mut self, variables: &[(&str, &str)]) {
        self.kill();
        (self.child, self.url, self.log) = spawn(self.folder.path(), &[], variables);
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop and gives what it logged: a server that is killed loses the lines
    /// that its log writer still holds.
    pub(crate) fn log(&mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.wait();
        // Its last words are read by another thread, which lets go at their end.
        while Arc::strong_count(&self.log) > 1 {
            std::thread::yield_now();
        }
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, once it has.
    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether servers of this test binary are gateways of a cluster: the one that runs tests of
/// others a second time.
pub(crate) fn is_over_a_cluster() -> bool {
    env!("CARGO_CRATE_NAME") == "over_a_cluster"
}

/// Whether a test is not run over a cluster, which this is.
pub(crate) fn is_left_out(test: &str) -> bool {
    is_over_a_cluster() && left_out::is_left_out(test)
}

/// So many seconds for `sleep`, but not those of the same test in another binary, which looks for
/// its own process on the whole machine.
pub(crate) fn sleep_seconds(seconds: u32) -> String {
    let apart = if is_over_a_cluster() { 100_000 } else { 0 };
    (seconds + apart).to_string()
}

/// Our binary, with nothing of the caller's environment that would change it.
pub(crate) fn prowess(folder: &Path) -> Command {
    program(env!("CARGO_BIN_EXE_prowess"), folder)
}

fn program(path: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(path);
    let inherited = std::env::vars_os().map(|(name, _)| name);
    for name in inherited.filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("PROWESS_") || name.starts_with("ANTHROPIC_")
    }) {
        command.env_remove(name);
    }
    command
        .current_dir(folder)
        .env("PROWESS_DATA_DIR", folder.join("data"));
    command
}

/// What starts a server on a free port.
fn serve(folder: &Path) -> Command {
    if !is_over_a_cluster() {
        let mut command = prowess(folder);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        return command;
    }
    // There is no such program: one of our own tests becomes it.
    let mut command = program(std::env::current_exe().unwrap(), folder);
    command
        .args(["--exact", GATEWAY_TEST, "--nocapture"])
        .env(GATEWAY_VARIABLE, "1");
    command
}

fn spawn(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> (Child, String, Log) {
    let mut child = serve(folder)
        .args(arguments)
        .env("PROWESS_MASTER_KEY", MASTER)
        .env("PROWESS_LOG", "warn")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let log = Log::default();
    let keep = |log: &Log, line: &str| *log.lock().unwrap() += &format!("{line}\n");
    let url = loop {
        let Some(line) = lines.next() else {
            panic!(
                "the server ended before it listened:\n{}",
                log.lock().unwrap()
            );
        };
        let line = line.unwrap();
        keep(&log, &line);
        if let Some(url) = line.strip_prefix("listening on ") {
            break url.to_owned();
        }
    };
    let rest = log.clone();
    std::thread::spawn(move || {
        lines
            .map_while(Result::ok)
            .for_each(|line| keep(&rest, &line))
    });
    (child, url, log)
}
