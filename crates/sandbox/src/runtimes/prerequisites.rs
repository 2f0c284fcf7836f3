//! What an installation needs of the host: programs, apt's configuration, and the right to
//! use another root.

use std::fs;
use std::path::PathBuf;

use super::report::MissingPrerequisite;
use super::tool::{find_program, host_program};

const OTHER_SYSTEM: &str = "on another system, make a root file system with its own tools and \
    name its path: runtime = \"/path\" under [sandbox] in prowess.toml";

/// Programs, and the Debian package of each.
const PROGRAMS: [(&str, &str); 4] = [
    ("mmdebstrap", "mmdebstrap"),
    ("tar", "tar"),
    ("unshare", "util-linux"),
    ("chroot", "coreutils"),
];

/// Everything that this host lacks for installing a runtime.
#[must_use]
pub fn missing_prerequisites() -> Vec<MissingPrerequisite> {
    if !cfg!(target_os = "linux") {
        return vec![missing(
            "Linux",
            "install runtimes on the Linux host that runs the sandbox",
        )];
    }
    let mut found = Vec::new();
    if find_program("apt-get").is_none() {
        let remedy = format!("runtimes are made from Debian packages; {OTHER_SYSTEM}");
        found.push(missing("apt-get is not installed", &remedy));
        return found;
    }
    for (program, package) in PROGRAMS {
        if find_program(program).is_none() {
            let remedy = format!("run `apt-get install {package}` as root");
            found.push(missing(&format!("{program} is not installed"), &remedy));
        }
    }
    if apt_sources().is_empty() {
        found.push(missing(
            "apt has no sources",
            "write /etc/apt/sources.list or a file in /etc/apt/sources.list.d",
        ));
    }
    if !rustix::process::getuid().is_root() {
        found.extend(missing_for_user());
    }
    found
}

/// What an ordinary user needs instead of root.
fn missing_for_user() -> Vec<MissingPrerequisite> {
    let mut found = Vec::new();
    let mut trial = host_program("unshare");
    trial.args(["--user", "--map-root-user", "--mount", "true"]);
    let trial = trial.output();
    if !trial.is_ok_and(|ended| ended.status.success()) {
        found.push(missing(
            "this user may not create user namespaces",
            "allow them (kernel.unprivileged_userns_clone=1, \
             kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces above 0), \
             or run this command as root",
        ));
    }
    if find_program("newuidmap").is_none() {
        found.push(missing(
            "newuidmap is not installed",
            "run `apt-get install uidmap` as root, or run this command as root",
        ));
    }
    if !has_subordinate_ids("/etc/subuid") || !has_subordinate_ids("/etc/subgid") {
        found.push(missing(
            "this user has no subordinate ids",
            "run `usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER` as \
             root, or run this command as root",
        ));
    }
    found
}

fn missing(what: &str, remedy: &str) -> MissingPrerequisite {
    MissingPrerequisite {
        what: what.to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// Whether a file of subordinate ids has a line of this user, by name or id.
fn has_subordinate_ids(file: &str) -> bool {
    let id = rustix::process::getuid().as_raw().to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    });
    let ranges = fs::read_to_string(file).unwrap_or_default();
    let mut owners = ranges.lines().filter_map(|line| line.split(':').next());
    owners.any(|owner| owner == id || Some(owner) == name.as_deref())
}

/// The files that tell apt where packages come from.
pub(super) fn apt_sources() -> Vec<PathBuf> {
    let main = PathBuf::from("/etc/apt/sources.list");
    let parts = fs::read_dir("/etc/apt/sources.list.d");
    let parts = parts.into_iter().flatten().flatten();
    let is_source = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("list" | "sources"))
    };
    let parts = parts.map(|entry| entry.path()).filter(is_source);
    let mut all: Vec<PathBuf> = std::iter::once(main).chain(parts).collect();
    all.retain(|path| fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0));
    all.sort();
    all
}

/// The release of Debian or Ubuntu that this host runs, by its code name.
pub(super) fn host_suite() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    let name = name.trim_matches('"');
    (!name.is_empty()).then(|| name.to_owned())
}
