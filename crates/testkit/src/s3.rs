//! A server that speaks S3, for the length of a test: `moto_server`, from the
//! Python package `moto`.
//!
//! As with [`postgres`](crate::postgres), a small shell process watches over it
//! and ends it when the test process ends, in whatever way.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "without its server a test must stop, and say why"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::bytecode::keep_bytecode;

/// Runs the server on a free port, with its output here, until our input ends. Only the
/// server writes to our output: if it ends at once, so does the output.
const WATCHER: &str = r#"
    "$1" -H 127.0.0.1 -p 0 2>&1 </dev/null &
    server=$!
    exec >/dev/null 2>&1
    read -r _
    kill "$server"
"#;

/// A running server, stopped when this is dropped or the process ends.
pub struct TestS3 {
    address: String,
    watcher: Child,
    input: Option<ChildStdin>,
}

impl TestS3 {
    /// Starts a server without any bucket.
    ///
    /// # Panics
    ///
    /// When `moto_server` is not installed, with what to do; or when it does not start.
    pub fn start() -> Self {
        let mut watcher = Command::new("/bin/sh");
        watcher.args(["-c", WATCHER, "sh"]).arg(program());
        let mut watcher = keep_bytecode(&mut watcher)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let input = watcher.stdin.take().unwrap();
        let mut output = BufReader::new(watcher.stdout.take().unwrap()).lines();
        let address = output.find_map(|line| {
            let line = line.unwrap();
            let (_, address) = line.split_once("Running on http://")?;
            Some(address.trim().to_owned())
        });
        // Its later output must be read, or it would block.
        std::thread::spawn(move || output.count());
        let Some(address) = address else {
            panic!("moto_server did not start");
        };
        TestS3 {
            address,
            watcher,
            input: Some(input),
        }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes a bucket.
    pub fn bucket(&self, name: &str) {
        let answer = self.send_request(&format!("PUT /{name}"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// The keys of all objects in a bucket.
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        let answer = self.send_request(&format!("GET /{bucket}?list-type=2"));
        let keys = answer.split("<Key>").skip(1);
        keys.filter_map(|rest| rest.split_once("</Key>"))
            .map(|(key, _)| key.to_owned())
            .collect()
    }

    fn send_request(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "Host: {}\r\nContent-Length: 0\r\nConnection: close",
            self.address
        );
        write!(stream, "{request} HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for TestS3 {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.watcher.wait();
    }
}

/// In the Python environment of the tests, or on the PATH.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let installed = test
        .ancestors()
        .map(|folder| folder.join("test-venv/bin/moto_server"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("moto_server"));
    let found = installed.chain(on_path).find(|program| program.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "this test needs `moto_server`, which is neither in test-venv below the target folder \
             nor on the PATH: run `cargo xtask test`, which installs it, or `pip install moto[server]`"
        )
    })
}
