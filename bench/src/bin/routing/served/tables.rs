//! What is shown.

use prowess_bench::{megabytes, millis, percentile};
use prowess_bench_report::{Cell, Column, Table};

use super::auto_runs::AutoTotals;
use super::searches::SearchResults;

/// Median milliseconds of a search, up to so many skills.
const BARS: [(usize, f64); 2] = [(10_000, 3.0), (69_000, 15.0)];
/// Bytes of the index per byte of text.
const MAX_INDEX_SHARE: f64 = 1.5;

/// The times of searches.
pub(super) struct SearchRow {
    case: String,
    size: usize,
    /// 50 and 95 of 100, in milliseconds; with few results, and with many.
    times: [f64; 4],
}

/// Bytes of a server and its index.
pub(super) struct SizeRow {
    pub(super) case: String,
    pub(super) index_bytes: u64,
    pub(super) text_bytes: u64,
    /// Memory of the server after the uploads, after the queries, and after all of them again.
    pub(super) loaded: u64,
    pub(super) searched: u64,
    pub(super) repeated: u64,
}

/// Requests with `auto` of one kind.
pub(super) struct AutoRow {
    case: String,
    totals: AutoTotals,
}

impl SearchRow {
    pub(super) fn new(case: &str, size: usize, results: &SearchResults) -> Self {
        let time = |times, hundredths| {
            let time = percentile(times, hundredths).unwrap_or_default();
            millis(time)
        };
        SearchRow {
            case: case.to_owned(),
            size,
            times: [
                time(&results.times, 50),
                time(&results.times, 95),
                time(&results.long_times, 50),
                time(&results.long_times, 95),
            ],
        }
    }
}

impl AutoRow {
    pub(super) fn new(database: &str, totals: AutoTotals) -> Self {
        AutoRow {
            case: format!("{database}, {}", totals.case),
            totals,
        }
    }
}

pub(super) fn searches(rows: &[SearchRow]) -> Table {
    let columns = ["p50", "p95", "p50, 200 results", "p95, 200 results"];
    let columns = columns
        .map(|name| Column::number(name, "ms", 2))
        .into_iter();
    let mut table = Table::new("searches", columns.chain([Column::bar()]));
    table.caption =
        "A search over HTTP, each on a connection of its own, one after the other: 20 results, \
         and 200."
            .to_owned();
    for row in rows {
        let bar = BARS.iter().find(|(size, _)| row.size <= *size);
        let bar = bar.map(|(_, bar)| Cell::at_most(*bar));
        let cells = row.times.map(|time| Some(Cell::from(time)));
        table.push(&row.case, cells.into_iter().chain([bar]));
    }
    table
}

pub(super) fn sizes(rows: &[SizeRow]) -> Table {
    let columns = [
        Column::number("text", "MB", 1),
        Column::number("index", "MB", 1),
        Column::number("index / text", "", 2),
        Column::bar(),
        Column::number("server, loaded", "MB", 1),
        Column::number("server, after all queries", "MB", 1),
        Column::number("after all again", "MB", 1),
    ];
    let mut table = Table::new("sizes", columns);
    table.caption =
        "Bytes of the skills' texts and of the index, and memory of the server.".to_owned();
    for row in rows {
        let share = row.index_bytes as f64 / row.text_bytes.max(1) as f64;
        let cells = [
            megabytes(row.text_bytes).into(),
            megabytes(row.index_bytes).into(),
            share.into(),
            Cell::at_most(MAX_INDEX_SHARE),
            megabytes(row.loaded).into(),
            megabytes(row.searched).into(),
            megabytes(row.repeated).into(),
        ];
        table.push(&row.case, cells.map(Some));
    }
    table
}

pub(super) fn autos(rows: &[AutoRow]) -> Table {
    let columns = [
        Column::number("requests", "", 0),
        Column::number("offered", "%", 1),
        Column::number("loaded", "%", 1),
        Column::number("later requests", "", 0),
        Column::number("begin as before", "%", 1),
        Column::number("p50", "ms", 1),
    ];
    let mut table = Table::new("auto", columns);
    table.caption = "Requests with `auto` at the first size, to a model that takes the right \
                     skill if it is offered: how many offered and loaded it, and how many later \
                     requests to the model began with all that it was sent before. Those that \
                     are not streamed are conversations of two requests."
        .to_owned();
    for AutoRow { case, totals } in rows {
        let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        let time = percentile(&totals.times, 50).unwrap_or_default();
        let cells = [
            totals.requests as f64,
            percent(totals.offered, totals.requests),
            percent(totals.loaded, totals.requests),
            totals.later as f64,
            percent(totals.unchanged, totals.later),
            millis(time),
        ];
        table.push(case, cells.map(|cell| Some(cell.into())));
    }
    table
}
