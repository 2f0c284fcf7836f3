//! A real NATS server for the length of a test: core NATS without JetStream, on a port of its
//! own that stays the same when it is started again.

use std::process::Command;

use tempfile::TempDir;

use crate::watched::{WatchedProcess, find_program, free_port};

/// A running server, stopped when this is dropped or the process ends.
#[derive(Debug)]
pub struct Nats {
    port: u16,
    folder: TempDir,
    process: WatchedProcess,
}

impl Nats {
    /// Starts a server that everybody may use.
    ///
    /// # Panics
    ///
    /// When `nats-server` is not installed, with what to do; or when it does not start.
    pub fn start() -> Self {
        Nats::start_with_config("")
    }

    /// Starts a server with this configuration, which names no address.
    ///
    /// # Panics
    ///
    /// As [`Nats::start`].
    pub fn start_with_config(config: &str) -> Self {
        Nats::start_at(free_port(), config)
    }

    fn start_at(port: u16, config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("nats.conf"), config).unwrap();
        let process = spawn(port, &folder);
        Nats {
            port,
            folder,
            process,
        }
    }

    /// Where it listens: `nats://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The port where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills it without a warning.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Starts it again at the same address, after killing it if it still runs.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = spawn(self.port, &self.folder);
    }

    /// Sends it a signal, such as `STOP` and `CONT`.
    pub fn signal(&self, signal: &str) {
        self.process.signal(signal);
    }

    /// What it has logged since it was started last.
    pub fn log(&self) -> String {
        self.process.log()
    }
}

fn spawn(port: u16, folder: &TempDir) -> WatchedProcess {
    let program = find_program("nats-server", "cluster/usr/sbin", "Debian's nats-server");
    let mut command = Command::new(program);
    command
        .current_dir(folder.path())
        .args(["--addr", "127.0.0.1", "--port", &port.to_string()])
        .args(["--config", "nats.conf"]);
    let process = WatchedProcess::start("nats-server", &command);
    process.wait_for_line(|line| line.contains("Server is ready").then_some(()));
    process
}
