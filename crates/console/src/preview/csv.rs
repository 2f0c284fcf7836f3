//! The beginning of a table in CSV (RFC 4180, also with `;` and tabs). Anything is read: what is
//! no table becomes one cell per line.

/// Rows and columns that are shown, and characters of a cell.
const MAX_ROWS: usize = 200;
const MAX_COLUMNS: usize = 30;
const MAX_CELL_CHARS: usize = 300;

/// The beginning of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CsvTable {
    /// The first row.
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Whether rows, columns or characters are missing.
    pub(crate) is_cut: bool,
}

impl CsvTable {
    /// Reads what fits. `is_whole`: whether `text` is all there is.
    pub(crate) fn read(text: &str, is_whole: bool) -> CsvTable {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = CsvReader {
            delimiter: find_delimiter(text),
            chars: text.chars().peekable(),
            is_cut: !is_whole,
        };
        let head = reader.next_row().unwrap_or_default();
        let mut rows = Vec::new();
        while rows.len() < MAX_ROWS
            && let Some(row) = reader.next_row()
        {
            rows.push(row);
        }
        CsvTable {
            head,
            rows,
            is_cut: reader.is_cut || reader.chars.peek().is_some(),
        }
    }
}

/// The separator that the first line has most of.
fn find_delimiter(text: &str) -> char {
    let first = text.lines().next().unwrap_or_default();
    let count = |delimiter: char| first.chars().filter(|one| *one == delimiter).count();
    let found = [',', ';', '\t'];
    // Of equal ones the first.
    let best = found.into_iter().rev().max_by_key(|one| count(*one));
    best.unwrap_or(',')
}

struct CsvReader<'a> {
    delimiter: char,
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    is_cut: bool,
}

impl CsvReader<'_> {
    /// The next row; none at the end.
    fn next_row(&mut self) -> Option<Vec<String>> {
        self.chars.peek()?;
        let mut row = Vec::new();
        loop {
            let (cell, ends_row) = self.next_cell();
            if row.len() < MAX_COLUMNS {
                row.push(cell);
            } else {
                self.is_cut = true;
            }
            if ends_row {
                return Some(row);
            }
        }
    }

    /// A cell, and whether it is the last of its row.
    fn next_cell(&mut self) -> (String, bool) {
        let mut cell = Cell::default();
        if self.chars.next_if_eq(&'"').is_some() {
            self.read_quoted(&mut cell);
        }
        // After a closing quote only a separator should follow; what else does is kept.
        let ends_row = loop {
            match self.chars.next() {
                None | Some('\n') => break true,
                Some('\r') if self.chars.peek().is_none_or(|next| *next == '\n') => {}
                Some(one) if one == self.delimiter => break false,
                Some(one) => cell.push(one),
            }
        };
        self.is_cut |= cell.is_cut;
        (cell.text, ends_row)
    }

    /// The rest of a quoted text; two quotes are one.
    fn read_quoted(&mut self, cell: &mut Cell) {
        while let Some(one) = self.chars.next() {
            if one == '"' && self.chars.next_if_eq(&'"').is_none() {
                return;
            }
            cell.push(one);
        }
    }
}

#[derive(Default)]
struct Cell {
    text: String,
    chars: usize,
    is_cut: bool,
}

impl Cell {
    fn push(&mut self, one: char) {
        if self.chars < MAX_CELL_CHARS {
            self.text.push(one);
            self.chars += 1;
        } else {
            self.is_cut = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let table = CsvTable::read(text, true);
        std::iter::once(table.head).chain(table.rows).collect()
    }

    #[test]
    fn quotes_line_ends_and_other_separators_are_read() {
        assert_eq!(
            rows("\u{feff}name,said\r\nAda,\"hello,\r\n\"\"you\"\"\"\r\n"),
            [["name", "said"], ["Ada", "hello,\r\n\"you\""]]
        );
        assert_eq!(rows("a;b\n1;2,5"), [["a", "b"], ["1", "2,5"]]);
        assert_eq!(rows("a\tb\n1\t"), [["a", "b"], ["1", ""]]);
        assert_eq!(
            rows("open\n\"never closed, "),
            [["open"], ["never closed, "]]
        );
    }

    #[test]
    fn large_tables_are_cut() {
        let wide = CsvTable::read(&"x,".repeat(100), true);
        assert_eq!((wide.head.len(), wide.is_cut), (30, true));
        let long = CsvTable::read(&"x\n".repeat(500), true);
        assert_eq!((long.rows.len(), long.is_cut), (200, true));
        let deep = CsvTable::read(&"x".repeat(1000), true);
        assert!(deep.is_cut);
        assert!(!CsvTable::read("a,b\n1,2\n", true).is_cut);
        assert!(CsvTable::read("a,b\n1,2\n", false).is_cut);
    }

    proptest! {
        #[test]
        fn quoted_cells_come_back(cells in prop::collection::vec("[^\r]{0,20}", 2..6)) {
            let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
            let line: Vec<String> = cells.iter().map(quoted).collect();
            // The separator is found in the first line.
            let head = vec!["h"; cells.len()].join(",");
            let read = CsvTable::read(&format!("{head}\n{}\n", line.join(",")), true);
            prop_assert_eq!(read.rows, vec![cells]);
        }

        #[test]
        fn anything_is_read_within_the_limits(text in any::<String>()) {
            let read = CsvTable::read(&text, true);
            let cells = read.head.iter().chain(read.rows.iter().flatten());
            prop_assert!(read.rows.len() <= MAX_ROWS);
            for cell in cells {
                prop_assert!(cell.chars().count() <= MAX_CELL_CHARS);
            }
        }
    }
}
