//! A real PostgreSQL for the length of a test.
//!
//! It listens on a socket in a temporary folder only, so any number of them run
//! side by side. A small shell process watches over it: when the test process
//! ends, in whatever way, the watcher's input ends, and server and folder go.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "without its database a test must stop, and say why"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// PostgreSQL refuses to run as root; this is who runs it then.
const NOBODY: u32 = 65_534;

/// Starts the server, reports that, and stops it when its own input ends.
const WATCHER: &str = r#"
    "$1/pg_ctl" start -w -s -D "$2/data" -l "$2/log" -o "-k '$2' -c listen_addresses='' \
        -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200" \
        </dev/null >&2 && echo ready
    read -r _
    "$1/pg_ctl" stop -s -m immediate -D "$2/data" >&2
    rm -rf "$2"
"#;

/// A running server. It is stopped and removed when this is dropped, or when the
/// process ends.
pub struct TestPostgres {
    folder: PathBuf,
    programs: PathBuf,
    watcher: Child,
    input: Option<ChildStdin>,
    databases: AtomicU32,
}

impl TestPostgres {
    /// Starts a server with an empty cluster.
    ///
    /// # Panics
    ///
    /// When PostgreSQL is not installed, with what to install; or when it does not start.
    pub fn start() -> Self {
        let programs = programs();
        let folder = tempfile::Builder::new()
            .prefix("prowess-pg-")
            .tempdir()
            .unwrap()
            .keep();
        if owner_uid(&folder) == 0 {
            chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut initdb = unprivileged(&programs.join("initdb"), &folder);
        initdb.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]);
        initdb.args(["--no-sync", "--no-instructions", "-D"]);
        assert_success(&initdb.arg(folder.join("data")).output().unwrap(), "initdb");
        let (watcher, input) = start_watcher(&programs, &folder);
        TestPostgres {
            folder,
            programs,
            watcher,
            input: Some(input),
            databases: AtomicU32::new(0),
        }
    }

    /// Creates an empty database and returns its URL.
    pub fn database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{number}");
        let mut createdb = unprivileged(&self.programs.join("createdb"), &self.folder);
        createdb.arg("-h").arg(&self.folder);
        let made = createdb.args(["-U", "postgres", &name]).output().unwrap();
        assert_success(&made, "createdb");
        format!(
            "postgres://postgres@localhost/{name}?host={}",
            self.folder.display()
        )
    }

    /// Stops the server under its clients. What was committed stays.
    pub fn stop(&self) {
        self.run_pg_ctl(&["stop", "-w", "-m", "fast"]);
    }

    /// Starts it again after [`TestPostgres::stop`], as it was started at first.
    pub fn restart(&self) {
        self.run_pg_ctl(&["restart", "-w"]);
    }

    fn run_pg_ctl(&self, args: &[&str]) {
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
        assert!(status.success(), "pg_ctl {args:?} failed");
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.watcher.wait();
    }
}

fn start_watcher(programs: &Path, folder: &Path) -> (Child, ChildStdin) {
    let mut watcher = unprivileged(Path::new("/bin/sh"), folder)
        .args(["-c", WATCHER, "sh"])
        .args([programs, folder])
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

/// Where `initdb` and its companions are.
fn programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    let mut versions: Vec<_> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.flatten().map(|e| e.path().join("bin")).collect())
        .unwrap_or_default();
    versions.sort();
    folders.extend(versions.into_iter().rev());
    let complete = |folder: &PathBuf| {
        ["initdb", "pg_ctl", "createdb"]
            .iter()
            .all(|program| folder.join(program).is_file())
    };
    folders.into_iter().find(complete).unwrap_or_else(|| {
        panic!(
            "these tests need a PostgreSQL server, and `initdb` is neither on the PATH nor in \
             /usr/lib/postgresql: install it (Debian, Ubuntu: `apt-get install postgresql`; \
             Fedora: `dnf install postgresql-server`; macOS: `brew install postgresql`)"
        )
    })
}

/// The user of this process, from the owner of a folder it has just created.
fn owner_uid(folder: &Path) -> u32 {
    fs::metadata(folder).unwrap().uid()
}

/// A command that runs as the owner of the folder.
fn unprivileged(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if owner_uid(folder) == NOBODY {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn assert_success(output: &Output, what: &str) {
    assert!(
        output.status.success(),
        "{what} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
