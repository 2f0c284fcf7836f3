//! New Python environments. Knows nothing about what is installed in them.
//!
//! Giving an environment its pip takes six seconds of processor time, and the tests need twenty
//! environments: it is done once for each version of Python, and copied.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::run::{command, run, target};

/// Says that a base is complete.
const STAMP: &str = "complete.txt";

/// Creates an empty environment with pip in place of what is there.
pub(crate) fn create(python: &Path, place: &Path) -> anyhow::Result<()> {
    venv(python, &["--without-pip"], place)?;
    let packages = packages_folder(place)?;
    let version = packages.parent().and_then(Path::file_name);
    let version = version.context("an environment of Python without a version")?;
    let base = target().join("python-base").join(version);
    if !base.join(STAMP).exists() {
        venv(python, &[], &base)?;
        std::fs::write(base.join(STAMP), "pip\n")?;
    }
    let from = packages_folder(&base)?.join(".");
    // With times, by which Python knows that what it compiled is current.
    run(command("cp", &["-a"]).args([&from, &packages]))
}

fn venv(python: &Path, options: &[&str], place: &Path) -> anyhow::Result<()> {
    let mut create = command(python, &["-m", "venv", "--clear"]);
    run(create.args(options).arg(place))
}

/// Where an environment has its packages: `lib/pythonX.Y/site-packages`.
fn packages_folder(place: &Path) -> anyhow::Result<PathBuf> {
    for entry in std::fs::read_dir(place.join("lib"))? {
        let packages = entry?.path().join("site-packages");
        if packages.is_dir() {
            return Ok(packages);
        }
    }
    bail!("{} has no folder for packages", place.display());
}

/// Whether an environment was created at this place. Its programs name their path, so one that
/// was moved with its checkout does not count.
pub(crate) fn is_at(place: &Path) -> bool {
    let script = std::fs::read_to_string(place.join("bin/activate"));
    script.is_ok_and(|script| script.contains(&*place.to_string_lossy()))
}
