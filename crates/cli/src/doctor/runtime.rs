//! What code of skills finds in a sandbox: the runtime, and packages that skills declare.

use prowess_sandbox::runtimes::{RuntimeDefinition, RuntimeStore};
use prowess_sandbox::{
    BackendKind, DomainRule, Probe, RuntimeName, RuntimeSource, SandboxSettings,
};

use super::part::PartReport;
use crate::output;

const RUNTIME: &str = "runtime";
const PACKAGES: &str = "packages";
const NPM_PACKAGES: &str = "npm packages";

/// The name of the probe's check that lists interpreters.
const INTERPRETERS: &str = "interpreters";

/// Checks the runtime and the packages; `None` if the sandbox is off.
pub(super) fn check(settings: Option<&SandboxSettings>, probe: Option<&Probe>) -> Vec<PartReport> {
    let Some(settings) = settings else {
        let advice = "to run code, remove backend under [sandbox] in prowess.toml";
        let off = "off: code of skills is refused";
        return vec![PartReport::note("sandbox", off, advice)];
    };
    vec![
        check_runtime(settings, probe),
        check_packages(settings),
        check_npm_packages(settings),
    ]
}

/// The same for the start of a server, which probes in the background.
pub(super) fn check_settings(settings: &SandboxSettings) -> Vec<PartReport> {
    vec![check_runtime(settings, None), check_packages(settings)]
}

fn check_runtime(settings: &SandboxSettings, probe: Option<&Probe>) -> PartReport {
    if let BackendKind::Docker(docker) = &settings.backend {
        let detail = format!("the Docker image {}", docker.image);
        return PartReport::ok(RUNTIME, detail);
    }
    match &settings.runtime {
        RuntimeSource::Installed(name) => check_installed(settings, name),
        RuntimeSource::Folder(folder) if folder.parent().is_none() => {
            let found = probe.and_then(|probe| {
                let mut checks = probe.checks.iter();
                checks.find(|check| check.name == INTERPRETERS)
            });
            match found {
                Some(found) if !found.detail.contains("python3") => PartReport::note(
                    RUNTIME,
                    "the host's own, which has no python3",
                    "install python3, or another runtime: see `prowess runtime list`",
                ),
                _ => PartReport::ok(RUNTIME, "the host's own"),
            }
        }
        RuntimeSource::Folder(folder) if folder.is_dir() => PartReport::ok(
            RUNTIME,
            format!("the root file system {}", folder.display()),
        ),
        RuntimeSource::Folder(folder) => PartReport::missing(
            RUNTIME,
            format!("{} is not a folder", folder.display()),
            "name a root file system, or the name of an installed runtime, as runtime under \
             [sandbox] in prowess.toml",
        ),
    }
}

fn check_installed(settings: &SandboxSettings, name: &RuntimeName) -> PartReport {
    let store = RuntimeStore::new(settings);
    let install = format!("run `prowess runtime install {name}`");
    let Some(found) = store.find(name) else {
        let detail = if store.is_unfinished(name) {
            format!("the installation of `{name}` is not complete")
        } else {
            format!("`{name}` is not installed")
        };
        return PartReport::missing(RUNTIME, detail, install);
    };
    let known = RuntimeDefinition::known(name);
    if known.is_ok_and(|known| known != found.definition) {
        let detail = format!("`{name}` was made from another list of packages");
        return PartReport::note(RUNTIME, detail, install);
    }
    let lock = &found.lock;
    let packages = lock.debian.len() + lock.python.len() + lock.npm.len();
    let size = output::format_size(lock.bytes);
    let packages = output::format_count(packages, "package");
    PartReport::ok(RUNTIME, format!("`{name}`, {size}, {packages}"))
}

fn check_packages(settings: &SandboxSettings) -> PartReport {
    match &settings.packages {
        Some(index) => PartReport::ok(PACKAGES, show_hosts(&index.hosts)),
        None => PartReport::note(
            PACKAGES,
            "there is no index for the Python packages that skills declare",
            "name one: package_index under [sandbox] in prowess.toml",
        ),
    }
}

fn check_npm_packages(settings: &SandboxSettings) -> PartReport {
    match &settings.npm_registry {
        Some(registry) => PartReport::ok(NPM_PACKAGES, show_hosts(&registry.hosts)),
        None => PartReport::note(
            NPM_PACKAGES,
            "there is no registry for the npm packages that skills declare",
            "name one: npm_registry under [sandbox] in prowess.toml",
        ),
    }
}

/// Where packages come from, without the address, which may contain a password.
fn show_hosts(hosts: &[DomainRule]) -> String {
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    format!("from {}", hosts.join(", "))
}
