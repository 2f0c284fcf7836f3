//! What `cargo xtask test` installs for these tests.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test binary uses what it needs of this module"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use prowess_testkit::bytecode::keep_bytecode;

/// A folder of `tests/`: programs of clients, scripts of upstreams.
pub(crate) fn material(folder: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    tests.join(folder).canonicalize().unwrap()
}

/// The scripts that the clients run.
pub(crate) fn scripts() -> PathBuf {
    material("sdk")
}

/// The folder of an installed client: `target/sdk/NAME`.
pub(crate) fn installed(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let path = target.join("sdk").join(name);
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask test` once, which installs it",
        path.display()
    );
    path
}

/// A script in the environment of a Python client.
pub(crate) fn python(client: &str, script: &str) -> Command {
    let mut python = Command::new(installed(client).join("bin/python"));
    keep_bytecode(&mut python).arg(scripts().join(script));
    python
}

/// Runs a program in the environment of a Python client; it must print `ok`.
pub(crate) fn run_python(client: &str, program: &str, variables: &[(&str, &str)]) {
    let mut python = Command::new(installed(client).join("bin/python"));
    let ran = keep_bytecode(&mut python)
        .args(["-c", program])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "ok\n", "{errors}");
}

/// A script of a JavaScript client. It finds its packages only beside itself.
pub(crate) fn node(script: &str, common: &str) -> Command {
    let place = installed("node");
    for file in [script, common] {
        let copy = tempfile::NamedTempFile::new_in(&place).unwrap();
        std::fs::copy(scripts().join(file), copy.path()).unwrap();
        copy.persist(place.join(file)).unwrap();
    }
    let mut node = Command::new("node");
    node.arg(place.join(script));
    node
}

/// Runs a command that must succeed; returns its output.
pub(crate) fn succeeded(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}:\n{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}
