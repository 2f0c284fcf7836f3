//! The steps with packages of Python and npm. Their package managers are those of the new
//! root, and run in it, in a mount namespace of its own, with the host's network.
//!
//! Only wheels are installed, and no install scripts run: no code of a package is executed.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::error::{AtPlace, RuntimeError};
use super::folders::{NODE_MODULES, PYTHON_LIBRARIES, ROOT, python_folders, remove_folder};
use super::host_settings;
use super::installation::Installation;
use super::report::InstallEvent;
use super::tool::{self, disk_bytes, host_program};

const PREPARE_FAILED: &str = "cannot prepare the staging folder";

/// Copies of the host's settings, in the staging folder.
const SETTINGS_FOLDER: &str = "settings";
/// Downloads of pip and npm, in the staging folder.
const CACHE_FOLDER: &str = "cache";
/// The same inside the root.
const CACHE_INSIDE: &str = "/run/cache";

/// Enters the root: ROOT SETTINGS CACHE COMMAND…
const ENTER: &str = r#"
set -e
umask 022
root=$1 settings=$2 cache=$3
shift 3
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mkdir "$root/run/prowess" "$root/run/cache"
cp -R "$settings/." "$root/run/prowess/"
mount --bind "$cache" "$root/run/cache"
for file in /etc/resolv.conf /etc/hosts; do
  if [ -e "$file" ]; then mount --bind "$file" "$root$file"; fi
done
if [ -d /etc/ssl/certs ]; then mount --rbind /etc/ssl/certs "$root/etc/ssl/certs"; fi
exec chroot "$root" "$@"
"#;

/// Installs the Python packages.
pub(super) fn install_python(work: &mut Installation<'_>) -> Result<(), RuntimeError> {
    // What a killed installation has left; Debian packages have nothing here.
    let root = work.build.join(ROOT);
    for folder in python_folders(&root) {
        remove_folder(&folder)?;
    }
    let command = [
        "python3",
        "-m",
        "pip",
        "install",
        "--no-input",
        "--disable-pip-version-check",
        "--no-warn-script-location",
        "--root-user-action=ignore",
        "--progress-bar=off",
        "--only-binary=:all:",
        "--cache-dir=/run/cache/pip",
    ];
    let packages = work.definition.python.packages.clone();
    run_inside("installing Python packages", work, &command, &packages)
}

/// Installs the npm packages.
pub(super) fn install_npm(work: &mut Installation<'_>) -> Result<(), RuntimeError> {
    remove_folder(&work.build.join(ROOT).join(NODE_MODULES))?;
    let command = [
        "npm",
        "install",
        "--global",
        "--prefix=/usr/local",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-progress",
        "--no-update-notifier",
        // Programs that a killed installation has linked are linked again.
        "--force",
        "--cache=/run/cache/npm",
        "--",
    ];
    let packages = work.definition.npm.packages.clone();
    run_inside("installing npm packages", work, &command, &packages)
}

fn run_inside(
    what: &'static str,
    work: &mut Installation<'_>,
    command: &[&str],
    packages: &[String],
) -> Result<(), RuntimeError> {
    let root = work.build.join(ROOT);
    let settings = work.staging.join(SETTINGS_FOLDER);
    let cache = work.staging.join(CACHE_FOLDER);
    fs::create_dir_all(&cache).at_place(PREPARE_FAILED, &cache)?;
    remove_folder(&settings)?;
    let variables = host_settings::copy(&settings)?;
    let mut enter = enter(&root, &settings, &cache);
    enter.envs(variables);
    enter.args(command).args(packages);
    let libraries = root.join(PYTHON_LIBRARIES);
    let report = &mut work.report;
    let ran = tool::run(what, &mut enter, work.lock, &mut || {
        let done = disk_bytes(&libraries);
        (*report)(InstallEvent::Bytes { done, total: None });
    });
    // It may contain credentials.
    remove_folder(&settings)?;
    ran
}

/// A command in the root; its own command line follows.
fn enter(root: &Path, settings: &Path, cache: &Path) -> Command {
    let mut command = host_program("unshare");
    if !rustix::process::getuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "sh", "-c", ENTER, "sh"]);
    command.arg(root).arg(settings).arg(cache);
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "TMPDIR"] {
        command.env_remove(name);
    }
    command.env("HOME", CACHE_INSIDE);
    command.env("PIP_BREAK_SYSTEM_PACKAGES", "1");
    command
}
