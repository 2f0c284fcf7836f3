//! A PostgreSQL server that goes with the process that started it.
//!
//! It listens on a socket in a temporary folder only, so any number of them run
//! side by side; a durable one also on a port of this machine. A small shell process
//! watches over it: when the process that started it ends, in whatever way, the watcher's
//! input ends, and server and folder go.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "without its database a test must stop, and say why"
)]

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::commands::{
    NOBODY, assert_success, execute, find_programs, owner_uid, programs, socket_url, unprivileged,
};
use super::shared;
use crate::kept_folder;
use crate::watched::free_port;

/// Starts the server, reports that, and stops it when its own input ends.
const WATCHER: &str = r#"
    "$1/pg_ctl" start -w -s -D "$2/data" -l "$2/log" -o "-k '$2' -c max_connections=200 $3" \
        </dev/null >&2 && echo ready
    read -r _
    "$1/pg_ctl" stop -s -m immediate -D "$2/data" >&2
    rm -rf "$2"
"#;

/// Of a server whose data may be lost with its machine.
const FAST: &str = "-c listen_addresses='' -c fsync=off -c synchronous_commit=off \
    -c full_page_writes=off";

/// Of the server that tests share, beside those. Statistics and dead rows of one test must not
/// take the time of another; and a connection is refused rather than memory used up.
const SHARED: &str = "-c autovacuum=off -c max_connections=400";

/// Of a new server's files.
const INITDB_OPTIONS: [&str; 9] = [
    "-A",
    "trust",
    "-U",
    "postgres",
    "-E",
    "UTF8",
    "--locale=C",
    "--no-sync",
    "--no-instructions",
];

/// How long a killed server may take until it runs again.
const MAX_RECOVERY: Duration = Duration::from_secs(60);

/// A running server. It is stopped and removed when this is dropped, or when the
/// process ends.
pub struct PostgresServer {
    folder: PathBuf,
    programs: PathBuf,
    watcher: Child,
    input: Option<ChildStdin>,
    databases: AtomicU32,
    /// Where a durable server listens.
    port: Option<u16>,
}

impl PostgresServer {
    /// Starts a server with an empty cluster.
    ///
    /// # Panics
    ///
    /// When PostgreSQL is not installed, with what to install; or when it does not start.
    pub fn start() -> Self {
        PostgresServer::start_with(FAST, None)
    }

    /// Starts a server as one runs in production: what it has committed is on the disk. It
    /// listens on a port too.
    ///
    /// # Panics
    ///
    /// As [`PostgresServer::start`].
    pub fn start_durable() -> Self {
        let port = free_port();
        // On the socket too, under the same number.
        let options = format!("-c listen_addresses=127.0.0.1 -c port={port}");
        PostgresServer::start_with(&options, Some(port))
    }

    /// Starts the server that the tests of a whole run share: they find it by
    /// [`SHARED_SERVER`](super::SHARED_SERVER), which must name its folder.
    ///
    /// # Panics
    ///
    /// As [`PostgresServer::start`].
    pub fn start_shared() -> Self {
        let server = PostgresServer::start_with(&format!("{FAST} {SHARED}"), None);
        let records = shared::records(&server.folder);
        fs::create_dir(&records).unwrap();
        if owner_uid(&server.folder) == NOBODY {
            // The watcher removes it.
            chown(&records, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        server
    }

    /// Whether the programs of a server are installed.
    pub fn is_installed() -> bool {
        find_programs().is_some()
    }

    /// Where its files and its socket are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn start_with(options: &str, port: Option<u16>) -> Self {
        let programs = programs();
        let folder = tempfile::Builder::new()
            .prefix("prowess-pg-")
            .tempdir()
            .unwrap()
            .keep();
        if owner_uid(&folder) == 0 {
            chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        create_cluster(&programs, &folder);
        let (watcher, input) = start_watcher(&programs, &folder, options);
        PostgresServer {
            folder,
            programs,
            watcher,
            input: Some(input),
            databases: AtomicU32::new(0),
            port,
        }
    }

    /// The URL of a database that is empty and that nobody else gets.
    pub fn database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        // Every server begins with one, and most tests need no other.
        if number == 0 {
            return self.database_url("postgres");
        }
        let name = format!("test_{number}");
        let create = format!("CREATE DATABASE {name}");
        execute(&self.programs, &self.folder, self.port, &[create]);
        self.database_url(&name)
    }

    fn database_url(&self, name: &str) -> String {
        match self.port {
            Some(port) => format!("postgres://postgres@127.0.0.1:{port}/{name}"),
            None => socket_url(&self.folder, name),
        }
    }

    /// The port of a durable server.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Kills the server without a warning, as a crash of its machine would end it.
    pub fn kill(&self) {
        let pid = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap();
        let pid = pid.lines().next().unwrap();
        let mut kill = Command::new("/bin/sh");
        kill.args(["-c", &format!("kill -KILL {pid}")]);
        assert!(kill.status().unwrap().success());
    }

    /// Starts it again after [`PostgresServer::kill`]. Its last processes may not have ended yet:
    /// as long as they hold its memory, it refuses to start.
    pub fn recover(&self) {
        let deadline = Instant::now() + MAX_RECOVERY;
        while !self.pg_ctl(&["restart", "-w"]) {
            assert!(Instant::now() < deadline, "PostgreSQL does not recover");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops the server under its clients. What was committed stays.
    pub fn stop(&self) {
        self.run_pg_ctl(&["stop", "-w", "-m", "fast"]);
    }

    /// Starts it again after [`PostgresServer::stop`], as it was started at first.
    pub fn restart(&self) {
        self.run_pg_ctl(&["restart", "-w"]);
    }

    fn run_pg_ctl(&self, args: &[&str]) {
        assert!(self.pg_ctl(args), "pg_ctl {args:?} failed");
    }

    fn pg_ctl(&self, args: &[&str]) -> bool {
        let mut control = unprivileged(&self.programs.join("pg_ctl"), &self.folder);
        control
            .args(args)
            .arg("-s")
            .arg("-D")
            .arg(self.folder.join("data"));
        // What it starts must not keep our output open.
        control.arg("-l").arg(self.folder.join("log"));
        control.stdin(Stdio::null()).stdout(Stdio::null());
        let status = control.stderr(Stdio::null()).status().unwrap();
        status.success()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.watcher.wait();
    }
}

/// Makes the files of a new server in `data`. Making them takes longer than all the rest of most
/// tests, so they are made once for each version of PostgreSQL.
fn create_cluster(programs: &Path, folder: &Path) {
    let program = programs.join("initdb");
    let version = Command::new(&program).arg("--version").output().unwrap();
    assert_success(&version, "initdb --version");
    let mut hasher = DefaultHasher::new();
    (&version.stdout, INITDB_OPTIONS, owner_uid(folder)).hash(&mut hasher);
    let name = format!("postgres-{:016x}", hasher.finish());
    let data = folder.join("data");
    kept_folder::copy_or_make(&name, &data, || {
        let mut initdb = unprivileged(&program, folder);
        initdb.args(INITDB_OPTIONS).arg("-D").arg(&data);
        assert_success(&initdb.output().unwrap(), "initdb");
    });
}

fn start_watcher(programs: &Path, folder: &Path, options: &str) -> (Child, ChildStdin) {
    let mut watcher = unprivileged(Path::new("/bin/sh"), folder)
        .args(["-c", WATCHER, "sh"])
        .args([programs, folder])
        .arg(options)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .stdout(Stdio::piped())
        // A signal to the test's group, as Ctrl-C is one, must not end the watcher.
        .process_group(0)
        .spawn()
        .unwrap();
    let input = watcher.stdin.take().unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(watcher.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    if line.trim() != "ready" {
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        panic!("PostgreSQL did not start in {}:\n{log}", folder.display());
    }
    (watcher, input)
}
