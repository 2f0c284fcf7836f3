//! A real HAProxy in front of servers of a test. It sends each request to the next server that
//! says it is ready, or to any if none does, and tries another if it cannot connect.

use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::watched::{WatchedProcess, find_program, free_port};

const MAX_START: Duration = Duration::from_secs(20);

/// A running HAProxy, stopped when this is dropped or the process ends.
#[derive(Debug)]
pub struct Haproxy {
    port: u16,
    folder: TempDir,
    process: WatchedProcess,
}

impl Haproxy {
    /// Starts one in front of these ports of this machine, which it asks for `ready_path`.
    ///
    /// # Panics
    ///
    /// When `haproxy` is not installed, with what to do; or when it does not start.
    pub fn start(servers: &[u16], ready_path: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let config = config(port, servers, ready_path);
        std::fs::write(folder.path().join("haproxy.cfg"), config).unwrap();
        let process = spawn(port, &folder);
        Haproxy {
            port,
            folder,
            process,
        }
    }

    /// Starts it again at the same address, after killing it without a warning.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = spawn(self.port, &self.folder);
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        self.process.log()
    }
}

fn spawn(port: u16, folder: &TempDir) -> WatchedProcess {
    let program = find_program("haproxy", "cluster/usr/sbin", "Debian's haproxy");
    let mut command = Command::new(&program);
    command
        .current_dir(folder.path())
        .args(["-db", "-f", "haproxy.cfg"]);
    // An unpacked package has its libraries beside it.
    if let Some(place) = program.ancestors().nth(3)
        && place.ends_with("cluster")
    {
        let arch = std::env::consts::ARCH;
        let libraries = place.join(format!("usr/lib/{arch}-linux-gnu"));
        command.env("LD_LIBRARY_PATH", libraries);
    }
    let process = WatchedProcess::start("haproxy", &command);
    let deadline = Instant::now() + MAX_START;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let ended = process.status().is_some() || Instant::now() > deadline;
        assert!(!ended, "haproxy did not start:\n{}", process.log());
        std::thread::sleep(Duration::from_millis(5));
    }
    process
}

fn config(port: u16, servers: &[u16], ready_path: &str) -> String {
    let mut text = format!(
        "global\n    maxconn 2000\n\
         defaults\n    mode http\n    timeout connect 2s\n    timeout client 120s\n    \
         timeout server 120s\n    retries 3\n    option redispatch 1\n    http-reuse never\n\
         listen gateways\n    bind 127.0.0.1:{port}\n    balance roundrobin\n    \
         option allbackups\n    option httpchk GET {ready_path}\n    http-check expect status 200\n    \
         default-server check inter 100ms fastinter 50ms downinter 50ms fall 1 rise 1\n"
    );
    for (number, server) in servers.iter().enumerate() {
        text += &format!(
            "    server gateway-{number} 127.0.0.1:{server}\n    \
             server unready-{number} 127.0.0.1:{server} backup no-check\n"
        );
    }
    text
}
