//! Runs PostgreSQL's programs, and statements by them.
//!
//! Knows nothing about who uses a server, or how long.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "without its database a test must stop, and say why"
)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// PostgreSQL refuses to run as root; this is who runs it then.
pub(super) const NOBODY: u32 = 65_534;

/// The URL of a database of the server whose socket is in this folder.
pub(super) fn socket_url(folder: &Path, name: &str) -> String {
    format!(
        "postgres://postgres@localhost/{name}?host={}",
        folder.display()
    )
}

/// Executes statements, each on its own; stops the test if the last one fails.
pub(super) fn execute(programs: &Path, folder: &Path, port: Option<u16>, statements: &[String]) {
    let mut psql = unprivileged(&programs.join("psql"), folder);
    psql.args(["-X", "-q", "-U", "postgres", "-d", "postgres", "-h"]);
    psql.arg(folder);
    if let Some(port) = port {
        psql.args(["-p", &port.to_string()]);
    }
    for statement in statements {
        psql.args(["-c", statement]);
    }
    let executed = psql.stdin(Stdio::null()).output().unwrap();
    assert_success(&executed, &statements.join("; "));
}

/// Where `initdb` and its companions are.
pub(super) fn programs() -> PathBuf {
    find_programs().unwrap_or_else(|| {
        panic!(
            "these tests need a PostgreSQL server, and `initdb` is neither on the PATH nor in \
             /usr/lib/postgresql: install it (Debian, Ubuntu: `apt-get install postgresql`; \
             Fedora: `dnf install postgresql-server`; macOS: `brew install postgresql`)"
        )
    })
}

pub(super) fn find_programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    let mut versions: Vec<_> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.flatten().map(|e| e.path().join("bin")).collect())
        .unwrap_or_default();
    versions.sort();
    folders.extend(versions.into_iter().rev());
    let complete = |folder: &PathBuf| {
        ["initdb", "pg_ctl", "psql"]
            .iter()
            .all(|program| folder.join(program).is_file())
    };
    folders.into_iter().find(complete)
}

/// The user of this process, from the owner of a folder it has just created.
pub(super) fn owner_uid(folder: &Path) -> u32 {
    fs::metadata(folder).unwrap().uid()
}

/// A command that runs as the owner of the folder.
pub(super) fn unprivileged(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if owner_uid(folder) == NOBODY {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

pub(super) fn assert_success(output: &Output, what: &str) {
    assert!(
        output.status.success(),
        "{what} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
