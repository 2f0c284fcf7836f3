//! The cost of isolation: `python3 -c pass` and `import numpy, PIL`, bare, in Prowess's
//! sandboxes and in others, interleaved in random order in one run. Only the ratios are
//! comparable between machines. Missing tools are reported and left out.
//!
//! `cargo run --release -p prowess-sandbox --example bench -- [ROUNDS] [ours]`: with
//! `ours`, only the bare interpreter and Prowess, to see small differences. With `--runtime ROOT
//! [--plain ROOT]`, only starts in a runtime, compared with those in a plain one.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement stops at the first surprise and prints what it saw"
)]

#[path = "../../tests/suite/daemon.rs"]
mod daemon;
#[path = "../../tests/suite/knobs.rs"]
mod knobs;
mod others;
mod ours;
mod packages;
mod runtime_starts;

use others::Others;
use ours::Ours;
use prowess_bench_report::{Cell, Column, Report, Table};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// The interpreter that all of them start.
const PYTHON: &str = "/usr/bin/python3";
/// The two programs that are measured.
const PASS: &str = "pass";
const IMPORT: &str = "import numpy, PIL.Image";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Bare,
    Cold,
    Container,
    Waiting,
    Pool,
    Bwrap,
    Runc,
    DockerExec,
    BareImport,
    ColdImport,
    ContainerImport,
}

/// Each way, its label, and the bare one it is compared with.
const WAYS: [(Way, &str, Way); 11] = [
    (Way::Bare, "bare python3 -c pass", Way::Bare),
    (Way::Cold, "cold: all sandbox layers new", Way::Bare),
    (
        Way::Container,
        "container: prepared, python3 started",
        Way::Bare,
    ),
    (Way::Waiting, "container: interpreter waiting", Way::Bare),
    (
        Way::Pool,
        "pool: first command of a new container",
        Way::Bare,
    ),
    (Way::Bwrap, "bwrap, same mounts", Way::Bare),
    (Way::Runc, "runc run", Way::Bare),
    (Way::DockerExec, "docker exec, warm container", Way::Bare),
    (Way::BareImport, "bare import numpy, PIL", Way::BareImport),
    (
        Way::ColdImport,
        "cold, from a package layer",
        Way::BareImport,
    ),
    (
        Way::ContainerImport,
        "container, from a package layer",
        Way::BareImport,
    ),
];

/// Those that are measured with `ours`.
const OURS: [Way; 3] = [Way::Bare, Way::Cold, Way::Container];

/// One measurement.
#[derive(Debug, Clone, Copy)]
struct Timing {
    /// Wall-clock milliseconds.
    wall: f64,
    /// Processor milliseconds of all processes of Prowess.
    cpu: f64,
}

/// What the command line asks for.
struct Options {
    rounds: usize,
    ours_only: bool,
    /// The root file system of a runtime.
    runtime: Option<PathBuf>,
    /// That of the runtime it is compared with; by default the host's own.
    plain: PathBuf,
}

fn main() {
    let options = read_options(std::env::args().skip(1));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    // In a task, as in a server: the waiting thread is woken by others.
    let measured = runtime.spawn(async move {
        match &options.runtime {
            Some(root) => runtime_starts::measure(root, &options.plain, options.rounds).await,
            None => measure(options.rounds, options.ours_only).await,
        }
    });
    runtime.block_on(measured).unwrap();
}

fn read_options(mut arguments: impl Iterator<Item = String>) -> Options {
    let mut options = Options {
        rounds: 40,
        ours_only: false,
        runtime: None,
        plain: PathBuf::from("/"),
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "ours" => options.ours_only = true,
            "--runtime" => options.runtime = Some(arguments.next().unwrap().into()),
            "--plain" => options.plain = arguments.next().unwrap().into(),
            rounds => options.rounds = rounds.parse().unwrap(),
        }
    }
    options
}

async fn measure(rounds: usize, ours_only: bool) {
    let folder = tempfile::TempDir::new().unwrap();
    let index = packages::index();
    if index.is_none() {
        println!("without a layer: the host's pip names no index");
    }
    let ours = Ours::new(folder.path(), Path::new("/"), index.as_ref()).await;
    let others = Others::new(folder.path(), ours.layer());
    let mut taken: Vec<Vec<Timing>> = vec![Vec::new(); WAYS.len()];
    let mut seed = 1u64;
    for _ in 0..rounds {
        for index in shuffled(WAYS.len(), &mut seed) {
            let (way, _, _) = WAYS[index];
            if ours_only && !OURS.contains(&way) {
                continue;
            }
            let one = match others.one(way) {
                Some(one) => Some(one),
                None => ours.one(way).await,
            };
            taken[index].extend(one);
        }
    }
    show(rounds, &taken);
}

/// The numbers below `count` in random order.
fn shuffled(count: usize, seed: &mut u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        order.swap(last, usize::try_from(*seed >> 33).unwrap() % (last + 1));
    }
    order
}

fn show(rounds: usize, taken: &[Vec<Timing>]) {
    let walls = |index: usize| {
        taken[index]
            .iter()
            .map(|one| one.wall)
            .collect::<Vec<f64>>()
    };
    let cpu = |index: usize| {
        let all = taken[index].iter().map(|one| one.cpu);
        all.sum::<f64>() / taken[index].len() as f64
    };
    let columns = [
        Column::number("median ms", "", 2),
        Column::number("p10 to p90", "", 2),
        Column::number("wall, × bare", "", 2),
        Column::number("CPU ms", "", 1),
        Column::number("CPU, × bare", "", 2),
    ];
    let mut table = Table::new("times", columns)
        .with_caption(format!("Medians of {rounds} interleaved rounds"));
    for (index, (way, name, base)) in WAYS.iter().enumerate() {
        if taken[index].is_empty() {
            table.push(*name, [Some("not measured".into())]);
            continue;
        }
        let base = WAYS.iter().position(|(way, _, _)| way == base).unwrap();
        let (mut times, mut bare) = (walls(index), walls(base));
        let (middle, bare) = (median(&mut times), median(&mut bare));
        let (low, high) = (times[times.len() / 10], times[times.len() * 9 / 10]);
        let range = Cell::Range {
            from: low,
            to: high,
        };
        // Their commands are not children of this process, so they are not counted.
        let is_counted = !matches!(way, Way::DockerExec | Way::Bwrap);
        let used = is_counted.then(|| cpu(index));
        let cells = [
            Some(middle.into()),
            Some(range),
            Some((middle / bare).into()),
            used.map(Cell::from),
            used.map(|used| (used / cpu(base)).into()),
        ];
        table.push(*name, cells);
    }
    let mut report = Report::default();
    println!("{}", report.add(table));
    report.finish().unwrap();
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Measures a command on the host.
fn spawn(command: &mut std::process::Command) -> Timing {
    let (start, before) = (Instant::now(), cpu());
    let output = command
        .env("PATH", "/usr/sbin:/usr/bin")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let wall = milliseconds(start);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let cpu = cpu() - before;
    Timing { wall, cpu }
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Processor milliseconds of this process, of those it has started and waited for, and
/// of the running launchers. The kernel counts in steps of 10 ms, so only the mean of many
/// is meaningful.
fn cpu() -> f64 {
    let mut pids = vec!["self".to_owned()];
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        pids.extend(children.split_whitespace().map(str::to_owned));
    }
    let ticks = |pid: &String| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        // utime, stime, and the same of children that were waited for.
        fields
            .skip(11)
            .take(4)
            .filter_map(|n| n.parse::<u64>().ok())
            .sum()
    };
    pids.iter().map(ticks).sum::<u64>() as f64 * 10.0
}
