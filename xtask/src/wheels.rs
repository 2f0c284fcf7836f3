//! Builds and installs the Python packages, as wheels.
//!
//! They are built each time, by the same cargo and into the same folder as everything
//! else, so that the tests always use the current code.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::dist::{strip, with_first};
use crate::run::{command, run, target};
use crate::setup::path_text;
use crate::test_build;

/// The package and the plugin that needs it.
const PACKAGES: [&str; 2] = ["python/prowess", "python/llm-tools-prowess"];

/// Builds the wheels, and puts them into the environment that the tests use.
pub(crate) fn install() -> anyhow::Result<()> {
    let wheels = build().context("the Python packages do not build")?;
    let python = target().join("sdk/prowess/bin/python");
    let pip = ["-m", "pip", "install", "--quiet", "--force-reinstall"];
    let mut install = command(python, &pip);
    install.args(["--no-deps", "--no-index", "--disable-pip-version-check"]);
    run(install.args(wheels)).context("the Python packages cannot be installed")
}

fn build() -> anyhow::Result<Vec<PathBuf>> {
    let place = target().join("wheels");
    if place.exists() {
        std::fs::remove_dir_all(&place)?;
    }
    // The binary that the other tests use. Without symbols it is a fraction of the size.
    let binary = target().join("packaging/test-binary/prowess");
    strip(&test_build::binary()?, &binary)?;
    let mut build = builder(&target().join("sdk/wheels"), &PACKAGES, &binary, &place)?;
    // Tests need no optimised build. Most of what the module consists of is in theirs: with the
    // same features it is not compiled again.
    build.env(
        "MATURIN_PEP517_ARGS",
        "--profile dev --features as-in-tests",
    );
    run(&mut build)?;
    let made = std::fs::read_dir(&place)?.map(|entry| Ok(entry?.path()));
    made.collect()
}

/// A command that builds wheels of packages into a folder, with the programs of an
/// environment and a binary that exists.
pub(crate) fn builder(
    environment: &Path,
    packages: &[&str],
    binary: &Path,
    out: &Path,
) -> anyhow::Result<Command> {
    let tools = environment.join("bin");
    let pip = ["-m", "pip", "wheel", "--quiet", "--no-build-isolation"];
    let mut build = command(tools.join("python"), &pip);
    build
        .args(["--no-deps", "--disable-pip-version-check", "--wheel-dir"])
        .arg(path_text(out)?)
        .args(packages)
        .env("PATH", with_first(tools)?)
        .env("CARGO_TARGET_DIR", target())
        .env("PROWESS_BINARY", binary);
    Ok(build)
}
