//! Package layers: requirements are installed into a read-only folder, built once per
//! content in a sandbox of its own that can reach only the operator's package index and npm
//! registry, and shared by every container with the same requirements. Using a layer needs
//! no network.
//!
//! A build is as hostile as any command: packages may run code in it. So its input is
//! rendered from parsed parts (`pep508`, `npm`), its steps run nothing that an earlier one could
//! have left behind, and the result is checked before it becomes a layer (`tree`).

pub(crate) mod builds;
pub(crate) mod layer_store;
pub(crate) mod npm;
mod pep508;
mod requirements;
mod requirements_text;
mod script;
mod tree;

pub(crate) use requirements::NpmRequirements;
pub use requirements::Requirements;

use crate::egress::DomainRule;
use crate::policy::{OutputLimits, SandboxLimits};
use prowess_launcher::LAYOUT;
use std::time::Duration;

/// The folder of a build's result, in its own `/mnt/data`.
pub(crate) const BUILT_FOLDER: &str = "layer";

/// Files, folders and links of a build.
const MAX_ENTRIES: u64 = 100_000;

/// The package index. Without one there are no layers.
#[derive(Debug, Clone)]
pub struct PackageIndex {
    /// Its URL, for `pip --index-url`.
    pub url: String,
    /// The hosts a build may reach: the index and its file hosts. They may have private
    /// addresses, because the operator names them.
    pub hosts: Vec<DomainRule>,
    /// Whether packages without a wheel may be built, which runs their code.
    pub allow_source: bool,
}

/// The npm registry. Without one, layers have no npm packages.
#[derive(Debug, Clone)]
pub struct NpmRegistry {
    /// Its URL, for `npm --registry`.
    pub url: String,
    /// The hosts a build may reach: the registry and its file hosts.
    pub hosts: Vec<DomainRule>,
}

/// A layer that can be mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The digest of its inputs.
    pub(crate) key: String,
    /// Why something is not in it.
    pub(crate) remark: Option<String>,
    /// What it contains, if it is on other hosts.
    requirements: Option<Requirements>,
}

impl Layer {
    /// A layer of this host.
    pub(crate) fn local(key: String, remark: Option<String>) -> Self {
        Self {
            key,
            remark,
            requirements: None,
        }
    }

    /// A layer that other hosts have, or build from these requirements. `remark` says why
    /// something is not in it.
    #[must_use]
    pub fn remote(requirements: Requirements, remark: Option<String>) -> Self {
        Self {
            // No layer of this host has such a key.
            key: format!("remote-{}", requirements.digest().hex()),
            remark,
            requirements: Some(requirements),
        }
    }

    /// The requirements of a layer that is on other hosts.
    #[must_use]
    pub fn requirements(&self) -> Option<&Requirements> {
        self.requirements.as_ref()
    }

    /// Why packages that skills require are not in it, if some are not.
    #[must_use]
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// Its folder, relative to the state folder.
    pub(crate) fn folder(&self) -> String {
        layer_folder(&self.key)
    }
}

/// The folder of the layer of this digest, relative to the state folder.
fn layer_folder(key: &str) -> String {
    format!("layers/{key}")
}

/// The folder of npm packages in a layer.
pub(crate) const NODE_MODULES: &str = "node_modules";

/// The npm input of a build, in its own `/mnt/data`: the folder of the layer is the project.
pub(crate) const NPM_MANIFEST_FILE: &str = "layer/package.json";
/// The lock of that.
pub(crate) const NPM_LOCK_FILE: &str = "layer/package-lock.json";

/// The input of a build, in its own `/mnt/data`.
pub(crate) const REQUIREMENTS_FILE: &str = "requirements.txt";

/// Runs pip as `-m pip` does, but from a folder that no package can write to, because a
/// requirement's name may also be that of a file there. Unless packages may be built
/// (`sources`), pip can start no program: the code of a package without a wheel is not run,
/// even if another package refers to it by URL. The one exception is the system's loader,
/// which pip runs to get its version where the C library is musl.
const PIP_PROGRAM: &str = "import os, runpy, sys
def refuse(event, arguments):
    if event == 'subprocess.Popen' and len(arguments[1]) == 1 and str(arguments[1][0]).startswith('/lib/ld-musl-'):
        return
    if event in ('subprocess.Popen', 'os.fork', 'os.forkpty', 'os.exec', 'os.posix_spawn', 'os.spawn', 'os.system'):
        raise PermissionError('packages without a wheel are not built here (package_sources)')
if sys.argv.pop(1) == 'wheels':
    sys.addaudithook(refuse)
os.chdir('/')
sys.argv[0] = 'pip'
runpy.run_module('pip', run_name='__main__', alter_sys=True)";

/// Compiles a layer. A file that cannot be compiled cannot be imported and is no error.
const COMPILE_PROGRAM: &str = "import compileall, os, py_compile, sys
os.chdir('/')
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
compileall.compile_dir(sys.argv[1], quiet=2, invalidation_mode=mode)";

/// Prints the interpreter and platform that a layer depends on.
const ABOUT_PROGRAM: &str =
    "import sys, sysconfig; print(sys.implementation.cache_tag, sysconfig.get_platform())";

/// A Python program for a build. Isolated (`-I`): nothing of the working folder, of the
/// environment or of a user's own packages is on its path.
fn python_command(program: &str, arguments: &[&str]) -> Vec<String> {
    let argv = ["python3", "-I", "-c", program].into_iter();
    argv.chain(arguments.iter().copied())
        .map(String::from)
        .collect()
}

/// The command that prints which interpreter layers are for.
pub(crate) fn about_interpreter_command() -> Vec<String> {
    python_command(ABOUT_PROGRAM, &[])
}

/// Variables of a build's commands: no configuration file of pip is read, and Node trusts
/// the certificates that other programs trust.
pub(crate) fn build_environment() -> Vec<(String, String)> {
    let certificates = "/etc/ssl/certs/ca-certificates.crt";
    vec![
        ("PIP_CONFIG_FILE".into(), "/dev/null".into()),
        ("NODE_EXTRA_CA_CERTS".into(), certificates.into()),
    ]
}

/// The command that installs npm packages from [`NPM_MANIFEST_FILE`]. It is the first of a
/// build, runs no code of packages, and reads no configuration: these files do not exist.
pub(crate) fn npm_command(registry: &NpmRegistry, locked: bool) -> Vec<String> {
    let (target, registry) = (LAYOUT.data_path(BUILT_FOLDER), &registry.url);
    let command = if locked { "ci" } else { "install" };
    let options = [
        "--ignore-scripts",
        "--omit=dev",
        "--no-bin-links",
        "--no-audit",
        "--no-fund",
        "--no-progress",
        "--no-update-notifier",
        "--loglevel=error",
        "--cache=/tmp/npm",
        "--userconfig=/tmp/none/user",
        "--globalconfig=/tmp/none/global",
    ];
    let argv = ["npm", command].into_iter().chain(options);
    let argv = argv.map(String::from);
    argv.chain([
        format!("--prefix={target}"),
        format!("--registry={registry}"),
    ])
    .collect()
}

/// The command that builds a layer from [`REQUIREMENTS_FILE`].
pub(crate) fn install_command(index: &PackageIndex) -> Vec<String> {
    let (target, list) = (
        LAYOUT.data_path(BUILT_FOLDER),
        LAYOUT.data_path(REQUIREMENTS_FILE),
    );
    let mut arguments = vec![
        if index.allow_source {
            "sources"
        } else {
            "wheels"
        },
        "install",
        "--isolated",
        "--no-input",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--no-compile",
        "--no-warn-script-location",
        "--root-user-action=ignore",
        "--progress-bar=off",
        "--target",
        &target,
        "--requirement",
        &list,
        "--index-url",
        &index.url,
    ];
    if !index.allow_source {
        arguments.extend(["--only-binary", ":all:"]);
    }
    // The operator chose an index without TLS.
    if let Some(rest) = index.url.strip_prefix("http://") {
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        arguments.extend(["--trusted-host", host]);
    }
    python_command(PIP_PROGRAM, &arguments)
}

/// The command that compiles a layer: it is read-only in use, so otherwise each import
/// would compile again. The result does not depend on file times, which change when the
/// layer is stored.
pub(crate) fn compile_command() -> Vec<String> {
    python_command(COMPILE_PROGRAM, &[&LAYOUT.data_path(BUILT_FOLDER)])
}

/// Limits of a build: packages are larger than typical outputs of commands.
pub(crate) fn build_limits() -> SandboxLimits {
    SandboxLimits {
        timeout: Duration::from_secs(600),
        memory: 4 << 30,
        data_bytes: 2 << 30,
        data_files: MAX_ENTRIES,
        container_entries: MAX_ENTRIES,
        tmp_bytes: 1 << 30,
        outputs: OutputLimits {
            count: 0,
            ..OutputLimits::default()
        },
        ..SandboxLimits::default()
    }
}
