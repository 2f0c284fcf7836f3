//! What the tests need beyond Rust, installed once below `target/`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::run::{command, root, run, succeeds, target};
use crate::wheels;

/// Python clients of the server that are tried, each in an environment of its own:
/// the vendors', old and new, another gateway's, a command line, an SDK of MCP and a
/// framework on it, frameworks for agents, and a fuzzer of APIs. The last two are for our
/// own packages: what they are built with, and used with.
const SDK_CLIENTS: [&str; 14] = [
    "anthropic-0.100",
    "anthropic-1.17",
    "anthropic-2.8",
    "openai-2.54",
    "openai-3.49",
    "google-genai",
    "litellm",
    "llm",
    "mcp",
    "agent-framework",
    "frameworks",
    "schemathesis",
    "wheels",
    "prowess",
];

/// Installs everything. Quick when it is there already.
pub(crate) fn all() -> anyhow::Result<()> {
    system()?;
    docker();
    python()?;
    wheels::install()?;
    node("tests/sdk", &target().join("sdk/node"))?;
    node("tests/agents", &target().join("sdk/agents"))?;
    node("tests/mcp", &target().join("sdk/mcp-node"))
}

/// Programs that tests start: a database server, and an interpreter that the
/// sandbox can see, which a Python in somebody's home is not.
fn system() -> anyhow::Result<()> {
    let mut missing = Vec::new();
    if !has_postgres() {
        missing.push("postgresql");
    }
    if !Path::new("/usr/bin/python3").exists() {
        missing.push("python3");
    }
    // Package layers are built with its pip, and the proxy is tried with curl.
    if !succeeds(&mut command(
        "/usr/bin/python3",
        &["-I", "-c", "import pip"],
    )) {
        missing.push("python3-pip");
    }
    if !Path::new("/usr/bin/curl").exists() {
        missing.push("curl");
    }
    if missing.is_empty() {
        return Ok(());
    }
    system_packages(&missing)
}

fn has_postgres() -> bool {
    let below = |folder: &str| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let packaged =
        below("/usr/lib/postgresql").any(|version| version.path().join("bin/initdb").exists());
    packaged || succeeds(&mut command("initdb", &["--version"]))
}

/// A Docker daemon for the tests to start, unpacked and not installed: its packages
/// would start one for the whole system. Where that cannot be had, the tests that need
/// it say so and are skipped.
fn docker() {
    let place = target().join("docker");
    let there = |name: &str| Path::new("/usr/sbin").join(name).exists();
    if place.join("usr/sbin/dockerd").exists() || there("dockerd") {
        return;
    }
    let unpack = "mkdir -p packages && cd packages && apt-get download docker.io containerd runc \
        && for package in *.deb; do dpkg-deb --extract \"$package\" ..; done; \
        status=$?; rm -rf ../packages; exit $status";
    let unpacked = std::fs::create_dir_all(&place).is_ok()
        && run(command("sh", &["-c", unpack]).current_dir(&place)).is_ok();
    if !unpacked {
        eprintln!("no Docker daemon for the tests: this takes apt-get and Debian's docker.io");
    }
}

/// Python environments: one with the packages of `tests/requirements.txt`, among
/// them the reference validator, and one for each client in `tests/sdk`, since
/// several versions of the same client are tried.
fn python() -> anyhow::Result<()> {
    environment(
        &root().join("tests/requirements.txt"),
        &target().join("test-venv"),
    )?;
    for client in SDK_CLIENTS {
        let requirements = root().join(format!("tests/sdk/{client}.txt"));
        environment(&requirements, &target().join("sdk").join(client))?;
    }
    aider()
}

/// Pythons that `aider` may run on: it refuses newer ones.
const AIDER_PYTHONS: [&str; 4] = ["python3", "python3.12", "python3.11", "python3.10"];

/// The coding agent that is a Python package. Where no Python is old enough for it, all
/// other tests can still run, and its own says that it is missing.
fn aider() -> anyhow::Result<()> {
    let fits = "import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info < (3, 13))";
    let mut known = AIDER_PYTHONS.iter();
    let Some(python) = known.find(|python| succeeds(&mut command(python, &["-c", fits]))) else {
        eprintln!("no aider for the tests: install Python 3.10, 3.11 or 3.12 with venv");
        return Ok(());
    };
    let requirements = root().join("tests/sdk/aider.txt");
    environment_on(
        Path::new(python),
        &requirements,
        &target().join("sdk/aider"),
    )
}

/// The environment with what benchmarks compare with.
pub(crate) fn rivals() -> anyhow::Result<()> {
    let requirements = root().join("bench/discover/requirements.txt");
    environment(&requirements, &target().join("bench-venv"))
}

/// Makes an environment, unless one with the same packages is there.
pub(crate) fn environment(requirements: &Path, place: &Path) -> anyhow::Result<()> {
    if same_content(requirements, &place.join("requirements.txt")) {
        return Ok(());
    }
    environment_on(&find_python()?, requirements, place)
}

/// The same, with this Python.
fn environment_on(python: &Path, requirements: &Path, place: &Path) -> anyhow::Result<()> {
    let stamp = place.join("requirements.txt");
    if same_content(requirements, &stamp) {
        return Ok(());
    }
    run(&mut command(
        python,
        &["-m", "venv", "--clear", &path_text(place)?],
    ))?;
    run(&mut command(
        place.join("bin/python"),
        &[
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            &path_text(requirements)?,
        ],
    ))?;
    std::fs::copy(requirements, &stamp).context("cannot note what was installed")?;
    Ok(())
}

/// The JavaScript packages of a folder's `package.json`: clients of the server and a
/// mock of its upstreams, and, since they are large, coding agents by themselves, and what
/// checks servers of MCP, with the newer Node it needs.
fn node(folder: &str, place: &Path) -> anyhow::Result<()> {
    let folder = root().join(folder);
    let stamp = place.join("installed.json");
    let lock_file = folder.join("package-lock.json");
    if same_content(&lock_file, &stamp) {
        return Ok(());
    }
    if !succeeds(&mut command("npm", &["--version"])) {
        system_packages(&["nodejs", "npm"])?;
    }
    std::fs::create_dir_all(place)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(folder.join(file), place.join(file))?;
    }
    // It keeps to the lock file. `npm ci` does not take one that leaves out what other
    // systems would need, and npm itself writes such.
    let install = ["install", "--no-audit", "--no-fund", "--silent"];
    run(command("npm", &install).current_dir(place))?;
    std::fs::copy(&lock_file, &stamp).context("cannot note what was installed")?;
    Ok(())
}

fn same_content(a: &Path, b: &Path) -> bool {
    matches!((std::fs::read(a), std::fs::read(b)), (Ok(a), Ok(b)) if a == b)
}

/// A Python that can make environments; installs one where that is allowed.
fn find_python() -> anyhow::Result<PathBuf> {
    let works = |python: &str| succeeds(&mut command(python, &["-c", "import venv, ensurepip"]));
    if !works("python3") {
        system_packages(&["python3", "python3-venv"])?;
    }
    if !works("python3") {
        bail!("the tests need Python 3 with venv: install the packages python3 and python3-venv");
    }
    Ok("python3".into())
}

/// Installs Debian packages when this is Debian and we may; says what to do otherwise.
pub(crate) fn system_packages(packages: &[&str]) -> anyhow::Result<()> {
    let list = packages.join(" ");
    let may = succeeds(&mut command(
        "sh",
        &["-c", "test \"$(id -u)\" = 0 && command -v apt-get"],
    ));
    if !may {
        bail!("the tests need these system packages; install them and try again: {list}");
    }
    run(&mut command("apt-get", &["update", "-qq"]))?;
    let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
    install.extend_from_slice(packages);
    run(command("apt-get", &install).env("DEBIAN_FRONTEND", "noninteractive"))
}

pub(crate) fn path_text(path: &Path) -> anyhow::Result<String> {
    let text = path
        .to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}
