//! The npm packages, installed by npm into an empty folder.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{artefact, succeeded};

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
