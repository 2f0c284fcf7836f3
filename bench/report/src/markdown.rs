//! Tables and cells as Markdown.

use std::fmt::Write as _;

use crate::table::{Cell, Column, Row, Table};

impl Table {
    /// The whole table, without its caption.
    pub fn markdown(&self) -> String {
        let rows = self.rows.iter().map(|row| self.markdown_row(row));
        rows.fold(self.markdown_head(), |text, row| text + &row)
    }

    /// Its first two lines.
    pub fn markdown_head(&self) -> String {
        let mut head = match self.corner.as_str() {
            "" => "| |".to_owned(),
            corner => format!("| {corner} |"),
        };
        let mut line = "|---|".to_owned();
        for column in &self.columns {
            // Writing to a string cannot fail.
            let _ = write!(head, " {} |", column.name);
            line += if column.text { "---|" } else { "---:|" };
        }
        format!("{head}\n{line}\n")
    }

    /// One line.
    pub fn markdown_row(&self, row: &Row) -> String {
        let mut line = format!("| {} |", row.name);
        for column in &self.columns {
            match row.cells.get(&column.name) {
                Some(cell) => {
                    let _ = write!(line, " {} |", cell.markdown(column));
                }
                None => line += " |",
            }
        }
        line + "\n"
    }
}

impl Cell {
    fn markdown(&self, column: &Column) -> String {
        let number = |number: f64| with_separators(number, column.decimals);
        let text = match self {
            Cell::Number(one) => number(*one),
            Cell::Runs(runs) => {
                let runs: Vec<String> = runs.iter().map(|one| number(*one)).collect();
                runs.join(" / ")
            }
            Cell::Range { from, to } => format!("{} to {}", number(*from), number(*to)),
            Cell::AtMost { at_most } => return format!("≤ {at_most}"),
            Cell::Text(text) => return text.clone(),
        };
        match column.unit.as_str() {
            "" => text,
            unit => format!("{text} {unit}"),
        }
    }
}

/// `28289.0` as `28,289`.
fn with_separators(number: f64, decimals: Option<u8>) -> String {
    let plain = match decimals {
        Some(decimals) => format!("{number:.*}", usize::from(decimals)),
        None => number.to_string(),
    };
    let (whole, fraction) = match plain.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (plain.as_str(), None),
    };
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole),
    };
    let mut text = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{text}.{fraction}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_units_runs_ranges_bounds_words_and_empty_cells() {
        let columns = [
            Column::number("µs", "µs", 1),
            Column::bar(),
            Column::text("outcome"),
        ];
        let mut table = Table::new("t", columns).with_corner("work");
        let runs = Cell::Runs(vec![28.0, 1_234.56]);
        table.push("a", [Some(runs), Some(Cell::at_most(2.0)), None]);
        let range = Cell::Range { from: 4.0, to: 6.0 };
        table.push("b", [Some(range), None, Some("complete".into())]);
        assert_eq!(
            table.markdown(),
            "| work | µs | bar | outcome |\n|---|---:|---:|---|\n\
             | a | 28.0 / 1,234.6 µs | ≤ 2 | |\n\
             | b | 4.0 to 6.0 µs | | complete |\n"
        );
    }

    #[test]
    fn thousands_are_separated() {
        let shown = |number| with_separators(number, None);
        assert_eq!(shown(28_289.0), "28,289");
        assert_eq!(shown(-100_000.5), "-100,000.5");
        assert_eq!(shown(999.0), "999");
    }
}
