//! The table: what answered during a fault, and how soon everything did afterwards.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use prowess_bench::megabytes;
use prowess_bench::server::BenchServer;
use prowess_bench_report::{Cell, Column, Table};

use super::load::{FaultSample, RequestKind};

/// Different reasons that are kept of each kind of request.
const MAX_REASONS: usize = 3;

/// One fault.
pub(crate) struct FaultRow {
    pub(crate) name: &'static str,
    /// For each kind of request, what became of those under way during the fault.
    during: Vec<String>,
    recovered: Result<Duration, String>,
    process: String,
    /// The errors of failed requests.
    pub(crate) reasons: Vec<String>,
}

impl FaultRow {
    pub(crate) fn new(
        name: &'static str,
        samples: &[FaultSample],
        (caused, undone): (Instant, Instant),
        recovered: Result<Duration, String>,
    ) -> FaultRow {
        let during: Vec<&FaultSample> = samples
            .iter()
            .filter(|sample| sample.end > caused && sample.start < undone)
            .collect();
        let cells = RequestKind::ALL.map(|kind| cell(&during, kind, undone));
        FaultRow {
            name,
            during: cells.to_vec(),
            recovered,
            process: String::new(),
            reasons: reasons(&during),
        }
    }

    pub(crate) fn with_process(mut self, alive: bool, server: &BenchServer) -> FaultRow {
        self.process = match alive {
            true => format!(
                "running, {:.0} MB ({:.0} at most)",
                megabytes(server.memory().unwrap_or_default()),
                megabytes(server.peak_memory().unwrap_or_default())
            ),
            false => "ended".to_owned(),
        };
        self
    }
}

/// How many of a kind came to which end, and the slowest answer. One that came only when
/// the fault was over does not count as an answer during it.
fn cell(during: &[&FaultSample], kind: RequestKind, undone: Instant) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut slowest = Duration::ZERO;
    for sample in during.iter().filter(|sample| sample.kind == kind) {
        let mut class = sample.outcome.class();
        if sample.end > undone {
            class += " after the fault";
        }
        *counts.entry(class).or_default() += 1;
        slowest = slowest.max(sample.end.duration_since(sample.start));
    }
    if counts.is_empty() {
        return "–".to_owned();
    }
    let counts = counts
        .iter()
        .map(|(class, count)| format!("{count} {class}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    format!("{counts}; {:.1} s", slowest.as_secs_f64())
}

/// Different reasons, a few of each kind.
fn reasons(during: &[&FaultSample]) -> Vec<String> {
    let mut all = Vec::new();
    for kind in RequestKind::ALL {
        let mut seen: Vec<String> = Vec::new();
        for sample in during.iter().filter(|sample| sample.kind == kind) {
            let (class, reason) = (sample.outcome.class(), sample.outcome.reason());
            let line = format!("{}: {class}: {reason}", kind.name());
            if !sample.outcome.is_done() && seen.len() < MAX_REASONS && !seen.contains(&line) {
                seen.push(line);
            }
        }
        all.extend(seen);
    }
    all
}

/// A table without rows yet.
pub(crate) fn table() -> Table {
    let kinds = RequestKind::ALL.map(|kind| Column::text(kind.name()));
    let recovery = Column::number("all served again after", "s", 1);
    let columns = kinds.into_iter().chain([recovery, Column::text("process")]);
    Table::new("faults", columns).with_corner("during the fault; slowest answer")
}

pub(crate) fn push(table: &mut Table, row: &FaultRow) {
    let during = row.during.iter().map(|cell| Some(cell.as_str().into()));
    let recovered: Cell = match &row.recovered {
        Ok(time) => time.as_secs_f64().into(),
        Err(unserved) => format!("never ({unserved})").into(),
    };
    let process = Cell::from(row.process.as_str());
    let rest = [Some(recovered), Some(process)];
    table.push(row.name, during.chain(rest));
}

/// A fault that was not tried, or not to its end.
pub(crate) fn push_untried(table: &mut Table, name: &str, why: &str) {
    let empty = RequestKind::ALL.map(|_| None);
    table.push(name, empty.into_iter().chain([None, Some(why.into())]));
}

/// The errors of failed requests, below the table.
pub(crate) fn print_reasons(faults: &[(&'static str, Vec<String>)]) {
    for (name, reasons) in faults.iter().filter(|(_, reasons)| !reasons.is_empty()) {
        println!("\n{name}:\n");
        for reason in reasons {
            println!("- {reason}");
        }
    }
}
