//! `install.sh`: what it refuses. That it installs is tested in the bare root.

use std::path::Path;
use std::process::{Command, Output};

use super::{artefact, artefacts, everything};

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
