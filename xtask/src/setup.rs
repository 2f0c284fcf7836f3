//! Installs what the tests need beyond Rust, once, below `target/`.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use anyhow::{Context, bail};

use crate::run::{command, root, run, succeeds, target};
use crate::{
    bare_root, chromium, cluster_programs, collector, dist, prometheus, python_environment,
    test_artefacts, test_build, wheels,
};

/// Python clients that are tested, each in its own environment: vendors' SDKs in old and
/// new versions, another gateway, a command line, an MCP SDK, agent frameworks and an API
/// fuzzer.
pub(crate) const PYTHON_CLIENTS: [&str; 12] = [
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
];

/// One thing that tests need beyond the system's packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// The reference validator and an S3 server: `tests/requirements.txt`
    Reference,
    /// The environment of one Python client: an entry of [`PYTHON_CLIENTS`]
    PythonClient(&'static str),
    Aider,
    /// The Prowess packages for Python, built from this tree
    Wheels,
    /// JavaScript clients, and a mock of upstream APIs
    NodeClients,
    /// Coding agents that are JavaScript packages
    NodeAgents,
    /// MCP conformance tests and inspector
    NodeMcp,
    Docker,
    /// A browser and its driver, and rules for accessible pages
    Browser,
    /// A Prometheus that scrapes a server
    Prometheus,
    /// An OpenTelemetry collector that gets the traces of a server
    Collector,
    /// A message server
    Nats,
    /// What a cluster consists of besides our own binary
    Cluster,
    /// What people install, made of the tests' own binary, and programs that check it
    Artefacts,
    /// A Debian without compilers, to install artefacts in, and the SDKs that call what was installed
    BareRoot,
    /// The Debian of the container image, and what checks its manifests
    Image,
}

impl Step {
    /// Quick when it is installed already.
    fn install(self) -> anyhow::Result<()> {
        let node_packages = |folder: &str, place: &str| node(folder, &target().join(place));
        match self {
            Step::Reference => environment(
                &root().join("tests/requirements.txt"),
                &target().join("test-venv"),
            ),
            Step::PythonClient(client) => python_client(client),
            Step::Aider => aider(),
            Step::Wheels => {
                wheel_environments()?;
                wheels::install()
            }
            Step::NodeClients => node_packages("tests/sdk", "sdk/node"),
            Step::NodeAgents => node_packages("tests/agents", "sdk/agents"),
            Step::NodeMcp => node_packages("tests/mcp", "sdk/mcp-node"),
            Step::Docker => {
                docker();
                Ok(())
            }
            Step::Browser => {
                node_packages("tests/console", "sdk/console")?;
                chromium::install()
            }
            Step::Prometheus => prometheus::install(),
            Step::Collector => collector::install(),
            Step::Nats => cluster_programs::install_nats(),
            Step::Cluster => cluster_programs::install(),
            Step::Artefacts => test_artefacts::make(),
            Step::BareRoot => {
                bare_root::install_clients()?;
                bare_root::install()
            }
            Step::Image => {
                compose_schema();
                environment(
                    &root().join("tests/install/requirements.txt"),
                    &target().join("manifests-venv"),
                )?;
                dist::install_image_root()
            }
        }
    }
}

/// Installs everything that any test needs, and builds the tests meanwhile.
pub(crate) fn all() -> anyhow::Result<()> {
    Installation::start()?.finish()
}

/// The installation of all that needs no build of this tree. It goes on beside other work:
/// downloads use a core at most, and take as long as the build of the tests.
pub(crate) struct Installation(JoinHandle<anyhow::Result<()>>);

impl Installation {
    pub(crate) fn start() -> anyhow::Result<Installation> {
        system()?;
        let clients = PYTHON_CLIENTS.iter().copied().map(Step::PythonClient);
        let others = [
            Step::Docker,
            Step::Browser,
            Step::Prometheus,
            Step::Collector,
            Step::Cluster,
            Step::Reference,
            Step::Aider,
            Step::NodeClients,
            Step::NodeAgents,
            Step::NodeMcp,
            Step::BareRoot,
            Step::Image,
        ];
        let mut steps = others.into_iter().chain(clients);
        let thread = std::thread::spawn(move || {
            steps.try_for_each(Step::install)?;
            wheel_environments()?;
            test_artefacts::install_tools()
        });
        Ok(Installation(thread))
    }

    /// Builds the tests, waits for the installation, and packages what was built.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        test_build::messages()?;
        self.0
            .join()
            .unwrap_or_else(|_| bail!("the installation panicked"))?;
        [Step::Wheels, Step::Artefacts]
            .into_iter()
            .try_for_each(Step::install)
    }
}

/// Installs the system's packages, which take no time to check, and these steps.
pub(crate) fn install(steps: impl IntoIterator<Item = Step>) -> anyhow::Result<()> {
    system()?;
    steps.into_iter().try_for_each(Step::install)
}

/// Programs that tests start: a database server, and those that code in the sandbox uses, which
/// sees the system's own: a Python outside of home folders, and what draws pages of PDF files.
fn system() -> anyhow::Result<()> {
    let mut missing = Vec::new();
    if !has_postgres() {
        missing.push("postgresql");
    }
    if !Path::new("/usr/bin/python3").exists() {
        missing.push("python3");
    }
    // Package layers are built with its pip; curl tests the egress proxy.
    if !succeeds(&mut command(
        "/usr/bin/python3",
        &["-I", "-c", "import pip"],
    )) {
        missing.push("python3-pip");
    }
    if !Path::new("/usr/bin/curl").exists() {
        missing.push("curl");
    }
    if !Path::new("/usr/bin/pdftoppm").exists() {
        missing.push("poppler-utils");
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
/// would start one for the whole system.
fn docker() {
    let place = target().join("docker");
    let there = |name: &str| Path::new("/usr/sbin").join(name).exists();
    if place.join("usr/sbin/dockerd").exists() || there("dockerd") {
        return;
    }
    if !unpack(&["docker.io", "containerd", "runc"], &place) {
        eprintln!("no Docker daemon for the tests: it needs apt-get and Debian's docker.io");
    }
}

/// The schema of Compose files, which is a file of Debian's docker-compose.
fn compose_schema() {
    let place = target().join("docker");
    let schema = "usr/lib/python3/dist-packages/compose/config/compose_spec.json";
    if !place.join(schema).exists() && !unpack(&["docker-compose"], &place) {
        eprintln!("no schema of Compose for the tests: it needs apt-get and docker-compose");
    }
}

/// Unpacks Debian packages into a folder; false if that is not possible.
pub(crate) fn unpack(packages: &[&str], place: &Path) -> bool {
    let folder = place.join(format!("packages-{}", packages.join("-")));
    let script = "apt-get download \"$@\" && for package in *.deb; do \
        dpkg-deb --extract \"$package\" .. || exit 1; done";
    let mut unpack = command("sh", &["-c", script, "unpack"]);
    let unpacked = std::fs::create_dir_all(&folder).is_ok()
        && run(unpack.args(packages).current_dir(&folder)).is_ok();
    // What is left behind only takes space.
    let _ = std::fs::remove_dir_all(&folder);
    unpacked
}

/// Where the Prowess packages for Python are built, and where the tests use them.
fn wheel_environments() -> anyhow::Result<()> {
    python_client("wheels")?;
    python_client("prowess")
}

fn python_client(client: &str) -> anyhow::Result<()> {
    let requirements = root().join(format!("tests/sdk/{client}.txt"));
    environment(&requirements, &target().join("sdk").join(client))
}

/// Pythons that can run `aider`, which refuses newer ones.
const AIDER_PYTHONS: [&str; 4] = ["python3", "python3.12", "python3.11", "python3.10"];

/// The coding agent that is a Python package. Where no Python is old enough for it, only
/// its own tests fail.
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

/// The environment of the tools that benchmarks compare with.
pub(crate) fn rivals() -> anyhow::Result<()> {
    let requirements = root().join("bench/discover/requirements.txt");
    environment(&requirements, &target().join("bench-venv"))
}

/// Creates an environment, unless one with the same packages exists.
pub(crate) fn environment(requirements: &Path, place: &Path) -> anyhow::Result<()> {
    if is_installed(requirements, place) {
        return Ok(());
    }
    environment_on(&find_python()?, requirements, place)
}

/// Like [`environment`], with this Python.
fn environment_on(python: &Path, requirements: &Path, place: &Path) -> anyhow::Result<()> {
    if is_installed(requirements, place) {
        return Ok(());
    }
    python_environment::create(python, place)?;
    run(&mut command(
        place.join("bin/python"),
        &[
            "-m",
            "pip",
            "install",
            "--quiet",
            // The tests import a small part of what is installed.
            "--no-compile",
            "--disable-pip-version-check",
            "-r",
            &path_text(requirements)?,
        ],
    ))?;
    let stamp = place.join("requirements.txt");
    std::fs::copy(requirements, stamp).context("cannot record what was installed")?;
    Ok(())
}

/// Whether these requirements are installed.
fn is_installed(requirements: &Path, place: &Path) -> bool {
    python_environment::is_at(place) && same_content(requirements, &place.join("requirements.txt"))
}

/// The JavaScript packages of a folder's `package.json`. Coding agents are large, and the
/// MCP tools need a newer Node: each has a folder of its own.
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
    // `npm install` follows the lock file. `npm ci` rejects a lock file without the packages
    // of other systems, though npm itself writes such files.
    let install = ["install", "--no-audit", "--no-fund", "--silent"];
    run(command("npm", &install).current_dir(place))?;
    std::fs::copy(&lock_file, &stamp).context("cannot record what was installed")?;
    Ok(())
}

pub(crate) fn same_content(a: &Path, b: &Path) -> bool {
    matches!((std::fs::read(a), std::fs::read(b)), (Ok(a), Ok(b)) if a == b)
}

/// A Python that can create environments; installed where that is allowed.
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

/// Installs Debian packages as root on Debian; otherwise fails and names them.
pub(crate) fn system_packages(packages: &[&str]) -> anyhow::Result<()> {
    let list = packages.join(" ");
    let can_install = succeeds(&mut command(
        "sh",
        &["-c", "test \"$(id -u)\" = 0 && command -v apt-get"],
    ));
    if !can_install {
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
