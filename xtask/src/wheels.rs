//! Builds and installs the Python packages, as wheels.
//!
//! They are built each time, by the same cargo and into the same folder as everything
//! else, so that the tests always use the current code.

use std::path::PathBuf;

use anyhow::Context;

use crate::run::{command, run, target};
use crate::setup::path_text;

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
    let tools = target().join("sdk/wheels/bin");
    let place = target().join("wheels");
    if place.exists() {
        std::fs::remove_dir_all(&place)?;
    }
    let pip = ["-m", "pip", "wheel", "--quiet", "--no-build-isolation"];
    let mut build = command(tools.join("python"), &pip);
    build
        .args(["--no-deps", "--disable-pip-version-check", "--wheel-dir"])
        .arg(path_text(&place)?)
        .args(PACKAGES)
        .env("PATH", with_first(tools)?)
        .env("CARGO_TARGET_DIR", target())
        // Tests need no optimised build, and share this one's dependencies.
        .env("MATURIN_PEP517_ARGS", "--profile dev");
    run(&mut build)?;
    let made = std::fs::read_dir(&place)?.map(|entry| Ok(entry?.path()));
    made.collect()
}

/// The search path with a folder before all others.
fn with_first(folder: PathBuf) -> anyhow::Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(folders)?)
}
