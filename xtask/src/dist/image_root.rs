//! The Debian inside the container image: a tar archive of its root file system, made by
//! mmdebstrap from the packages of a runtime's list, with the user of the server.
//!
//! Must not know images.

use std::path::PathBuf;

use anyhow::Context;

use super::tarball::read;
use crate::run::{command, run, succeeds, target};
use crate::setup::{path_text, system_packages};

/// The release that it is made of.
const SUITE: &str = "bookworm";

/// Its glibc, named as symbols name it.
pub(super) const GLIBC: &str = "GLIBC_2.36";

/// The user that the server runs as, inside.
pub(super) const USER: u32 = 10001;

/// What nobody reads in a container. Licences stay.
const EXCLUDED: [&str; 4] = [
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
];

/// Whether one can be made without installing anything on this host.
pub(super) fn is_possible() -> bool {
    succeeds(&mut command("mmdebstrap", &["--version"]))
}

/// Makes an archive for tests, once. Without root it is left out, and so are its tests.
pub(crate) fn install() -> anyhow::Result<()> {
    if !succeeds(&mut command("sh", &["-c", "test \"$(id -u)\" = 0"])) {
        eprintln!("no container image for the tests: it needs root");
        return Ok(());
    }
    if !is_possible() {
        system_packages(&["mmdebstrap"])?;
    }
    archive(0, true).map(drop)
}

/// The archive. Files are no later than `date`; for tests an existing archive will do, which
/// may have older packages.
pub(super) fn archive(date: u64, for_tests: bool) -> anyhow::Result<PathBuf> {
    let options = options()?;
    let folder = target().join("image-root");
    let (archive, stamp) = (folder.join("slim.tar"), folder.join("slim.txt"));
    let made = std::fs::read_to_string(&stamp).is_ok_and(|made| made == options.join("\n"));
    if for_tests && made && archive.exists() {
        return Ok(archive);
    }
    std::fs::create_dir_all(&folder)?;
    // Of this process, so that two can run at once.
    let new = folder.join(format!("slim-{}.tar", std::process::id()));
    let mut make = command("mmdebstrap", &[]);
    make.args(&options)
        .args([SUITE, &path_text(&new)?])
        .env("SOURCE_DATE_EPOCH", date.to_string());
    let result = run(&mut make).context("the root file system of the image cannot be made");
    if result.is_err() {
        // A part of it is of no use.
        let _ = std::fs::remove_file(&new);
    }
    result?;
    std::fs::rename(&new, &archive)?;
    std::fs::write(&stamp, options.join("\n")).context("cannot record what was made")?;
    Ok(archive)
}

fn options() -> anyhow::Result<Vec<String>> {
    let data = "/var/lib/prowess";
    let hooks = [
        format!("echo prowess:x:{USER}:{USER}::{data}:/usr/sbin/nologin >>\"$1/etc/passwd\""),
        format!("echo prowess:x:{USER}: >>\"$1/etc/group\""),
        // Of the host, for the installation.
        "rm --force \"$1/etc/resolv.conf\" \"$1/etc/hostname\"".to_owned(),
        format!("install --directory --mode=700 --owner={USER} --group={USER} \"$1{data}\""),
    ];
    let mut options = vec![
        "--variant=minbase".to_owned(),
        "--quiet".to_owned(),
        "--format=tar".to_owned(),
        format!("--include={}", packages()?.join(",")),
    ];
    options.extend(EXCLUDED.map(|option| format!("--dpkgopt={option}")));
    options.extend(hooks.map(|hook| format!("--customize-hook={hook}")));
    Ok(options)
}

/// Debian's packages of the runtime `slim`: the image offers skills the same.
fn packages() -> anyhow::Result<Vec<String>> {
    let list = String::from_utf8(read("crates/sandbox/runtimes/slim.toml")?)?;
    let list: toml::Table = list.parse().context("slim.toml is not TOML")?;
    let packages = list.get("debian").and_then(|debian| debian.get("packages"));
    let packages = packages.and_then(toml::Value::as_array);
    let names = packages.context("slim.toml has no `packages` under [debian]")?;
    let names = names.iter().filter_map(toml::Value::as_str);
    Ok(names.map(str::to_owned).collect())
}
