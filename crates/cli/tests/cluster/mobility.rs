//! Containers outlive their workers: a command elsewhere sees exactly what was committed.

use crate::bed::ClusterBed;
use crate::durable::bed::Bed;
use crate::durable::poll::{is_running, wait_for};
use crate::soak::is_soak;

/// Prints one digest of everything in the folder: names, kinds, modes, targets and contents.
const DIGEST: &str = include_str!("../../../../tests/cluster/digest_files.py");

/// Makes many files, and some whose names and modes are hard to carry.
const MAKE: &str = include_str!("../../../../tests/cluster/make_files.py");

/// Removes, renames, truncates and replaces.
const CHANGE: &str = include_str!("../../../../tests/cluster/change_files.py");

fn python(parts: &[&str]) -> String {
    let program = parts.concat();
    format!("python3 - <<'PROGRAM'\n{program}\nPROGRAM")
}

/// The number of entries and their digest, in a command's output.
fn digest(output: &str) -> String {
    let (_, rest) = output
        .split_once("digest ")
        .unwrap_or_else(|| panic!("{output}"));
    let is_digest = |c: &char| c.is_ascii_hexdigit() || *c == ' ';
    rest.chars().take_while(is_digest).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_elsewhere_sees_exactly_the_committed_files() {
    // The largest container that there can be, or one that takes seconds. Each small file takes a
    // block of its limit of 512 MiB.
    let (bytes, files) = match is_soak() {
        true => (460 << 20, 9_800),
        false => (32 << 20, 2_000),
    };
    let mut bed = ClusterBed::start().await;
    let size = format!("BYTES = {bytes}\nFILES = {files}\n");
    let url = bed.fleet.url();
    // What is committed has passed through the sandbox, which grants owners access to their files:
    // the second command sees it.
    let commands = [python(&[&size, MAKE]), python(&[DIGEST])];
    let commands = commands.each_ref().map(String::as_str);
    let made = bed.script(&url, None, &commands).await;
    let container = made.container;
    let mut expected = digest(&made.output);
    let count: usize = expected.split(' ').next().unwrap().parse().unwrap();
    assert!(count > files, "{expected}");
    for step in 0..3 {
        // What ran the last command is gone, with its copy of the container.
        let worker = bed.last_worker(&container).await;
        let number = bed.worker_number(&worker);
        bed.fleet.workers[number].kill();
        let gateway = bed.fleet.gateways[step].url();
        let seen = bed
            .script(&gateway, Some(&container), &[&python(&[DIGEST])])
            .await;
        assert_eq!(digest(&seen.output), expected, "{worker} {step}");
        let elsewhere = bed.last_worker(&container).await;
        assert_ne!(elsewhere, worker);
        bed.fleet.workers[number].restart(&[]);
        bed.fleet.workers[number].wait_until_ready();
        if step == 0 {
            let commands = [python(&[CHANGE]), python(&[DIGEST])];
            let commands = commands.each_ref().map(String::as_str);
            let changed = bed.script(&gateway, Some(&container), &commands).await;
            assert_ne!(digest(&changed.output), expected);
            expected = digest(&changed.output);
        }
    }
    a_command_is_lost_with_its_worker(&bed, &container).await;
}

/// It is run again elsewhere, from the committed files.
async fn a_command_is_lost_with_its_worker(bed: &ClusterBed, container: &str) {
    let worker = bed.last_worker(container).await;
    let seconds = format!("3.0{}", std::process::id());
    let command = format!("echo lost >> log.txt; sleep {seconds}; cat log.txt");
    let request = bed.script_request(&bed.fleet.url(), Some(container), &[&command]);
    let answer = tokio::spawn(Bed::json(request));
    wait_for("the command runs", async || {
        is_running(&seconds).then_some(())
    })
    .await;
    bed.fleet.workers[bed.worker_number(&worker)].kill();
    answer.await.unwrap();
    let output = bed.model.last_result();
    assert_eq!(output.matches("lost").count(), 1, "{output}");
    assert_ne!(bed.last_worker(container).await, worker);
}
