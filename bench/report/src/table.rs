//! A table with its columns, rows and cells. How it looks is up to `markdown`.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

/// A table of measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its name, unique in its file.
    pub name: String,
    /// What was measured, and how often.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caption: String,
    /// The head of the column with the rows' names.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub corner: String,
    /// All columns but that one.
    pub columns: Vec<Column>,
    /// The rows, from top to bottom.
    pub rows: Vec<Row>,
}

/// What the cells of a column have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its head, unique in its table.
    pub name: String,
    /// Written after each number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Digits after the point; without this, as many as a number has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimals: Option<u8>,
    /// Whether its cells are words rather than numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text: bool,
}

/// A row: a name, and the cells that are not empty, by the names of their columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name, unique in its table.
    pub name: String,
    /// Its cells.
    pub cells: BTreeMap<String, Cell>,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// In one run.
    Number(f64),
    /// In several runs, in their order.
    Runs(Vec<f64>),
    /// The smallest and the largest of several measurements.
    Range {
        /// The smallest.
        from: f64,
        /// The largest.
        to: f64,
    },
    /// Not measured: what a number of this row should not exceed.
    AtMost {
        /// The bound.
        at_most: f64,
    },
    /// Words.
    Text(String),
}

impl Column {
    /// A column of numbers.
    pub fn number(name: impl Into<String>, unit: &str, decimals: u8) -> Column {
        Column {
            name: name.into(),
            unit: unit.to_owned(),
            decimals: Some(decimals),
            text: false,
        }
    }

    /// A column of bounds.
    pub fn bar() -> Column {
        Column {
            name: "bar".to_owned(),
            unit: String::new(),
            decimals: None,
            text: false,
        }
    }

    /// A column of words.
    pub fn text(name: impl Into<String>) -> Column {
        Column {
            name: name.into(),
            unit: String::new(),
            decimals: None,
            text: true,
        }
    }

    /// A number with as many digits as the column shows, so that the file and the table
    /// agree.
    fn round(&self, number: f64) -> f64 {
        match self.decimals {
            Some(decimals) => {
                let scale = 10f64.powi(i32::from(decimals));
                (number * scale).round() / scale
            }
            None => number,
        }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(name: &str, columns: impl IntoIterator<Item = Column>) -> Table {
        Table {
            name: name.to_owned(),
            caption: String::new(),
            corner: String::new(),
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// The same with a caption.
    pub fn with_caption(mut self, caption: impl Into<String>) -> Table {
        self.caption = caption.into();
        self
    }

    /// The same with a head above the rows' names.
    pub fn with_corner(mut self, corner: impl Into<String>) -> Table {
        self.corner = corner.into();
        self
    }

    /// Adds a row; its cells are those of the columns in their order, `None` where a column
    /// has nothing to show.
    pub fn push(&mut self, name: impl Into<String>, cells: impl IntoIterator<Item = Option<Cell>>) {
        let cells = self.columns.iter().zip(cells).filter_map(|(column, cell)| {
            let rounded = cell?.map(|number| column.round(number));
            Some((column.name.clone(), rounded))
        });
        let row = Row {
            name: name.into(),
            cells: cells.collect(),
        };
        self.rows.push(row);
    }

    /// The cell of a row and a column.
    pub fn cell(&self, row: &str, column: &str) -> Option<&Cell> {
        let row = self.rows.iter().find(|found| found.name == row)?;
        row.cells.get(column)
    }

    /// Adds the numbers of another run of the same benchmark to each cell.
    pub fn add_run(&mut self, run: &Table) -> anyhow::Result<()> {
        ensure!(
            self.columns == run.columns && self.rows.len() == run.rows.len(),
            "table `{}` has other columns or rows in another run",
            self.name
        );
        for row in &mut self.rows {
            for (column, cell) in &mut row.cells {
                let other = run.cell(&row.name, column);
                let other = other.with_context(|| format!("another run has no `{}`", row.name))?;
                cell.add_run(other);
            }
        }
        Ok(())
    }
}

impl Cell {
    /// A bound.
    pub fn at_most(bound: f64) -> Cell {
        Cell::AtMost { at_most: bound }
    }

    /// The smallest number in it.
    pub fn min(&self) -> Option<f64> {
        self.numbers().into_iter().min_by(f64::total_cmp)
    }

    /// The largest number in it.
    pub fn max(&self) -> Option<f64> {
        self.numbers().into_iter().max_by(f64::total_cmp)
    }

    fn numbers(&self) -> Vec<f64> {
        match self {
            Cell::Number(number) => vec![*number],
            Cell::Runs(runs) => runs.clone(),
            Cell::Range { from, to } => vec![*from, *to],
            Cell::AtMost { .. } | Cell::Text(_) => Vec::new(),
        }
    }

    fn map(self, change: impl Fn(f64) -> f64) -> Cell {
        match self {
            Cell::Number(number) => Cell::Number(change(number)),
            Cell::Runs(runs) => Cell::Runs(runs.into_iter().map(change).collect()),
            Cell::Range { from, to } => Cell::Range {
                from: change(from),
                to: change(to),
            },
            bound @ (Cell::AtMost { .. } | Cell::Text(_)) => bound,
        }
    }

    /// Numbers become lists; of words, bounds and ranges the first run's stay.
    fn add_run(&mut self, other: &Cell) {
        if let (Cell::Number(_) | Cell::Runs(_), Cell::Number(number)) = (&*self, other) {
            let mut runs = self.numbers();
            runs.push(*number);
            *self = Cell::Runs(runs);
        }
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        Cell::Number(number)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(number: f64) -> Table {
        let mut table = Table::new("t", [Column::number("a", "ms", 1), Column::bar()]);
        table.push("r", [Some(number.into()), Some(Cell::at_most(2.0))]);
        table
    }

    #[test]
    fn a_number_is_stored_as_the_table_shows_it() {
        assert_eq!(table(1.26).cell("r", "a"), Some(&Cell::Number(1.3)));
    }

    #[test]
    fn runs_of_one_benchmark_are_listed_in_each_cell() {
        let mut all = table(1.0);
        all.add_run(&table(3.0)).unwrap();
        all.add_run(&table(2.0)).unwrap();
        let cell = all.cell("r", "a").unwrap();
        assert_eq!(cell, &Cell::Runs(vec![1.0, 3.0, 2.0]));
        assert_eq!((cell.min(), cell.max()), (Some(1.0), Some(3.0)));
        assert_eq!(all.cell("r", "bar"), Some(&Cell::at_most(2.0)));
        let mut other = table(1.0);
        other.push("more", [Some(1.0.into())]);
        assert!(all.add_run(&other).is_err());
    }
}
