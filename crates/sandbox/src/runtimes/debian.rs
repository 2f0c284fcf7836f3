//! The steps with Debian packages: download them with the host's apt, install them with
//! mmdebstrap into a root file system of their own, and unpack that.
//!
//! Downloads are kept until the runtime is complete, so that a killed installation does not
//! fetch them again. mmdebstrap works in a mount namespace of its own also for root: whatever
//! it mounts is gone with it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::adjust::adjust_programs;
use super::error::{AtPlace, RuntimeError};
use super::folders::{ROOT, ignore_missing, remove_folder};
use super::installation::Installation;
use super::prerequisites::apt_sources;
use super::report::InstallEvent;
use super::tool::{self, disk_bytes, host_program};

/// Folder of downloaded packages in the staging folder.
pub(super) const DOWNLOADS: &str = "debs";
/// State of apt for this installation.
const APT_FOLDER: &str = "apt";
/// What mmdebstrap makes.
const ARCHIVE: &str = "root.tar";
/// Its temporary files.
const TMP_FOLDER: &str = "tmp";
/// The host's settings of apt that are about downloads.
const ACQUIRE_FILE: &str = "acquire.conf";

const PREPARE_FAILED: &str = "cannot prepare the staging folder";

/// What every Debian system has.
const ESSENTIAL: [&str; 2] = ["?and(?essential,?architecture(native))", "apt"];

/// Parts that no program of a container needs, or that are the host's.
const LEFT_OUT: [&str; 14] = [
    "./dev/*",
    "./proc/*",
    "./sys/*",
    "./run/*",
    "./boot/*",
    "./etc/apt",
    "./etc/hostname",
    "./etc/localtime",
    "./etc/resolv.conf",
    "./var/cache/apt",
    "./var/lib/apt",
    "./usr/share/doc/*",
    "./usr/share/man/*",
    "./usr/share/info/*",
];

/// Downloads all packages.
pub(super) fn download(work: &mut Installation<'_>) -> Result<(), RuntimeError> {
    const WHAT: &str = "downloading Debian packages";
    let apt = work.staging.join(APT_FOLDER);
    let downloads = work.staging.join(DOWNLOADS);
    for folder in [
        apt.join("lists/partial"),
        apt.join("cache"),
        downloads.join("partial"),
    ] {
        fs::create_dir_all(&folder).at_place(PREPARE_FAILED, &folder)?;
    }
    let status = apt.join("status");
    fs::write(&status, "").at_place(PREPARE_FAILED, &status)?;
    let lock = work.lock;
    tool::run(WHAT, apt_get(work).arg("update"), lock, &mut || {})?;
    let mut list = apt_get(work);
    list.args(["--print-uris", "install"]).args(packages(work));
    let total = total_bytes(&tool::run_for_output(WHAT, &mut list, lock)?);
    let mut fetch = apt_get(work);
    fetch
        .args(["--download-only", "install"])
        .args(packages(work));
    tool::run(WHAT, &mut fetch, lock, &mut || {
        // Those that an earlier installation has downloaded are not in the total.
        let (done, total) = (disk_bytes(&downloads), Some(total).filter(|all| *all > 0));
        (work.report)(InstallEvent::Bytes { done, total });
    })
}

fn packages<'a>(work: &'a Installation<'_>) -> impl Iterator<Item = &'a str> {
    let named = work.definition.debian.packages.iter();
    ESSENTIAL.into_iter().chain(named.map(String::as_str))
}

/// apt-get with the host's sources and settings, and with state of its own.
fn apt_get(work: &Installation<'_>) -> Command {
    let apt = work.staging.join(APT_FOLDER);
    let mut command = host_program("apt-get");
    let folders = [
        ("Dir::State::lists", apt.join("lists/")),
        ("Dir::State::status", apt.join("status")),
        ("Dir::State::extended_states", apt.join("extended_states")),
        ("Dir::Cache", apt.join("cache/")),
        ("Dir::Cache::archives", work.staging.join("debs/")),
    ];
    for (setting, folder) in folders {
        command.arg("-o");
        let mut option = std::ffi::OsString::from(format!("{setting}="));
        option.push(folder);
        command.arg(option);
    }
    for option in [
        "APT::Get::Assume-Yes=true",
        "APT::Install-Recommends=false",
        "APT::Keep-Downloaded-Packages=true",
        "APT::Sandbox::User=root",
        "Acquire::Languages=none",
        "Acquire::Retries=3",
        "Debug::NoLocking=true",
        "Dpkg::Use-Pty=false",
    ] {
        command.args(["-o", option]);
    }
    command.arg("--quiet");
    command
}

/// The sizes in what apt prints about each package: `'address' file size digest`.
fn total_bytes(printed: &str) -> u64 {
    let lines = printed.lines().filter(|line| line.starts_with('\''));
    let sizes = lines.filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    sizes.fold(0, u64::saturating_add)
}

/// Installs the packages into a root file system, as an archive.
pub(super) fn bootstrap(work: &mut Installation<'_>) -> Result<(), RuntimeError> {
    const WHAT: &str = "installing Debian packages";
    let (archive, tmp) = (work.staging.join(ARCHIVE), work.staging.join(TMP_FOLDER));
    ignore_missing(fs::remove_file(&archive)).at_place(PREPARE_FAILED, &archive)?;
    // What a killed installation has left.
    remove_folder(&tmp)?;
    fs::create_dir_all(&tmp).at_place(PREPARE_FAILED, &tmp)?;
    let settings = work.staging.join(ACQUIRE_FILE);
    let host = tool::run_for_output(WHAT, host_program("apt-config").arg("dump"), work.lock)?;
    let acquire: String = host
        .lines()
        .filter(|line| line.starts_with("Acquire::"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&settings, acquire).at_place(PREPARE_FAILED, &settings)?;
    let mut make = host_program("mmdebstrap");
    make.current_dir(&work.staging);
    if rustix::process::getuid().is_root() {
        // An ordinary user's namespace has no access to the staging folder.
        make.env("TMPDIR", &tmp);
    }
    make.args([
        "--mode=unshare",
        "--variant=apt",
        "--format=tar",
        // What is lost in a crash is made again.
        "--dpkgopt=force-unsafe-io",
        "--aptopt=./acquire.conf",
        "--aptopt=APT::Install-Recommends \"false\"",
        "--aptopt=APT::Sandbox::User \"root\"",
        "--aptopt=Acquire::Languages \"none\"",
        "--setup-hook=mkdir -p \"$1/var/cache/apt/archives\"",
        "--setup-hook=sync-in ./debs /var/cache/apt/archives",
    ]);
    make.arg(format!(
        "--include={}",
        work.definition.debian.packages.join(",")
    ));
    make.args([work.suite.as_str(), ARCHIVE]);
    make.args(apt_sources());
    tool::run(WHAT, &mut make, work.lock, &mut || {
        (work.report)(InstallEvent::Bytes {
            done: disk_bytes(&tmp),
            total: None,
        });
    })?;
    remove_folder(&tmp)
}

/// Unpacks the archive. Owners, set-id bits and device files are left behind: all of it is
/// read by an ordinary user.
pub(super) fn unpack(work: &mut Installation<'_>) -> Result<(), RuntimeError> {
    const WHAT: &str = "unpacking the root file system";
    let (part, root) = (work.build.join("root.part"), work.build.join(ROOT));
    remove_folder(&part)?;
    remove_folder(&root)?;
    fs::create_dir_all(&part).at_place(PREPARE_FAILED, &part)?;
    // With the operator's umask, files could be unreadable for the ids that sandboxes run as.
    let mut unpack = host_program("sh");
    unpack.args(["-c", "umask 022 && exec tar \"$@\"", "tar"]);
    unpack
        .args(["--extract", "--file"])
        .arg(work.staging.join(ARCHIVE));
    unpack.arg("--directory").arg(&part);
    unpack.args([
        "--no-same-owner",
        "--no-same-permissions",
        "--delay-directory-restore",
    ]);
    unpack.args(LEFT_OUT.map(|path| format!("--exclude={path}")));
    let report = &mut work.report;
    tool::run(WHAT, &mut unpack, work.lock, &mut || {
        let done = disk_bytes(&part);
        (*report)(InstallEvent::Bytes { done, total: None });
    })?;
    make_mount_points(&part)?;
    adjust_programs(&part)?;
    fs::rename(&part, &root).at_place(PREPARE_FAILED, &root)?;
    let archive = work.staging.join(ARCHIVE);
    ignore_missing(fs::remove_file(&archive)).at_place(PREPARE_FAILED, &archive)
}

/// Folders and files that the next steps mount on.
fn make_mount_points(root: &Path) -> Result<(), RuntimeError> {
    for folder in ["dev", "run", "tmp", "etc/ssl/certs"] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).at_place(PREPARE_FAILED, &folder)?;
    }
    for file in ["etc/resolv.conf", "etc/hosts"] {
        let file = root.join(file);
        ignore_missing(fs::remove_file(&file)).at_place(PREPARE_FAILED, &file)?;
        fs::write(&file, "").at_place(PREPARE_FAILED, &file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_added_and_other_lines_skipped() {
        let printed = "Reading package lists...\n'http://m/a.deb' a_1_amd64.deb 100 SHA256:00\n\
                       'http://m/b.deb' b_1_amd64.deb 23 SHA256:11\n";
        assert_eq!(total_bytes(printed), 123);
        assert_eq!(total_bytes(""), 0);
    }
}
