//! What every benchmark shares: medians of interleaved rounds, printed as ratios.
//!
//! Each binary of this package measures one thing against another tool that does
//! the same work on the same data, alternating between the two in one run, so that
//! whatever else the machine does weighs on both alike.
//!
//! | module | owns |
//! |---|---|
//! | [`binaries`] | which binaries of Prowess are measured |
//! | [`gateway`] | gateways under load, the model behind them, HTTP |
//! | [`programs`] | programs of the machine that benchmarks need |
//! | [`sample`] | a skill of 60 files and 1 MB |
//! | [`server`] | a real `prowess serve`, its tenants, a real database |
//! | [`stop`] | the end of background work |

pub mod binaries;
pub mod gateway;
pub mod programs;
pub mod sample;
pub mod server;
pub mod stop;

use std::time::Duration;

use anyhow::Context as _;
use prowess_bench_report::{Column, Table};

/// The middle of some durations, and none of no durations.
pub fn median(times: &[Duration]) -> Option<Duration> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

/// The duration that this share of all, in hundredths, does not exceed; none of no durations.
pub fn percentile(times: &[Duration], hundredths: usize) -> Option<Duration> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * hundredths).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

/// One line of a comparison: the same work by us and by another.
pub struct ComparisonRow {
    /// What was done.
    pub what: String,
    /// Our times.
    pub ours: Vec<Duration>,
    /// The other's times.
    pub theirs: Vec<Duration>,
}

/// The comparison as a table of this name.
pub fn comparison_table(name: &str, other: &str, rows: &[ComparisonRow]) -> Table {
    let columns = [
        Column::number("prowess", "ms", 3),
        Column::number(other, "ms", 3),
        Column::number("ratio", "×", 2),
    ];
    let mut table = Table::new(name, columns);
    for row in rows {
        let (Some(ours), Some(theirs)) = (median(&row.ours), median(&row.theirs)) else {
            continue;
        };
        let ratio = theirs.as_secs_f64() / ours.as_secs_f64().max(f64::MIN_POSITIVE);
        let numbers = [millis(ours), millis(theirs), ratio];
        table.push(&row.what, numbers.map(|number| Some(number.into())));
    }
    table
}

/// A duration in milliseconds.
pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The number of rounds: the first argument of the program, or else the default.
pub fn rounds(default: usize) -> anyhow::Result<usize> {
    match std::env::args().nth(1) {
        Some(count) => count.parse().context("rounds must be a number"),
        None => Ok(default),
    }
}

/// How many times the base; none if the base is zero.
pub fn ratio(time: Duration, base: Duration) -> Option<f64> {
    (!base.is_zero()).then(|| time.as_secs_f64() / base.as_secs_f64())
}

/// Bytes in millions.
pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_duration_that_was_measured() {
        let times: Vec<_> = (1..=20).rev().map(Duration::from_millis).collect();
        let millis = |hundredths| percentile(&times, hundredths).map(|time| time.as_millis());
        assert_eq!(
            [millis(50), millis(95), millis(100)],
            [Some(10), Some(19), Some(20)]
        );
        assert_eq!(percentile(&[], 95), None);
    }

    #[test]
    fn a_table_gives_medians_and_how_many_times_we_are_faster() {
        let millis = |values: [u64; 3]| values.map(Duration::from_millis).to_vec();
        let row = ComparisonRow {
            what: "unpack".to_owned(),
            ours: millis([3, 1, 2]),
            theirs: millis([9, 4, 5]),
        };
        assert_eq!(
            comparison_table("times", "python", &[row]).markdown(),
            "| | prowess | python | ratio |\n|---|---:|---:|---:|\n\
             | unpack | 2.000 ms | 5.000 ms | 2.50 × |\n"
        );
    }
}
