//! Medians of each question and size, and the ratio to the smallest store.

use std::fmt::Write as _;
use std::time::Duration;

use prowess_bench::median;

/// What was measured: a row for each question, a column for each size.
pub(crate) struct Times(Vec<Vec<Vec<Duration>>>);

impl Times {
    pub(crate) fn new(rows: usize, columns: usize) -> Times {
        Times(vec![vec![Vec::new(); columns]; rows])
    }

    pub(crate) fn add(&mut self, row: usize, column: usize, taken: Duration) {
        let cell = self.0.get_mut(row).and_then(|row| row.get_mut(column));
        if let Some(cell) = cell {
            cell.push(taken);
        }
    }

    /// As a Markdown table.
    pub(crate) fn table(&self, names: &[&str], sizes: &[usize]) -> String {
        let mut out = String::from("| |");
        let mut line = String::from("|---|");
        for size in sizes {
            // Writing to a string cannot fail.
            let _ = write!(out, " {size} skills |");
            line += "---:|";
        }
        out = format!("{out} ratios |\n{line}---:|\n");
        for (name, row) in names.iter().zip(&self.0) {
            let medians: Vec<f64> = row
                .iter()
                .filter_map(|times| median(times))
                .map(millis)
                .collect();
            let _ = write!(out, "| {name} |");
            for median in &medians {
                let _ = write!(out, " {median:.3} ms |");
            }
            let first = medians
                .first()
                .copied()
                .unwrap_or_default()
                .max(f64::MIN_POSITIVE);
            let ratios = medians
                .iter()
                .skip(1)
                .map(|median| format!("{:.2} ×", median / first));
            let _ = writeln!(out, " {} |", ratios.collect::<Vec<_>>().join(", "));
        }
        out
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
