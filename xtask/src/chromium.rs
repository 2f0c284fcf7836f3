//! A Chromium below `target/`, which the tests of the console drive: Debian's packages, unpacked
//! and not installed, so that an ordinary user can do it and the system stays as it is.

use std::path::Path;

use crate::run::{command, run, succeeds, target};

/// Unpacks the browser, its driver and those libraries that the system does not have. A font
/// is among them: without one, every letter has the same shape.
const UNPACK: &str = "set -e; mkdir -p packages; cd packages; \
    needed=$(apt-get --simulate install --no-install-recommends chromium chromium-driver \
        fonts-dejavu-core | sed -n 's/^Inst \\([^ ]*\\) .*/\\1/p'); \
    apt-get download -qq $needed; \
    for package in *.deb; do dpkg-deb --extract \"$package\" ..; done";

/// Says that everything was unpacked.
const STAMP: &str = "unpacked.txt";

/// Unpacks it, once. Where that fails, only the tests of the console do.
pub(crate) fn install() -> anyhow::Result<()> {
    let place = target().join("chromium");
    let there = |name: &str| Path::new("/usr/bin").join(name).exists();
    if place.join(STAMP).exists() || there("chromium") && there("chromedriver") {
        return Ok(());
    }
    std::fs::create_dir_all(&place)?;
    let simulate = ["--simulate", "install", "chromium", "chromium-driver"];
    if !succeeds(&mut command("apt-get", &simulate)) {
        // A system whose package lists were removed; this needs root.
        let _ = succeeds(&mut command("apt-get", &["update", "-qq"]));
    }
    let unpacked = run(command("sh", &["-c", UNPACK]).current_dir(&place));
    let _ = std::fs::remove_dir_all(place.join("packages"));
    match unpacked {
        Ok(()) => std::fs::write(place.join(STAMP), "chromium, chromium-driver\n")?,
        Err(error) => eprintln!(
            "no browser for the tests of the console: it needs apt-get and Debian's chromium, or \
             chromium and chromedriver in /usr/bin: {error}"
        ),
    }
    Ok(())
}
