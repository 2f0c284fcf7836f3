//! What the tests need beyond Rust, installed once below `target/`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::run::{command, root, run, succeeds, target};

/// Python clients of the server that are tried, each in an environment of its own:
/// the vendors', old and new, another gateway's, and a fuzzer of APIs.
const SDK_CLIENTS: [&str; 7] = [
    "anthropic-0.100",
    "anthropic-1.17",
    "anthropic-2.8",
    "openai-2.54",
    "openai-3.49",
    "litellm",
    "schemathesis",
];

/// Installs everything. Quick when it is there already.
pub(crate) fn all() -> anyhow::Result<()> {
    system()?;
    python()?;
    node()
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

/// Python environments: one with the packages of `tests/requirements.txt`, among
/// them the reference validator, and one for each client in `tests/sdk`, since
/// several versions of the same client are tried.
fn python() -> anyhow::Result<()> {
    environment(
        &root().join("tests/requirements.txt"),
        &target().join("test-venv"),
    )?;
    for client in SDK_CLIENTS {
        let wanted = root().join(format!("tests/sdk/{client}.txt"));
        environment(&wanted, &target().join("sdk").join(client))?;
    }
    Ok(())
}

/// The environment with what benchmarks compare with.
pub(crate) fn rivals() -> anyhow::Result<()> {
    let wanted = root().join("bench/discover/requirements.txt");
    environment(&wanted, &target().join("bench-venv"))
}

/// Makes an environment, unless one with the same packages is there.
fn environment(wanted: &Path, place: &Path) -> anyhow::Result<()> {
    let stamp = place.join("requirements.txt");
    if same(wanted, &stamp) {
        return Ok(());
    }
    let python = find_python()?;
    run(&mut command(
        &python,
        &["-m", "venv", "--clear", &text(place)?],
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
            &text(wanted)?,
        ],
    ))?;
    std::fs::copy(wanted, &stamp).context("cannot note what was installed")?;
    Ok(())
}

/// The JavaScript clients of `tests/sdk/package.json`.
fn node() -> anyhow::Result<()> {
    let place = target().join("sdk/node");
    let stamp = place.join("installed.json");
    let wanted = root().join("tests/sdk/package-lock.json");
    if same(&wanted, &stamp) {
        return Ok(());
    }
    if !succeeds(&mut command("npm", &["--version"])) {
        system_packages(&["nodejs", "npm"])?;
    }
    std::fs::create_dir_all(&place)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(root().join("tests/sdk").join(file), place.join(file))?;
    }
    run(command("npm", &["ci", "--no-audit", "--no-fund", "--silent"]).current_dir(&place))?;
    std::fs::copy(&wanted, &stamp).context("cannot note what was installed")?;
    Ok(())
}

fn same(a: &Path, b: &Path) -> bool {
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

fn text(path: &Path) -> anyhow::Result<String> {
    let text = path
        .to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}
