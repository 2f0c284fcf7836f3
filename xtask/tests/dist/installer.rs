//! `install.sh`: what it refuses, and which archive it chooses. That it installs is tested in the
//! bare root.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::{artefact, artefacts, everything, succeeded};

/// Runs an installer with artefacts of a folder.
fn install(script: &Path, from: &Path, home: &Path, arguments: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    shell
        .arg(script)
        .args(arguments)
        .env("HOME", home)
        .env_remove("PROWESS_INSTALL_DIR")
        .env("PROWESS_BASE_URL", format!("file://{}", from.display()));
    shell.output().unwrap()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn an_archive_with_another_sum_is_not_installed() {
    let (home, from) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let archive = artefact("prowess-", ".tar.gz");
    std::fs::copy(
        artefacts().join("SHA256SUMS"),
        from.path().join("SHA256SUMS"),
    )
    .unwrap();
    let mut content = std::fs::read(&archive).unwrap();
    content.push(0);
    std::fs::write(from.path().join(archive.file_name().unwrap()), content).unwrap();
    let script = artefacts().join("install.sh");
    let refused = install(&script, from.path(), home.path(), &[]);
    assert!(!refused.status.success());
    let message = everything(&refused);
    assert!(
        message.contains("is not the file that SHA256SUMS lists"),
        "{message}"
    );
    assert!(is_empty(home.path()));
}

#[test]
fn a_version_that_is_not_there_and_an_unknown_argument_are_named() {
    let home = tempfile::tempdir().unwrap();
    let script = artefacts().join("install.sh");
    let cases: [(&[&str], &str); 3] = [
        (&["--version", "9.9.9"], "prowess-9.9.9-x86_64"),
        (&["--version"], "--version needs a version"),
        (&["--force"], "unknown argument --force"),
    ];
    for (arguments, named) in cases {
        let refused = install(&script, &artefacts(), home.path(), arguments);
        let message = everything(&refused);
        assert!(!refused.status.success(), "{message}");
        assert!(message.contains(named), "{message}");
    }
    assert!(is_empty(home.path()));
}

#[test]
fn a_part_of_the_script_does_nothing() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let text = std::fs::read_to_string(artefacts().join("install.sh")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let part = folder.path().join("install.sh");
    for end in (10..lines.len()).step_by(7) {
        std::fs::write(&part, lines.get(..end).unwrap().join("\n")).unwrap();
        let output = install(&part, &artefacts(), home.path(), &[]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{end} lines");
        assert!(is_empty(home.path()), "{end} lines");
    }
}

/// Writes a script that a shell runs.
fn script(path: &Path, commands: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{commands}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A folder with the installer, and an archive for each of these platforms whose program is a script.
fn release(programs: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for (platform, commands) in programs {
        let name = format!("prowess-{version}-{platform}");
        script(&folder.path().join(&name).join("bin/prowess"), commands);
        let mut pack = Command::new("tar");
        pack.args(["-czf", &format!("{name}.tar.gz"), &name]);
        succeeded(pack.current_dir(folder.path()));
    }
    let mut sums = Command::new("sh");
    sums.args(["-c", "sha256sum *.tar.gz >SHA256SUMS"]);
    succeeded(sums.current_dir(folder.path()));
    let installer = artefacts().join("install.sh");
    fs::copy(installer, folder.path().join("install.sh")).unwrap();
    folder
}

/// A host: what its programs `uname` and `getconf` print.
struct Host {
    programs: TempDir,
    home: TempDir,
}

impl Host {
    fn new(machine: &str, getconf: &str) -> Host {
        let programs = tempfile::tempdir().unwrap();
        let uname = format!("case $1 in -s) echo Linux ;; -m) echo {machine} ;; esac");
        script(&programs.path().join("uname"), &uname);
        script(&programs.path().join("getconf"), getconf);
        let home = tempfile::tempdir().unwrap();
        Host { programs, home }
    }

    /// Runs the installer of a folder, with the archives beside it.
    fn install(&self, release: &TempDir) -> Output {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.programs.path().display());
        let mut shell = Command::new("sh");
        shell
            .arg(release.path().join("install.sh"))
            .env("HOME", self.home.path())
            .env("PATH", path)
            .env_remove("PROWESS_INSTALL_DIR")
            .env_remove("PROWESS_BASE_URL");
        shell.output().unwrap()
    }
}

const GLIBC: &str = "echo glibc 2.31";
const OTHER_LIBRARY: &str = "exit 1";

#[test]
fn the_archive_is_chosen_by_processor_and_c_library() {
    let release = release(&[
        ("x86_64-unknown-linux-gnu", "echo x86 glibc"),
        ("x86_64-unknown-linux-musl", "echo x86 static"),
        ("aarch64-unknown-linux-gnu", "echo arm glibc"),
        ("aarch64-unknown-linux-musl", "echo arm static"),
    ]);
    let cases = [
        ("x86_64", GLIBC, "installed x86 glibc in"),
        ("x86_64", OTHER_LIBRARY, "installed x86 static in"),
        ("aarch64", GLIBC, "installed arm glibc in"),
        ("arm64", OTHER_LIBRARY, "installed arm static in"),
    ];
    for (machine, getconf, expected) in cases {
        let host = Host::new(machine, getconf);
        let installed = host.install(&release);
        let shown = everything(&installed);
        assert!(installed.status.success(), "{machine}: {shown}");
        assert!(shown.starts_with(expected), "{machine}: {shown}");
    }
    let host = Host::new("riscv64", GLIBC);
    let refused = host.install(&release);
    let shown = everything(&refused);
    assert!(!refused.status.success());
    assert!(shown.contains("no archive for Linux riscv64"), "{shown}");
}

#[test]
fn where_glibc_is_too_old_the_program_without_it_is_installed() {
    let too_old = "echo 'version GLIBC_2.99 not found' >&2; exit 1";
    let both = release(&[
        ("x86_64-unknown-linux-gnu", too_old),
        ("x86_64-unknown-linux-musl", "echo static"),
    ]);
    let host = Host::new("x86_64", GLIBC);
    let installed = host.install(&both);
    let shown = everything(&installed);
    assert!(installed.status.success(), "{shown}");
    assert!(shown.contains("installed static in"), "{shown}");
    assert!(shown.contains("version GLIBC_2.99 not found"), "{shown}");

    let one = release(&[("x86_64-unknown-linux-gnu", too_old)]);
    let host = Host::new("x86_64", GLIBC);
    let refused = host.install(&one);
    let shown = everything(&refused);
    assert!(!refused.status.success(), "{shown}");
    assert!(shown.contains("version GLIBC_2.99 not found"), "{shown}");
    assert!(shown.contains("nothing was installed"), "{shown}");
    assert!(is_empty(host.home.path()));
}

#[test]
fn a_wrong_sum_is_not_a_reason_to_install_the_other_archive() {
    let release = release(&[
        ("x86_64-unknown-linux-gnu", "echo glibc"),
        ("x86_64-unknown-linux-musl", "echo static"),
    ]);
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("prowess-{version}-x86_64-unknown-linux-gnu.tar.gz");
    fs::write(release.path().join(name), "another file").unwrap();
    let host = Host::new("x86_64", GLIBC);
    let refused = host.install(&release);
    let shown = everything(&refused);
    assert!(!refused.status.success(), "{shown}");
    assert!(
        shown.contains("is not the file that SHA256SUMS lists"),
        "{shown}"
    );
    assert!(is_empty(host.home.path()));
}
