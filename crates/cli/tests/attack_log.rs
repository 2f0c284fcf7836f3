//! A log that cannot be written, or that nobody reads, makes no request fail.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const REQUESTS: usize = 2_000;
/// The state of a socket that listens, as the system writes it.
const LISTENING: &str = "0A";
/// Every so many requests one is for a model.
const MODEL_EVERY: usize = 20;
const CHAT: &str = r#"{"model":"demo","messages":[{"role":"user","content":"Hello"}]}"#;
/// Far longer than anything here takes, also on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A running server; killed when dropped.
struct TestServer {
    child: Child,
    address: String,
    _folder: TempDir,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TestServer {
    fn spawn(listen: &str, stderr: Stdio) -> (Child, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway");
        let child = Command::new(env!("CARGO_BIN_EXE_prowess"))
            .env_clear()
            .current_dir(folder.path())
            .args(["serve", "--log", "info", "--listen", listen])
            .arg("--config")
            .arg(example.join("prowess.toml"))
            .arg("--data-dir")
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .unwrap();
        (child, folder)
    }

    /// A server whose log goes into a pipe, read up to where it says that it listens.
    fn piped() -> (TestServer, BufReader<ChildStderr>) {
        let (mut child, folder) = TestServer::spawn("127.0.0.1:0", Stdio::piped());
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("listening on ") {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "it ended");
        }
        let address = line.trim().rsplit('/').next().unwrap().to_owned();
        let served = TestServer {
            child,
            address,
            _folder: folder,
        };
        (served, log)
    }

    /// A server whose log goes there. It cannot say where it listens; the system can.
    fn with_log(stderr: File) -> TestServer {
        let (child, folder) = TestServer::spawn("127.0.0.1:0", stderr.into());
        let mut served = TestServer {
            child,
            address: String::new(),
            _folder: folder,
        };
        let until = Instant::now() + TIMEOUT;
        loop {
            assert_eq!(served.child.try_wait().unwrap(), None, "it ended");
            if let Some(port) = listening_port(served.child.id()) {
                served.address = format!("127.0.0.1:{port}");
                return served;
            }
            assert!(Instant::now() < until, "it does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends requests one after the other; gives their ids. Each must be answered.
    fn send_requests(&self, count: usize) -> Vec<String> {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut connection = BufReader::new(stream);
        let ask = |number: usize| {
            let request = match number % MODEL_EVERY {
                0 => format!(
                    "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: \
                     application/json\r\ncontent-length: {}\r\n\r\n{CHAT}",
                    CHAT.len()
                ),
                _ => "GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
            };
            let sent = connection.get_mut().write_all(request.as_bytes());
            assert!(sent.is_ok(), "request {number} cannot be sent: {sent:?}");
            read_answer(&mut connection, number)
        };
        (0..count).map(ask).collect()
    }

    /// Asks it to end, and waits for that.
    fn stop(&mut self) -> ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        let until = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The port on which a process listens, if it does: of all sockets of the system the one
/// that is among its files.
fn listening_port(pid: u32) -> Option<u16> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let links: Vec<PathBuf> = files
        .flatten()
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .collect();
    let sockets = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).ok()?;
    sockets.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let link = PathBuf::from(format!("socket:[{inode}]"));
        let (_, port) = local.split_once(':')?;
        let found = *state == LISTENING && links.contains(&link);
        found.then(|| u16::from_str_radix(port, 16).ok())?
    })
}

/// Reads one answer, which must be a good one; gives the request's id.
fn read_answer(connection: &mut BufReader<TcpStream>, number: usize) -> String {
    let (mut id, mut length) = (String::new(), 0);
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{number}: {line:?}");
    while line != "\r\n" {
        line.clear();
        connection.read_line(&mut line).unwrap();
        match line.trim().split_once(": ") {
            Some(("request-id", value)) => value.clone_into(&mut id),
            Some(("content-length", value)) => length = value.parse().unwrap(),
            _ => {}
        }
    }
    connection.read_exact(&mut vec![0; length]).unwrap();
    id
}

#[test]
fn a_log_whose_reader_is_gone_costs_no_answer() {
    let (mut served, log) = TestServer::piped();
    drop(log);
    served.send_requests(REQUESTS);
    assert!(served.stop().success());
}

#[test]
fn a_log_whose_reader_stands_still_costs_no_answer_and_no_end() {
    let (mut served, log) = TestServer::piped();
    served.send_requests(REQUESTS);
    assert!(served.stop().success());
    drop(log);
}

#[test]
fn a_log_on_a_full_disk_costs_no_answer() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut served = TestServer::with_log(full);
    served.send_requests(REQUESTS);
    let metrics = get(&served.address, "/metrics");
    let counter = "prowess_log_lines_dropped_total ";
    let dropped = metrics.lines().find_map(|line| line.strip_prefix(counter));
    assert!(dropped.is_some_and(|count| count != "0"), "{metrics}");
    assert!(served.stop().success());
}

#[test]
fn every_line_arrives_in_order_and_the_last_ones_before_the_end() {
    let (mut served, mut log) = TestServer::piped();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        text
    });
    let ids = served.send_requests(REQUESTS);
    assert!(served.stop().success());
    let text = reader.join().unwrap();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let done: Vec<Value> = lines.filter(|line| line["message"] == "done").collect();
    let logged: Vec<&str> = done
        .iter()
        .map(|line| line["span"]["id"].as_str().unwrap())
        .collect();
    assert_eq!(logged, ids);
    let first = done.first().unwrap();
    let fields: Vec<_> = first.as_object().unwrap().keys().collect();
    let expected = ["timestamp", "level", "message", "status", "ms", "span"];
    assert_eq!(fields, expected);
    let span: Vec<_> = first["span"].as_object().unwrap().keys().collect();
    let expected = ["id", "method", "model", "path", "route", "tenant", "name"];
    assert_eq!(span, expected);
    assert!(text.contains("stopping: waiting for active requests"));
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
