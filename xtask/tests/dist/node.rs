//! The npm packages, installed by npm into an empty folder.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{artefact, repository, succeeded};

/// npm in a folder, without settings and caches of the caller.
fn npm(program: &str, folder: &Path) -> Command {
    let mut npm = Command::new(program);
    npm.current_dir(folder)
        .env("HOME", folder)
        .env("npm_config_offline", "true")
        .env("npm_config_audit", "false")
        .env("npm_config_fund", "false")
        .env("npm_config_update_notifier", "false");
    npm
}

#[test]
fn npx_runs_the_binary_and_passes_exit_codes_and_signals_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut install = npm("npm", folder);
    install.args(["install", "--silent"]);
    install.arg(artefact("prowess-linux-x64-", ".tgz"));
    let version = env!("CARGO_PKG_VERSION");
    install.arg(artefact(&format!("prowess-{version}"), ".tgz"));
    succeeded(&mut install);

    let shown = succeeded(npm("npx", folder).args(["prowess", "--version"]));
    assert!(
        shown.starts_with(&format!("prowess {version} (")),
        "{shown}"
    );

    let launcher = folder.join("node_modules/.bin/prowess");
    let launcher = launcher.to_str().unwrap();
    let wrong = npm(launcher, folder).arg("--wrong").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));

    let mut serve = npm(launcher, folder);
    serve.args(["serve", "--listen=127.0.0.1:0", "--data-dir=data"]);
    let mut serve = serve.stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(serve.stderr.take().unwrap()).lines();
    assert!(log.any(|line| line.unwrap().starts_with("listening on ")));
    succeeded(Command::new("kill").args(["-TERM", &serve.id().to_string()]));
    // A launcher that died of the signal would have no exit code.
    assert_eq!(serve.wait().unwrap().code(), Some(0));
    assert!(log.any(|line| line.unwrap().starts_with("stopping: ")));
}

#[test]
fn a_platform_without_a_binary_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut unpack = Command::new("tar");
    let version = env!("CARGO_PKG_VERSION");
    unpack
        .arg("-xzf")
        .arg(artefact(&format!("prowess-{version}"), ".tgz"));
    succeeded(unpack.arg("-C").arg(folder));
    let mut node = Command::new("node");
    let refused = node.arg(folder.join("package/bin/prowess.js")).output();
    let refused = refused.unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let message = super::everything(&refused);
    assert!(
        message.contains("prowess-linux-x64 is not installed"),
        "{message}"
    );
}

/// Writes a package of a platform, whose program is a script.
fn write_package(modules: &Path, name: &str, manifest: &str, commands: &str) {
    let program = modules.join(name).join("bin/prowess");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(modules.join(name).join("package.json"), manifest).unwrap();
    fs::write(&program, format!("#!/bin/sh\n{commands}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn where_glibc_is_too_old_the_program_without_it_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let modules = folder.path().join("node_modules");
    let launcher = modules.join("prowess/prowess.js");
    fs::create_dir_all(launcher.parent().unwrap()).unwrap();
    let source = repository().join("packaging/npm/prowess/bin/prowess.js");
    fs::copy(source, &launcher).unwrap();

    let mut architecture = Command::new("node");
    let architecture = succeeded(architecture.args(["--print", "process.arch"]));
    let name = format!("prowess-linux-{}", architecture.trim());
    let started = || succeeded(Command::new("node").arg(&launcher).arg("argument"));
    let needs = |version: &str| {
        let manifest = format!("{{ \"glibcVersion\": \"{version}\" }}");
        write_package(&modules, &name, &manifest, "echo glibc $1");
    };
    needs("2.2");
    assert_eq!(started(), "glibc argument\n", "it is the only one");
    write_package(&modules, &format!("{name}-musl"), "{}", "echo static $1");
    assert_eq!(started(), "glibc argument\n");
    // Compared as numbers: as texts, 2.1000 is less than 2.36.
    for too_new in ["2.1000", "3.0"] {
        needs(too_new);
        assert_eq!(started(), "static argument\n", "{too_new}");
    }
    fs::remove_dir_all(modules.join(&name)).unwrap();
    assert_eq!(started(), "static argument\n");
}
