//! The Debian package, by Debian's own tools.

use std::process::Command;

use super::{artefact, repository, succeeded};

#[test]
fn lintian_reports_nothing() {
    let mut lintian = Command::new("lintian");
    lintian.args(["--fail-on", "error,warning", "--tag-display-limit", "0"]);
    if super::bare_root::is_root() {
        lintian.arg("--allow-root");
    }
    let reported = succeeded(lintian.arg(artefact("prowess_", ".deb")));
    assert_eq!(reported, "");
}

#[test]
fn the_units_are_valid() {
    let files = tempfile::tempdir().unwrap();
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("--extract").arg(artefact("prowess_", ".deb"));
    succeeded(unpack.arg(files.path()));
    for name in ["prowess.service", "prowess-worker.service"] {
        // systemd looks for the programs that the unit names, which are not installed here.
        let unit = files.path().join("lib/systemd/system").join(name);
        let text = std::fs::read_to_string(&unit).unwrap();
        let here = format!("ExecStart={}/usr/libexec", files.path().display());
        let text = text.replace("ExecStart=/usr/libexec", &here);
        let copy = files.path().join(name);
        std::fs::write(&copy, text).unwrap();
        let mut verify = Command::new("systemd-analyze");
        verify.args(["verify", "--man=no", "--recursive-errors=no"]);
        let output = verify.arg(&copy).output().unwrap();
        let printed = super::everything(&output);
        assert!(output.status.success(), "{printed}");
        assert!(!printed.contains(name), "{printed}");
    }
}

#[test]
fn every_command_has_a_man_page_and_the_shells_have_completions() {
    let mut list = Command::new("dpkg-deb");
    list.arg("--contents").arg(artefact("prowess_", ".deb"));
    let files = succeeded(&mut list);
    for file in [
        "./usr/share/man/man1/prowess.1.gz",
        "./usr/share/man/man1/prowess-serve.1.gz",
        "./usr/share/man/man1/prowess-worker.1.gz",
        "./usr/share/man/man1/prowess-skill-push.1.gz",
        "./usr/share/bash-completion/completions/prowess",
        "./usr/share/zsh/vendor-completions/_prowess",
        "./usr/share/fish/vendor_completions.d/prowess.fish",
    ] {
        assert!(files.contains(file), "{file} is not in:\n{files}");
    }
    assert!(!files.contains("prowess-man.1"), "it is hidden");
}

#[test]
fn shellcheck_reports_nothing() {
    let mut check = Command::new("shellcheck");
    for script in ["start", "postinst", "prerm", "postrm"] {
        check.arg(repository().join("packaging/deb").join(script));
    }
    check.arg(repository().join("packaging/tarball/install.sh"));
    check.arg(repository().join("packaging/image/entrypoint"));
    check.arg(repository().join("examples/cluster/run.sh"));
    let tests = std::fs::read_dir(repository().join("tests/install")).unwrap();
    let tests = tests.map(|entry| entry.unwrap().path());
    check.args(tests.filter(|path| path.extension().is_some_and(|end| end == "sh")));
    succeeded(&mut check);
}
