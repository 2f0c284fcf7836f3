//! The tables of a running benchmark: shown as they are done, and written for
//! `cargo xtask bench` at the end.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::table::Table;

/// Where [`Report::finish`] writes the tables; nowhere if it is not set.
pub const OUTPUT_VARIABLE: &str = "PROWESS_BENCH_OUTPUT";

/// The tables of a benchmark so far.
#[derive(Debug, Default)]
pub struct Report {
    tables: Vec<Table>,
}

impl Report {
    /// Adds a table, and returns it with its caption as Markdown.
    pub fn add(&mut self, table: Table) -> String {
        let shown = match table.caption.as_str() {
            "" => table.markdown(),
            caption => format!("{caption}\n\n{}", table.markdown()),
        };
        self.tables.push(table);
        shown
    }

    /// Writes all tables to the file that the environment names.
    pub fn finish(self) -> anyhow::Result<()> {
        let Some(path) = std::env::var_os(OUTPUT_VARIABLE) else {
            return Ok(());
        };
        let text = serde_json::to_vec(&self.tables)?;
        let path = PathBuf::from(path);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
