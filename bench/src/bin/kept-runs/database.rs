//! The databases that runs are measured on, and how often a server has committed to one.
//!
//! Only commits that changed something count: those wait for the disk. They are read from
//! what the database has itself, so that the server is measured as it is.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use prowess_bench::server::ServerSetup;
use prowess_bench::server::postgres::{self, BenchPostgres};

/// PostgreSQL as it is by default, but for what would also write: a background process that
/// commits whenever it finds something to do.
const POSTGRES_SETTINGS: &[&str] = &["autovacuum=off"];
/// Where SQLite's index of its log, `-shm`, has the number of transactions in it, in the byte
/// order of the machine. Resetting the log does not reset the number.
const SQLITE_CHANGE_OFFSET: u64 = 8;

const SQLITE_NAME: &str = "SQLite";
const POSTGRES_NAME: &str = "PostgreSQL";

/// A kind of database.
pub(crate) enum Database {
    Sqlite,
    Postgres(BenchPostgres),
}

/// Where the commits of one server are counted.
pub(crate) enum CommitCounter<'a> {
    Sqlite(PathBuf),
    /// All databases of one PostgreSQL server share their counter, so only one server may work
    /// while commits are counted.
    Postgres(&'a BenchPostgres),
}

impl Database {
    /// The database of this name, or all that this machine has.
    pub(crate) fn start(name: Option<&str>) -> Result<Vec<Database>> {
        let is_selected = |known: &str| name.is_none_or(|name| name.eq_ignore_ascii_case(known));
        let mut all = Vec::new();
        if is_selected(SQLITE_NAME) {
            all.push(Database::Sqlite);
        }
        if is_selected(POSTGRES_NAME) {
            match (postgres::missing(), name) {
                (None, _) => {
                    all.push(Database::Postgres(BenchPostgres::start(POSTGRES_SETTINGS)?));
                }
                (Some(why), None) => println!("{POSTGRES_NAME} is left out: {why}\n"),
                (Some(why), Some(_)) => bail!("{why}"),
            }
        }
        ensure!(
            !all.is_empty(),
            "a database is one of {SQLITE_NAME}, {POSTGRES_NAME}"
        );
        Ok(all)
    }

    /// Its name in a table.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Database::Sqlite => SQLITE_NAME,
            Database::Postgres(_) => POSTGRES_NAME,
        }
    }

    /// The configuration of a server that has an empty database of its own, by this number.
    pub(crate) fn config(&self, number: usize) -> Result<String> {
        match self {
            Database::Sqlite => Ok(String::new()),
            Database::Postgres(postgres) => {
                let url = postgres.create_database(&format!("server_{number}"))?;
                Ok(format!("[store]\nurl = \"{url}\"\n"))
            }
        }
    }

    /// The counter of a server with this setup.
    pub(crate) fn counter(&self, setup: &ServerSetup) -> CommitCounter<'_> {
        match self {
            Database::Sqlite => CommitCounter::Sqlite(setup.data_dir().join("prowess.db-shm")),
            Database::Postgres(postgres) => CommitCounter::Postgres(postgres),
        }
    }
}

impl CommitCounter<'_> {
    /// Commits so far, from an arbitrary start.
    pub(crate) fn read(&self) -> Result<u64> {
        match self {
            CommitCounter::Sqlite(index) => Ok(u64::from(read_u32(index, SQLITE_CHANGE_OFFSET)?)),
            // A transaction gets an id when it first changes something.
            CommitCounter::Postgres(postgres) => {
                let next = postgres.query("SELECT pg_snapshot_xmax(pg_current_snapshot())")?;
                next.parse().context("no transaction id")
            }
        }
    }
}

fn read_u32(file: &Path, offset: u64) -> Result<u32> {
    let shown = file.display();
    let opened = File::open(file).with_context(|| format!("cannot open {shown}"))?;
    let mut bytes = [0; 4];
    opened.read_exact_at(&mut bytes, offset)?;
    Ok(u32::from_ne_bytes(bytes))
}
