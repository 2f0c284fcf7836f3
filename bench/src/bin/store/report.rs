//! Medians of each question and size, and the ratio to the smallest store.

use std::time::Duration;

use prowess_bench::{median, millis};
use prowess_bench_report::{Column, Table};

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

    /// Medians for each size, and for all but the smallest the ratio to the smallest.
    pub(crate) fn table(&self, names: &[&str], sizes: &[usize]) -> Table {
        let medians = sizes
            .iter()
            .map(|size| Column::number(format!("{size} skills"), "ms", 3));
        let larger = sizes.iter().skip(1);
        let ratios = larger.map(|size| Column::number(format!("{size}, ratio"), "×", 2));
        let mut table = Table::new("queries", medians.chain(ratios));
        for (name, row) in names.iter().zip(&self.0) {
            let medians: Vec<f64> = row
                .iter()
                .map(|times| millis(median(times).unwrap_or_default()))
                .collect();
            let smallest = medians.first().copied().unwrap_or_default();
            let smallest = smallest.max(f64::MIN_POSITIVE);
            let ratios = medians.iter().skip(1).map(|median| median / smallest);
            let numbers = medians.iter().copied().chain(ratios);
            table.push(*name, numbers.map(|number| Some(number.into())));
        }
        table
    }
}
