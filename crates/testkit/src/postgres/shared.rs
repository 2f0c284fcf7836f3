//! Databases of tests in the server that `cargo xtask test` starts once for all of them.
//!
//! A database belongs to the process that created it, and has a record: a file of its name in the
//! folder of the server. When the process has ended, however it did, another one that needs a
//! database removes it. Must not stop or configure the server.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use super::commands::{execute, programs, socket_url};

/// The variable with the folder of the server that tests share.
pub const SHARED_SERVER: &str = "PROWESS_TEST_POSTGRES";

/// How many databases of processes that have ended one test removes: one that needs a single
/// database must not wait for what a test with a hundred of them left.
const MAX_REMOVED: usize = 4;
/// The names of databases of tests: this, the process, the time and a number.
const PREFIX: &str = "test_";

/// Databases that this process has created.
static DATABASES: AtomicU32 = AtomicU32::new(0);

pub(super) struct SharedPostgres {
    folder: PathBuf,
}

/// The records of the databases, in the folder of their server.
pub(super) fn records(folder: &Path) -> PathBuf {
    folder.join("databases")
}

impl SharedPostgres {
    /// The server that was started for the tests of this run, if one was.
    pub(super) fn find() -> Option<Self> {
        let folder = std::env::var_os(SHARED_SERVER)?;
        Some(SharedPostgres::at(folder))
    }

    /// The server in this folder.
    pub(super) fn at(folder: impl Into<PathBuf>) -> Self {
        SharedPostgres {
            folder: folder.into(),
        }
    }

    /// The URL of a new database.
    pub(super) fn database(&self) -> String {
        self.copy("template0")
    }

    /// The URL of a new database as `fill` left the one of this name.
    pub(super) fn filled_database(&self, name: &str, fill: impl FnOnce(&str)) -> String {
        let template = format!("template_{name}");
        let filled = self.record(&template);
        if !filled.exists() {
            let lock = File::create(self.record(&format!("{template}.lock"))).unwrap();
            lock.lock().unwrap();
            // Another process may have filled it, or have ended while it did.
            if !filled.exists() {
                self.execute(&[
                    format!("DROP DATABASE IF EXISTS {template} WITH (FORCE)"),
                    format!("CREATE DATABASE {template} TEMPLATE template0"),
                ]);
                fill(&socket_url(&self.folder, &template));
                File::create(&filled).unwrap();
            }
        }
        self.copy(&template)
    }

    fn copy(&self, template: &str) -> String {
        let name = new_name();
        // First the record: what has one is removed in any case.
        File::create(self.record(&name)).unwrap();
        let abandoned = self.take_abandoned();
        let mut statements: Vec<String> = abandoned
            .iter()
            .map(|name| format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
            .collect();
        statements.push(format!("CREATE DATABASE {name} TEMPLATE {template}"));
        self.execute(&statements);
        socket_url(&self.folder, &name)
    }

    /// Databases of processes that have ended, which nobody else removes.
    fn take_abandoned(&self) -> Vec<String> {
        let records = fs::read_dir(records(&self.folder)).unwrap().flatten();
        let names = records.filter_map(|record| record.file_name().into_string().ok());
        names
            .filter(|name| owner(name).is_some_and(has_ended))
            // Who removes the record removes the database.
            .filter(|name| fs::remove_file(self.record(name)).is_ok())
            .take(MAX_REMOVED)
            .collect()
    }

    fn record(&self, name: &str) -> PathBuf {
        records(&self.folder).join(name)
    }

    fn execute(&self, statements: &[String]) {
        execute(&programs(), &self.folder, None, statements);
    }
}

/// Ids of processes are used again: the time makes the name unique.
fn new_name() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let (process, nanos) = (std::process::id(), now.unwrap().as_nanos());
    let number = DATABASES.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{process}_{nanos:x}_{number}")
}

/// The process that a database belongs to.
fn owner(name: &str) -> Option<u32> {
    let (process, _) = name.strip_prefix(PREFIX)?.split_once('_')?;
    process.parse().ok()
}

/// Whether a process has certainly ended.
fn has_ended(process: u32) -> bool {
    let processes = Path::new("/proc");
    processes.join("self").exists() && !processes.join(process.to_string()).exists()
}
