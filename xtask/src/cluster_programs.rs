//! Programs that a cluster consists of besides ours: a message server, a load balancer and an S3
//! server. Debian's packages are unpacked below `target/` and not installed: installed, they would
//! start for the whole system.

use std::path::Path;

use crate::run::{command, root, succeeds, target};
use crate::setup::{environment, unpack};

/// The message server alone.
pub(crate) fn install_nats() -> anyhow::Result<()> {
    package("nats-server")
}

/// All of them.
pub(crate) fn install() -> anyhow::Result<()> {
    package("nats-server")?;
    package("haproxy")?;
    environment(
        &root().join("tests/cluster/requirements.txt"),
        &target().join("seaweedfs"),
    )
}

/// Unpacks a package whose program has its name, with the libraries that this system lacks.
/// Where that fails, only the tests of clusters do.
fn package(name: &str) -> anyhow::Result<()> {
    let place = target().join("cluster");
    let there = |folder: &Path| folder.join(name).exists();
    if there(&place.join("usr/sbin")) || there(Path::new("/usr/sbin")) {
        return Ok(());
    }
    std::fs::create_dir_all(&place)?;
    let mut packages = would_install(name)?;
    if packages.is_empty() {
        // A system whose package lists were removed; this needs root.
        let _ = succeeds(&mut command("apt-get", &["update", "-qq"]));
        packages = would_install(name)?;
    }
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    if packages.is_empty() || !unpack(&packages, &place) {
        eprintln!("no {name} for the tests of clusters: it needs apt-get and Debian's {name}");
    }
    Ok(())
}

/// The package and what it needs that is not installed.
pub(crate) fn would_install(name: &str) -> anyhow::Result<Vec<String>> {
    let simulate = ["--simulate", "--no-install-recommends", "install", name];
    let listed = command("apt-get", &simulate).output();
    let Ok(listed) = listed else {
        return Ok(Vec::new());
    };
    let listed = String::from_utf8(listed.stdout)?;
    let lines = listed.lines().filter_map(|line| line.strip_prefix("Inst "));
    let names = lines.filter_map(|line| line.split(' ').next());
    Ok(names.map(str::to_owned).collect())
}
