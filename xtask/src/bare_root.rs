//! A small Debian below `target/`, in which the tests install artefacts: with the programs
//! that a channel needs to install anything, and without Rust and compilers. Beside it are the
//! vendors' SDKs, with which the tests call the server that they installed.

use std::path::Path;

use anyhow::Context;

use crate::run::{command, root, run, succeeds, target};
use crate::setup::{path_text, system_packages};

/// The release that it is made of.
const SUITE: &str = "bookworm";

/// What it has beyond the smallest system: an interpreter for skills, pip for wheels, curl
/// for the installer, and what the Debian package depends on.
const PACKAGES: &str = "bash,ca-certificates,curl,python3,python3-venv,systemd-standalone-sysusers";

/// Makes it, once. Without root it is left out, and so are its tests.
pub(crate) fn install() -> anyhow::Result<()> {
    let place = target().join("bare-root");
    let stamp = target().join("bare-root.txt");
    let content = format!("{SUITE} {PACKAGES}\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|made| made == content) && place.exists() {
        return Ok(());
    }
    if !succeeds(&mut command("sh", &["-c", "test \"$(id -u)\" = 0"])) {
        eprintln!("no bare system for the tests of artefacts: it needs root");
        return Ok(());
    }
    if !succeeds(&mut command("mmdebstrap", &["--version"])) {
        system_packages(&["mmdebstrap"])?;
    }
    let new = target().join("bare-root.new");
    remove(&new)?;
    remove(&place)?;
    let include = format!("--include={PACKAGES}");
    let make = [
        "--mode=root",
        "--variant=minbase",
        "--quiet",
        &include,
        SUITE,
    ];
    let mut make = command("mmdebstrap", &make);
    run(make.arg(path_text(&new)?)).context("the bare system cannot be made")?;
    std::fs::rename(&new, &place)?;
    std::fs::write(&stamp, content).context("cannot record what was installed")
}

/// The SDKs, in versions that other tests have too.
const CLIENTS: [&str; 2] = ["tests/sdk/anthropic-2.8.txt", "tests/sdk/openai-3.49.txt"];

/// Options of pip for the Python of that Debian, whichever one runs pip.
const FOR_ITS_PYTHON: [&str; 10] = [
    "--only-binary",
    ":all:",
    "--python-version",
    "3.11",
    "--platform",
    "manylinux_2_28_x86_64",
    "--platform",
    "manylinux_2_17_x86_64",
    "--platform",
    "manylinux2014_x86_64",
];

/// Installs the SDKs, once.
pub(crate) fn install_clients() -> anyhow::Result<()> {
    let place = target().join("bare-clients");
    let stamp = place.join("requirements.txt");
    let mut required = String::new();
    for list in CLIENTS {
        required += &std::fs::read_to_string(root().join(list))?;
    }
    if std::fs::read_to_string(&stamp).is_ok_and(|made| made == required) {
        return Ok(());
    }
    // pip does not replace what is there.
    remove(&place)?;
    let install = ["-m", "pip", "install", "--quiet", "--no-compile"];
    let mut pip = command("/usr/bin/python3", &install);
    pip.arg("--disable-pip-version-check").args(FOR_ITS_PYTHON);
    for list in CLIENTS {
        pip.args(["-r", list]);
    }
    run(pip.arg("--target").arg(&place)).context("the SDKs cannot be installed")?;
    std::fs::write(&stamp, required).context("cannot record what was installed")
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}
