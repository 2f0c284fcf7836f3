//! One gateway or worker: its process, which ends and starts again, and its networks.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tcp_proxy::TcpProxy;
use crate::watched::WatchedProcess;

/// A gateway or a worker.
#[derive(Debug)]
pub struct FleetMember {
    name: String,
    /// The program, its arguments, folder and variables.
    command: Command,
    /// What the line contains that it logs when it is ready.
    ready: &'static str,
    folder: PathBuf,
    port: Option<u16>,
    process: Option<WatchedProcess>,
    /// Logs of its earlier processes.
    earlier_log: String,
    /// Its network to the database.
    pub database: Option<TcpProxy>,
    /// Its network to NATS.
    pub messages: Option<TcpProxy>,
    /// Its network to the S3 server. Workers use that of the gateway whose command they run.
    pub blobs: Option<TcpProxy>,
}

impl FleetMember {
    pub(super) fn gateway(
        binary: &Path,
        name: &str,
        folder: PathBuf,
        port: u16,
        variables: Vec<(String, String)>,
    ) -> Self {
        let mut command = program(binary, &folder, variables);
        let listen = format!("127.0.0.1:{port}");
        command
            .args(["serve", "--config", "prowess.toml", "--listen", &listen])
            .env("PROWESS_DATA_DIR", folder.join("data"));
        FleetMember {
            ready: "listening on ",
            port: Some(port),
            ..FleetMember::new(name, command, folder)
        }
    }

    pub(super) fn worker(
        binary: &Path,
        name: &str,
        folder: PathBuf,
        variables: Vec<(String, String)>,
    ) -> Self {
        let mut command = program(binary, &folder, variables);
        command.args(["worker", "--config", "worker.toml"]);
        FleetMember::new(name, command, folder)
    }

    fn new(name: &str, command: Command, folder: PathBuf) -> Self {
        FleetMember {
            name: name.to_owned(),
            command,
            ready: "worker ready",
            folder,
            port: None,
            process: None,
            earlier_log: String::new(),
            database: None,
            messages: None,
            blobs: None,
        }
    }

    /// Its id in the cluster.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its own folder, with its configuration and data.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a gateway listens, also when it is started again.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The URL of a gateway.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.unwrap())
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().unwrap().pid()
    }

    /// Uses another binary from the next start on.
    pub fn set_binary(&mut self, binary: &Path) {
        self.command = self.command_of(binary.as_os_str());
    }

    /// The same arguments, folder and variables for this program.
    fn command_of(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command.args(self.command.get_args());
        command.current_dir(&self.folder);
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Starts a process with these variables besides its own.
    pub(super) fn spawn(&mut self, variables: &[(&str, &str)]) {
        if let Some(process) = &self.process {
            self.earlier_log += &process.log();
        }
        let mut command = self.command_of(self.command.get_program());
        command.envs(variables.iter().copied());
        self.process = Some(WatchedProcess::start(&self.name, &command));
    }

    /// Waits until it says that it is ready.
    ///
    /// # Panics
    ///
    /// When it does not; with its log.
    pub fn wait_until_ready(&self) {
        let process = self.process.as_ref().unwrap();
        process.wait_for_line(|line| line.contains(self.ready).then_some(()));
    }

    /// Starts it again with these variables, after killing it if it still runs. Returns before it
    /// is ready.
    pub fn restart(&mut self, variables: &[(&str, &str)]) {
        self.kill();
        self.spawn(variables);
    }

    /// Kills it without a warning, stopped or not.
    pub fn kill(&self) {
        self.process.as_ref().unwrap().kill();
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Stops it where it is; [`FleetMember::resume`] lets it go on.
    pub fn stop(&self) {
        self.signal("STOP");
    }

    /// Lets it go on after it was stopped.
    pub fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        self.process.as_ref().unwrap().signal(signal);
    }

    /// How it ended, if it has: 128 and more for a signal.
    pub fn status(&self) -> Option<i32> {
        self.process.as_ref().unwrap().status()
    }

    /// Waits for its end.
    pub fn wait(&self) -> i32 {
        self.process.as_ref().unwrap().wait()
    }

    /// Whether it is stopped, by a signal of ours or at a fail point.
    pub fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()));
        let stat = stat.unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        state.is_some_and(|state| state.starts_with('T'))
    }

    /// All that it and its earlier processes have logged.
    pub fn log(&self) -> String {
        let now = self.process.as_ref().map(WatchedProcess::log);
        self.earlier_log.clone() + &now.unwrap_or_default()
    }
}

/// The binary with nothing of the caller's environment that would change it.
fn program(binary: &Path, folder: &Path, variables: Vec<(String, String)>) -> Command {
    let mut command = Command::new(binary);
    command.current_dir(folder);
    let inherited = std::env::vars_os().map(|(name, _)| name);
    for name in inherited.filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("PROWESS_") || name.starts_with("ANTHROPIC_")
    }) {
        command.env_remove(name);
    }
    command.env("PROWESS_LOG", "warn").envs(variables);
    command
}
