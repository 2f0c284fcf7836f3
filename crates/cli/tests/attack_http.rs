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

use server::{MASTER, TestServer, prowess};

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
    get_with(server, path, MASTER)
}

fn get_with(server: &TestServer, path: &str, key: &str) -> String {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\nconnection: close\r\n\r\n"
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

/// A key of a tenant that may only read.
fn read_key(server: &TestServer, tenant: &str) -> String {
    let mut command = prowess(server.folder());
    command.args(["keys", "create", "test", "--tenant", tenant]);
    let output = command
        .args(["--scope", "read", "--json"])
        .output()
        .unwrap();
    let made: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    made["key"].as_str().unwrap().to_owned()
}

/// Signs in to the console; returns the cookie.
fn sign_in(server: &TestServer, key: &str) -> String {
    let form = format!("key={key}");
    let request = format!(
        "POST /console/sign-in HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-origin\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{form}",
        form.len()
    );
    let answer = String::from_utf8(rest(send(server, request.as_bytes()))).unwrap();
    let cookie = answer.split("set-cookie: ").nth(1).unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// A tenant has half of the connections, also when its requests are forms of the console.
#[test]
fn unfinished_forms_of_the_console_shut_no_other_tenant_out() {
    let folder = tempfile::tempdir().unwrap();
    let lines = format!("connections = {PLACES}\nconnections_per_address = {PLACES}");
    let server = start(folder.path(), &lines);
    let cookie = sign_in(&server, &read_key(&server, "slow"));
    let other = read_key(&server, "other");
    let request = format!(
        "POST /console/playground HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-origin\r\n\
         cookie: {cookie}\r\ncontent-type: multipart/form-data; boundary=X\r\n\
         expect: 100-continue\r\ncontent-length: 9999\r\n\r\n"
    );
    let (mut open, mut refused) = (Vec::new(), 0);
    for _ in 0..PLACES + 6 {
        let mut stream = send(&server, request.as_bytes());
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        match &status {
            b"HTTP/1.1 100" => open.push(stream),
            b"HTTP/1.1 429" => refused += 1,
            other => panic!("{}", String::from_utf8_lossy(other)),
        }
    }
    assert_eq!((open.len(), refused), (PLACES / 2, PLACES / 2 + 6));
    let answer = get_with(&server, "/v1/skills", &other);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
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
