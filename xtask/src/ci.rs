//! `cargo xtask ci`

use std::fs;
use std::process::Command;

use crate::run::{self, cargo, succeeds};
use crate::setup::Installation;
use crate::test;

/// Quick checks first, so that a small mistake is reported soon.
pub(crate) fn run() -> anyhow::Result<()> {
    run::run(&mut cargo(&["fmt", "--all", "--check"]))?;
    check_format_of_collected_files()?;
    let installation = Installation::start()?;
    let clippy = [
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    run::run(&mut cargo(&clippy))?;
    // The library with the least, and with what has most of the conditions.
    let lean = [
        "check",
        "--locked",
        "-p",
        "prowess",
        "--no-default-features",
    ];
    run::run(&mut cargo(&lean))?;
    run::run(cargo(&lean).args(["--features", "server"]))?;
    let doc = ["doc", "--locked", "--workspace", "--no-deps"];
    run::run(cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))?;
    // A workspace of its own, so nothing above compiles it.
    let fuzz = [
        "check",
        "--locked",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target-dir",
        "target",
    ];
    run::run(cargo(&fuzz).current_dir(run::root()))?;
    advisories()?;
    installation.finish()?;
    test::run_installed(None)
}

/// `cargo fmt` finds files by `mod` lines; those of the kinds of providers are written by a build
/// script.
fn check_format_of_collected_files() -> anyhow::Result<()> {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--check"]);
    for folder in ["crates/provider/src/kinds", "crates/provider/tests/kinds"] {
        for entry in fs::read_dir(run::root().join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                rustfmt.arg(path);
            }
        }
    }
    run::run(&mut rustfmt)
}

/// Known vulnerabilities of dependencies. Licences, duplicates and sources need neither
/// cargo-deny nor a network: `xtask/tests/dependencies.rs` checks them.
fn advisories() -> anyhow::Result<()> {
    if !succeeds(&mut cargo(&["deny", "--version"])) {
        not_run("cargo-deny is not installed; `cargo install cargo-deny --locked`");
        return Ok(());
    }
    if !succeeds(&mut cargo(&["deny", "fetch", "db"])) {
        not_run("the advisory database cannot be fetched");
        return Ok(());
    }
    run::run(&mut cargo(&["deny", "check"]))
}

fn not_run(reason: &str) {
    eprintln!("NOT_RUN advisories: {reason}");
}
