//! What is shown: commits with their bar, times and CPU time as ratios, and the comparison
//! with other binaries.

use std::time::Duration;

use prowess_bench::{median, millis, ratio};
use prowess_bench_report::{Cell, Column, Table};

use super::mode::RunMode;
use super::shape::RunShape;

/// Commits that a kept run adds beside one for each step: its begin and its end.
const BEGIN_AND_END: u32 = 2;
/// Events of a response that is streamed are stored at this interval.
const EVENT_INTERVAL: Duration = Duration::from_millis(40);

/// What was measured of runs of one shape, sent to one binary in one way.
#[derive(Debug, Default)]
pub(crate) struct RunCosts {
    pub(crate) times: Vec<Duration>,
    /// The mean of each batch.
    pub(crate) cpu: Vec<Duration>,
    /// The mean number of commits.
    pub(crate) commits: f64,
}

/// All that was measured of one shape.
#[derive(Debug)]
pub(crate) struct ShapeCosts {
    pub(crate) shape: RunShape,
    /// In the order of [`RunMode::ALL`].
    pub(crate) modes: [RunCosts; RunMode::ALL.len()],
    /// Runs in the foreground of other binaries, by name.
    pub(crate) others: Vec<(String, RunCosts)>,
}

impl RunCosts {
    fn p50(&self) -> Duration {
        median(&self.times).unwrap_or_default()
    }

    fn cpu(&self) -> Duration {
        median(&self.cpu).unwrap_or_default()
    }
}

/// Commits of a run, and what keeping it adds.
pub(crate) fn commits(name: &str, all: &[ShapeCosts]) -> Table {
    let modes = RunMode::ALL.map(|mode| Column::number(mode.name(), "", 1));
    let columns = [Column::number("steps", "", 0)].into_iter();
    let columns = columns.chain(modes);
    let columns = columns.chain([Column::number("added by keeping", "", 1), Column::bar()]);
    let mut table = Table::new(name, columns).with_corner("commits of a run");
    for costs in all {
        let [foreground, kept, background] = &costs.modes;
        let steps = costs.shape.steps();
        let numbers = [
            f64::from(steps),
            foreground.commits,
            kept.commits,
            background.commits,
            kept.commits - foreground.commits,
        ];
        let cells = numbers.map(|number| Some(Cell::from(number))).into_iter();
        let bar = max_added(costs.shape, kept.p50());
        table.push(
            costs.shape.name(),
            cells.chain([Some(Cell::at_most(f64::from(bar)))]),
        );
    }
    table
}

/// One commit for each step, begin and end; and for each interval in which events came, one.
fn max_added(shape: RunShape, time: Duration) -> u32 {
    let chunks = match shape.stream {
        true => time.as_millis() / EVENT_INTERVAL.as_millis() + 1,
        false => 0,
    };
    shape.steps() + BEGIN_AND_END + u32::try_from(chunks).unwrap_or(u32::MAX / 2)
}

/// How long a run takes its client, and the CPU time of the server.
pub(crate) fn times(name: &str, all: &[ShapeCosts]) -> Table {
    let waits = ["p50", "CPU"];
    let columns = waits.iter().flat_map(|kind| {
        let modes = RunMode::ALL.map(|mode| format!("{}, {kind}", mode.name()));
        let modes = modes.map(|name| Column::number(name, "ms", 2));
        let ratio = Column::number(format!("kept, × {kind}"), "", 2);
        modes.into_iter().chain([ratio])
    });
    let mut table = Table::new(name, columns).with_corner("a run");
    for costs in all {
        let [foreground, kept, _] = &costs.modes;
        let p50 = costs.modes.iter().map(|costs| millis(costs.p50()));
        let cpu = costs.modes.iter().map(|costs| millis(costs.cpu()));
        let cells = p50.map(Some);
        let cells = cells.chain([ratio(kept.p50(), foreground.p50())]);
        let cells = cells.chain(cpu.map(Some));
        let cells = cells.chain([ratio(kept.cpu(), foreground.cpu())]);
        table.push(costs.shape.name(), cells.map(|cell| cell.map(Cell::from)));
    }
    table
}

/// Runs in the foreground, as a multiple of those of other binaries.
pub(crate) fn against(name: &str, all: &[ShapeCosts]) -> Table {
    let names = all.first().map(|costs| costs.others.as_slice());
    let names = names.unwrap_or_default().iter();
    let columns = names.flat_map(|(name, _)| {
        let ratios = ["p50", "CPU"].map(|kind| format!("{kind}, × {name}"));
        let ratios = ratios.map(|name| Column::number(name, "", 2));
        let commits = Column::number(format!("commits − {name}"), "", 1);
        ratios.into_iter().chain([commits])
    });
    let mut table = Table::new(name, columns).with_corner("a run in the foreground");
    for costs in all {
        let [own, ..] = &costs.modes;
        let cells = costs.others.iter().flat_map(|(_, other)| {
            [
                ratio(own.p50(), other.p50()),
                ratio(own.cpu(), other.cpu()),
                Some(own.commits - other.commits),
            ]
        });
        table.push(costs.shape.name(), cells.map(|cell| cell.map(Cell::from)));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::RunTool;

    fn costs(millis: u64, commits: f64) -> RunCosts {
        RunCosts {
            times: vec![Duration::from_millis(millis)],
            cpu: vec![Duration::from_millis(millis)],
            commits,
        }
    }

    fn measured(stream: bool) -> ShapeCosts {
        ShapeCosts {
            shape: RunShape {
                tool: RunTool::Bash,
                calls: 1,
                stream,
            },
            modes: [costs(10, 3.0), costs(100, 8.0), costs(30, 9.0)],
            others: vec![("old".to_owned(), costs(20, 3.0))],
        }
    }

    #[test]
    fn a_kept_run_may_add_a_commit_for_each_step_and_two_more() {
        let shown = commits("c", &[measured(false)]).markdown();
        let row = "| 1 × bash | 3 | 3.0 | 8.0 | 9.0 | 5.0 | ≤ 5 |\n";
        assert!(shown.ends_with(row), "{shown}");
        // A stream of 100 ms has at most three chunks of events more.
        let shown = commits("c", &[measured(true)]).markdown();
        assert!(shown.ends_with("| ≤ 8 |\n"), "{shown}");
    }

    #[test]
    fn other_binaries_are_compared_in_the_foreground() {
        let shown = against("a", &[measured(false)]).markdown();
        assert!(
            shown.ends_with("| 1 × bash | 0.50 | 0.50 | 0.0 |\n"),
            "{shown}"
        );
    }
}
