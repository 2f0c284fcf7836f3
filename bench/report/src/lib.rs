//! Tables of measurements: printed as Markdown, stored as JSON under `bench/results/`, and
//! shown in `bench/README.md`.
//!
//! | module | owns |
//! |---|---|
//! | `table` | a table with its columns, rows and cells |
//! | `markdown` | tables and cells as Markdown |
//! | `results` | the file of one benchmark: its tables, when and where they were measured |
//! | `readme` | the places of a document that show tables of these files |
//! | `report` | the tables of a running benchmark |
//!
//! It measures nothing and knows no benchmark by name.

mod markdown;
mod readme;
mod report;
mod results;
mod table;

pub use readme::{fill_tables, tables_outside_markers};
pub use report::{OUTPUT_VARIABLE, Report};
pub use results::{Machine, Results};
pub use table::{Cell, Column, Row, Table};
