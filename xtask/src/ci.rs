//! `cargo xtask ci`

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::run::{self, cargo, succeeds};
use crate::setup::Installation;
use crate::test;

/// How long each step took, for the number in CONTRIBUTING.md.
#[derive(Debug, Default)]
struct StepTimes(Vec<(&'static str, Duration)>);

impl StepTimes {
    fn measure<T>(
        &mut self,
        step: &'static str,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let start = Instant::now();
        let done = work();
        self.0.push((step, start.elapsed()));
        done
    }

    fn print(&self) {
        for (step, time) in &self.0 {
            eprintln!("{:>6} s  {step}", time.as_secs());
        }
    }
}

pub(crate) fn run() -> anyhow::Result<()> {
    let mut times = StepTimes::default();
    let done = check_all(&mut times);
    times.print();
    done
}

/// Quick checks first, so that a small mistake is reported soon.
fn check_all(times: &mut StepTimes) -> anyhow::Result<()> {
    times.measure("formatting", || {
        run::run(&mut cargo(&["fmt", "--all", "--check"]))?;
        check_format_of_collected_files()
    })?;
    let installation = times.measure("packages of the system", Installation::start)?;
    let clippy = [
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    times.measure("lints", || run::run(&mut cargo(&clippy)))?;
    // With most of the conditions. The wheel is built by itself later, with the library without a
    // server, so there is no check of that here.
    let lean = [
        "check",
        "--locked",
        "-p",
        "prowess",
        "--no-default-features",
        "--features",
        "server",
    ];
    times.measure("the library with a server alone", || {
        run::run(&mut cargo(&lean))
    })?;
    let doc = ["doc", "--locked", "--workspace", "--no-deps"];
    times.measure("documentation", || {
        run::run(cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    // A workspace of its own, so nothing above compiles it.
    let fuzz = [
        "check",
        "--locked",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target-dir",
        "target",
    ];
    times.measure("fuzz targets", || {
        run::run(cargo(&fuzz).current_dir(run::root()))
    })?;
    times.measure("advisories", advisories)?;
    times.measure("build and installation of what the tests need", || {
        installation.finish()
    })?;
    times.measure("tests", || test::run_installed(None))
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
