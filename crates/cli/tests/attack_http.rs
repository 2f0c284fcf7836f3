//! Attacks on the server's connections, over real sockets to the real program.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use server::{MASTER, TestServer};

/// What HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty frame of settings.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Places for connections, fewer than any test opens.
const PLACES: usize = 64;

/// A server with these lines in its `[server]`.
fn start(folder: &Path, lines: &str) -> TestServer {
    let config = folder.join("prowess.toml");
    std::fs::write(&config, format!("[server]\n{lines}\n")).unwrap();
    TestServer::start(&[("PROWESS_CONFIG", config.to_str().unwrap())])
}

fn connect(server: &TestServer) -> TcpStream {
    TcpStream::connect(server.url().trim_start_matches("http://")).unwrap()
}

fn send(server: &TestServer, bytes: &[u8]) -> TcpStream {
    let mut stream = connect(server);
    stream.write_all(bytes).unwrap();
    stream
}

/// Everything up to the end, however it ends.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut piece = [0; 4_096];
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        all.extend_from_slice(&piece[..read]);
    }
    all
}

fn get(server: &TestServer, path: &str) -> String {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {MASTER}\r\nconnection: close\r\n\r\n"
    );
    String::from_utf8(rest(send(server, request.as_bytes()))).unwrap()
}

/// Beginnings of connections that never become a request.
fn silences() -> Vec<Vec<u8>> {
    vec![
        Vec::new(),
        b"P".to_vec(),
        PREFACE[..PREFACE.len() / 2].to_vec(),
        PREFACE.to_vec(),
        [PREFACE, SETTINGS].concat(),
        b"POST /v1/messages HTTP/1.1\r\nhost: ".to_vec(),
    ]
}

/// No time limit could have closed these: they are an hour long.
#[test]
fn silent_connections_shut_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let lines = format!("connections = {PLACES}\nhead_seconds = 3600\nidle_seconds = 3600");
    let server = start(folder.path(), &lines);
    for bytes in silences() {
        let silent: Vec<TcpStream> = (0..70).map(|_| send(&server, &bytes)).collect();
        for path in ["/healthz", "/readyz", "/v1/skills"] {
            let answer = get(&server, path);
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        }
        drop(silent);
    }
}

#[test]
fn silent_connections_do_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "head_seconds = 1\nidle_seconds = 1");
    let mut silent: Vec<TcpStream> = silences().iter().map(|s| send(&server, s)).collect();
    // One that had a request, and one that begins a second.
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    silent.push(send(&server, request));
    silent.push(send(&server, &[&request[..], b"GET /he"].concat()));
    for stream in silent {
        rest(stream);
    }
}

/// As far as the system lets it; beyond a million there is no use.
#[cfg(target_os = "linux")]
#[test]
fn the_limit_on_open_files_is_raised() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "connections = 2000");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let mut numbers = line.unwrap().split_whitespace().skip(3);
    let (soft, hard) = (numbers.next().unwrap(), numbers.next().unwrap());
    let most = hard.parse::<u64>().unwrap_or(u64::MAX).min(1 << 20);
    assert!(soft.parse().unwrap_or(u64::MAX) >= most, "{limits}");
}
