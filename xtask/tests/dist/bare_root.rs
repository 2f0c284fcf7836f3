//! Every channel in a Debian without Rust and compilers, by the scripts of `tests/install/`.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use super::{artefacts, dist, installed, repository, succeeded};

/// Whether this process may make mounts and users.
pub(super) fn is_root() -> bool {
    succeeded(Command::new("id").arg("-u")).trim() == "0"
}

/// Whether the test can run; without root it fails, unless that was accepted.
pub(super) fn has_root() -> bool {
    if is_root() {
        return true;
    }
    assert!(
        std::env::var_os("PROWESS_TEST_WITHOUT_ROOT").is_some(),
        "this test needs root: run the tests as root, or set PROWESS_TEST_WITHOUT_ROOT=1 to \
         leave out what needs it"
    );
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Written directly: the test harness captures what macros print.
    let _ = writeln!(std::io::stderr(), "NOT_RUN {test}: needs root");
    false
}

/// Runs a program inside, with these artefacts; it must end with the words of success.
pub(super) fn run(program: &str, artefacts: &Path) {
    let mut inside = Command::new(repository().join("tests/install/in-bare-root.sh"));
    inside.arg(installed("bare-root")).arg(artefacts);
    let output = succeeded(inside.arg(program));
    assert!(output.contains("== all of it works"), "{output}");
}

#[test]
fn the_installer_and_its_archive_work() {
    if has_root() {
        run("/install/tarball.sh", &artefacts());
    }
}

#[test]
fn the_wheel_works() {
    if has_root() {
        run("/install/wheel.sh", &installed("wheels"));
    }
}

#[test]
fn the_debian_package_is_installed_used_upgraded_and_removed() {
    if !has_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    dist(
        &["--only=deb", "--revision=2"],
        &folder.path().join("second"),
    );
    let first = super::artefact("prowess_", ".deb");
    let copy = folder.path().join(first.file_name().unwrap());
    std::fs::copy(&first, copy).unwrap();
    run("/install/deb.sh", folder.path());
}
