//! A real OpenTelemetry collector: Rotel, which passes on what it gets.

use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use prowess_testkit::watched::{WatchedProcess, find_program, free_port};
use tempfile::TempDir;

const MAX_WAIT: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_millis(20);

/// A running collector, killed when this is dropped.
pub(super) struct Rotel {
    /// Where it takes OTLP over HTTP, and over gRPC.
    ports: (u16, u16),
    destination: String,
    folder: TempDir,
    process: WatchedProcess,
}

impl Rotel {
    /// Starts one that passes everything on to this address.
    pub(super) fn start(destination: &str) -> Rotel {
        let (ports, folder) = ((free_port(), free_port()), tempfile::tempdir().unwrap());
        let process = spawn(ports, destination, &folder);
        Rotel {
            ports,
            destination: destination.to_owned(),
            folder,
            process,
        }
    }

    /// Where it takes OTLP over HTTP.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.0)
    }

    /// Asks it to stop, and waits for its end.
    pub(super) fn stop(&self) {
        self.process.signal("TERM");
        self.process.wait();
    }

    /// Starts it again where it was.
    pub(super) fn restart(&mut self) {
        self.process = spawn(self.ports, &self.destination, &self.folder);
    }

    /// What it has logged since it was started last.
    pub(super) fn log(&self) -> String {
        self.process.log()
    }
}

/// Starts it, and waits until it listens.
fn spawn((http, grpc): (u16, u16), destination: &str, folder: &TempDir) -> WatchedProcess {
    let program = find_program("rotel", "rotel/bin", "the Python package rotel");
    let mut command = Command::new(program);
    command
        .args(["--log-format", "json", "start", "--exporter", "otlp"])
        .args(["--otlp-exporter-protocol", "http"])
        .args(["--otlp-exporter-endpoint", destination])
        .args(["--otlp-http-endpoint", &format!("127.0.0.1:{http}")])
        .args(["--otlp-grpc-endpoint", &format!("127.0.0.1:{grpc}")])
        .arg("--pid-file")
        .arg(folder.path().join("rotel.pid"))
        .arg("--log-file")
        .arg(folder.path().join("rotel.log"))
        .current_dir(folder.path());
    let process = WatchedProcess::start("Rotel", &command);
    let deadline = Instant::now() + MAX_WAIT;
    while TcpStream::connect(("127.0.0.1", http)).is_err() {
        let ended = process.status().is_some() || Instant::now() > deadline;
        assert!(!ended, "Rotel does not listen:\n{}", process.log());
        std::thread::sleep(INTERVAL);
    }
    process
}
