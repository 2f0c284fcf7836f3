//! Starts of python3 in a runtime, in turns with those in a plain one.

use crate::ours::Ours;
use crate::{PYTHON, Timing, Way, median, shuffled};
use prowess_bench_report::{Cell, Column, Report, Table};
use std::path::Path;

/// How many times as long as in the plain runtime a start should take at most.
const BAR: f64 = 1.1;

const COLD: &str = "cold";
const WARM: &str = "warm";

/// Each way to start it, whether much or nothing was prepared, and its label.
const STARTS: [(Way, &str, &str); 4] = [
    (Way::Cold, COLD, "all sandbox layers new"),
    (Way::Container, WARM, "container prepared, python3 started"),
    (Way::Waiting, WARM, "container, interpreter waiting"),
    (Way::Pool, WARM, "first command of a new container"),
];

/// Measurements of one way, in the plain runtime and in the other.
#[derive(Debug, Default)]
struct Taken {
    plain: Vec<Timing>,
    runtime: Vec<Timing>,
}

/// `runtime` and `plain` are root file systems.
pub(crate) async fn measure(runtime: &Path, plain: &Path, rounds: usize) {
    let folder = tempfile::TempDir::new().unwrap();
    let in_plain = open(folder.path(), "plain", plain).await;
    let in_runtime = open(folder.path(), "runtime", runtime).await;
    let mut taken: [Taken; STARTS.len()] = Default::default();
    let mut seed = 1u64;
    // The first round reads the files from disk, and is not counted.
    for round in 0..=rounds {
        for number in shuffled(2 * STARTS.len(), &mut seed) {
            let index = number / 2;
            let (way, _, _) = STARTS[index];
            let (sandboxes, times) = match number % 2 {
                0 => (&in_plain, &mut taken[index].plain),
                _ => (&in_runtime, &mut taken[index].runtime),
            };
            let one = sandboxes.one(way).await.unwrap();
            if round > 0 {
                times.push(one);
            }
        }
    }
    show(rounds, &taken);
}

/// The sandboxes with one runtime, in a folder of their own.
async fn open(folder: &Path, name: &str, root: &Path) -> Ours {
    // What is current may be a link.
    let root = std::fs::canonicalize(root).unwrap();
    let python = root.join(PYTHON.trim_start_matches('/'));
    assert!(python.exists(), "{} is missing", python.display());
    Ours::new(&folder.join(name), &root, None).await
}

fn show(rounds: usize, taken: &[Taken]) {
    let columns = [
        Column::text("start"),
        Column::number("plain", "ms", 2),
        Column::number("runtime", "ms", 2),
        Column::number("ratio", "", 2),
        Column::bar(),
        Column::number("CPU, ratio", "", 2),
    ];
    let mut table = Table::new("runtime-starts", columns).with_caption(format!(
        "Medians of {rounds} interleaved rounds after one that is not counted; CPU time: means"
    ));
    for ((_, kind, label), times) in STARTS.iter().zip(taken) {
        let plain = median_wall(&times.plain);
        let runtime = median_wall(&times.runtime);
        let cells = [
            Some((*kind).into()),
            Some(plain.into()),
            Some(runtime.into()),
            Some((runtime / plain).into()),
            Some(Cell::at_most(BAR)),
            Some((mean_cpu(&times.runtime) / mean_cpu(&times.plain)).into()),
        ];
        table.push(*label, cells);
    }
    let mut report = Report::default();
    println!("{}", report.add(table));
    report.finish().unwrap();
}

fn median_wall(times: &[Timing]) -> f64 {
    let mut walls: Vec<f64> = times.iter().map(|one| one.wall).collect();
    median(&mut walls)
}

fn mean_cpu(times: &[Timing]) -> f64 {
    let total: f64 = times.iter().map(|one| one.cpu).sum();
    total / times.len() as f64
}
