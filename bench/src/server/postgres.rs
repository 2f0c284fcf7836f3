//! A PostgreSQL server for a benchmark, which can be stopped, killed and started again.
//!
//! It listens on a socket in a temporary folder only, and runs in the foreground as our
//! child, so that it also ends when the terminal ends this program.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::programs;

/// PostgreSQL refuses to run as root; this is who runs it then.
const NOBODY: u32 = 65_534;
const START_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const DATABASE: &str = "bench";

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct BenchPostgres {
    programs: PathBuf,
    folder: TempDir,
    settings: &'static [&'static str],
    child: Child,
}

/// Why there is none on this machine.
pub fn missing() -> Option<String> {
    let why = "needs a PostgreSQL server: `initdb` is neither on the PATH nor in \
               /usr/lib/postgresql";
    programs().is_none().then(|| why.to_owned())
}

impl BenchPostgres {
    /// Starts a server with an empty database and these settings, such as `fsync=off`.
    pub fn start(settings: &'static [&'static str]) -> Result<BenchPostgres> {
        let programs = programs().context("no PostgreSQL")?;
        let folder = tempfile::tempdir()?;
        if programs::is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
        }
        let mut initdb = unprivileged(&programs.join("initdb"));
        initdb.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]);
        initdb.args(["--no-sync", "--no-instructions", "-D"]);
        let made = initdb.arg(folder.path().join("data")).output()?;
        let errors = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "initdb: {errors}");
        let child = launch(&programs, folder.path(), settings)?;
        let postgres = BenchPostgres {
            programs,
            folder,
            settings,
            child,
        };
        postgres.wait_until("createdb", &[DATABASE])?;
        Ok(postgres)
    }

    /// The address of the database.
    pub fn url(&self) -> String {
        self.url_of(DATABASE)
    }

    /// Creates another empty database and returns its address.
    pub fn create_database(&self, name: &str) -> Result<String> {
        self.client("createdb", &[name])?;
        Ok(self.url_of(name))
    }

    /// What a query returns.
    pub fn query(&self, sql: &str) -> Result<String> {
        self.query_in(DATABASE, sql)
    }

    /// What a query of another database returns.
    pub fn query_in(&self, database: &str, sql: &str) -> Result<String> {
        self.client("psql", &["-d", database, "-A", "-t", "-c", sql])
    }

    fn url_of(&self, database: &str) -> String {
        let folder = self.folder.path().display();
        format!("postgres://postgres@localhost/{database}?host={folder}")
    }

    /// Sends a signal to the server and all its processes. The server comes first, so
    /// that it starts no others meanwhile.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.child.id();
        let children = format!("/proc/{pid}/task/{pid}/children");
        let children = std::fs::read_to_string(children)?;
        kill_process(id(pid)?, signal)?;
        for child in children.split_whitespace() {
            // It may have ended by itself.
            let _ = kill_process(id(child.parse()?)?, signal);
        }
        Ok(())
    }

    /// Kills everything, as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.signal(Signal::KILL)?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts it again after it was killed, and waits until it answers.
    pub fn restart(&mut self) -> Result<()> {
        self.child = launch(&self.programs, self.folder.path(), self.settings)?;
        self.wait_until("psql", &["-d", DATABASE, "-c", "SELECT 1"])
    }

    /// Tries a client until it succeeds.
    fn wait_until(&self, client: &str, arguments: &[&str]) -> Result<()> {
        let start = Instant::now();
        loop {
            match self.client(client, arguments) {
                Ok(_) => return Ok(()),
                Err(error) if start.elapsed() >= START_LIMIT => return Err(error),
                Err(_) => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Runs a client and returns its output.
    fn client(&self, client: &str, arguments: &[&str]) -> Result<String> {
        let mut command = unprivileged(&self.programs.join(client));
        command.arg("-h").arg(self.folder.path());
        let done = command.args(["-U", "postgres"]).args(arguments).output()?;
        let errors = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{client}: {errors}");
        Ok(String::from_utf8(done.stdout)?.trim().to_owned())
    }
}

impl Drop for BenchPostgres {
    fn drop(&mut self) {
        // One that was stopped ends only when it goes on.
        let _ = self.signal(Signal::CONT);
        let _ = self.kill();
    }
}

fn launch(programs: &Path, folder: &Path, settings: &[&str]) -> Result<Child> {
    let mut command = unprivileged(&programs.join("postgres"));
    command.arg("-D").arg(folder.join("data"));
    command.arg("-k").arg(folder);
    let always = ["listen_addresses=", "max_connections=200"];
    for setting in always.iter().chain(settings) {
        command.args(["-c", setting]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let child = command.stderr(Stdio::null()).spawn();
    child.context("cannot start PostgreSQL")
}

fn id(pid: u32) -> Result<Pid> {
    let pid = i32::try_from(pid)?;
    Pid::from_raw(pid).context("no process id")
}

/// The folder with `initdb` and its companions.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let versions = versions.into_iter().flatten().flatten();
    let mut folders: Vec<_> = versions.map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    let initdb = programs::find("initdb", &folders)?;
    // What is on the PATH is often a link to a folder that has all of them.
    let initdb = initdb.canonicalize().ok()?;
    let folder = initdb.parent()?;
    let complete = ["postgres", "createdb", "psql"]
        .iter()
        .all(|program| folder.join(program).is_file());
    complete.then(|| folder.to_owned())
}

fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if programs::is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}
