//! A Prometheus below `target/`, which scrapes the server in a test: Debian's package, unpacked and
//! not installed, so that an ordinary user can do it and the system stays as it is.

use std::path::Path;

use crate::run::{command, run, succeeds, target};

/// Unpacks the package. Its programs need only the C library.
const UNPACK: &str = "set -e; mkdir -p packages; cd packages; \
    apt-get download -qq prometheus; dpkg-deb --extract prometheus_*.deb ..";

/// Unpacks it, once. Where that fails, only its test does.
pub(crate) fn install() -> anyhow::Result<()> {
    let place = target().join("prometheus");
    let there = |folder: &Path| {
        let mut programs = ["prometheus", "promtool"].into_iter();
        programs.all(|name| folder.join(name).exists())
    };
    if there(&place.join("usr/bin")) || there(Path::new("/usr/bin")) {
        return Ok(());
    }
    std::fs::create_dir_all(&place)?;
    let simulate = ["--simulate", "install", "prometheus"];
    if !succeeds(&mut command("apt-get", &simulate)) {
        // A system whose package lists were removed; this needs root.
        let _ = succeeds(&mut command("apt-get", &["update", "-qq"]));
    }
    let unpacked = run(command("sh", &["-c", UNPACK]).current_dir(&place));
    let _ = std::fs::remove_dir_all(place.join("packages"));
    if let Err(error) = unpacked {
        eprintln!(
            "no Prometheus for the test of the metrics: it needs apt-get and Debian's prometheus, \
             or prometheus and promtool in /usr/bin: {error}"
        );
    }
    Ok(())
}
