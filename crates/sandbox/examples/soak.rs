//! Many executions in a row and many at once, and what they leave behind: processes,
//! mounts, control groups, descriptors, files and memory of the server.
//!
//! `cargo run --release -p prowess-sandbox --example soak -- [COUNT]`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement stops at the first surprise and prints what it saw"
)]

use prowess_sandbox::{
    Command, CommandOutcome, ContainerSpec, Execution, Sandbox, SandboxSettings,
};
use std::fs;
use std::path::Path;
use std::time::Instant;

const OWNER: &str = "soak";

fn main() {
    let count = std::env::args()
        .nth(1)
        .map_or(2000, |text| text.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(soak(count));
}

async fn soak(count: usize) {
    let folder = tempfile::TempDir::new().unwrap();
    let mut settings = SandboxSettings::new(folder.path());
    settings.allow_reduced = true;
    settings.warm = 0;
    settings.running = 64;
    let sandbox = Sandbox::open(settings).await.unwrap();
    at_once(&sandbox, 64).await;
    show("after 64 at once", folder.path());
    let start = Instant::now();
    for step in 1..=count {
        one(&sandbox, step).await;
        if step % (count / 4).max(1) == 0 {
            show(&format!("after {step} in a row"), folder.path());
        }
    }
    println!(
        "{count} in a row took {:.1} s",
        start.elapsed().as_secs_f64()
    );
    at_once(&sandbox, 64).await;
    show("after 64 at once again", folder.path());
    drop(sandbox);
    show("after closing", folder.path());
}

async fn at_once(sandbox: &Sandbox, count: usize) {
    let tasks: Vec<_> = (0..count)
        .map(|step| {
            let sandbox = sandbox.clone();
            tokio::spawn(async move { one(&sandbox, step).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// A container, a command that leaves a file and an orphan, and the end of the container.
async fn one(sandbox: &Sandbox, step: usize) {
    let id = sandbox
        .create(OWNER, ContainerSpec::default())
        .await
        .unwrap();
    let command = Command::Bash(format!("(sleep 100 &); echo {step} > out; cat out"));
    let execution = Execution {
        command,
        ..Execution::default()
    };
    let report = sandbox.exec(OWNER, &id, execution).await.unwrap();
    assert_eq!(report.outcome, CommandOutcome::Exit(0));
    assert_eq!(report.stdout.text, format!("{step}\n"));
    sandbox.destroy(OWNER, &id).await.unwrap();
}

fn show(when: &str, folder: &Path) {
    let count = |path: &str| fs::read_dir(path).map_or(0, Iterator::count);
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let memory = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap()
        .trim();
    let mounts = fs::read_to_string("/proc/self/mountinfo")
        .unwrap()
        .lines()
        .count();
    println!(
        "{when}: {} processes, {mounts} mounts, {} groups, {} descriptors, {} containers, {memory}",
        children(),
        groups(),
        count("/proc/self/fd"),
        count(folder.join("state/sessions").to_str().unwrap()),
    );
}

/// Processes that this one has started, of any depth.
fn children() -> usize {
    let mut found = 0;
    let mut ask = vec![std::process::id()];
    while let Some(pid) = ask.pop() {
        for task in fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let pids: Vec<u32> = text
                .split_whitespace()
                .map(|pid| pid.parse().unwrap())
                .collect();
            found += pids.len();
            ask.extend(pids);
        }
    }
    found
}

/// Control groups of this process's slots.
fn groups() -> usize {
    let prefix = format!("prowess-{}-", std::process::id());
    let entries = fs::read_dir("/sys/fs/cgroup/pids")
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .count()
}
