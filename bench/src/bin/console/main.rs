//! Pages of the console over stores with few and with many skills and runs: does a page slow
//! down as the store fills?
//!
//! There is no other tool to compare with; the ratio is that of the large store to the small
//! one, asked in turn in one run, of real servers over HTTP. Takes the number of skills of each
//! store as its arguments, the smaller first. A store has ten times as many runs.
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

mod fill;
mod pages;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use prowess_bench::server::ServerSetup;
use prowess_bench::{median, millis, percentile};
use prowess_bench_report::{Cell, Column, Report, Table};

use pages::{PAGES, ServedConsole};

const SIZES: [usize; 2] = [100, 10_000];
const ROUNDS: usize = 50;
/// What a page may take.
const MAX_MILLIS: f64 = 100.0;

fn main() -> Result<()> {
    let sizes = match std::env::args().skip(1).collect::<Vec<_>>() {
        none if none.is_empty() => SIZES.to_vec(),
        some => {
            let sizes = some.iter().map(|size| size.parse());
            let sizes = sizes.collect::<Result<Vec<_>, _>>();
            sizes.context("sizes must be numbers")?
        }
    };
    ensure!(sizes.len() == 2, "there must be two sizes");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(&sizes))
}

async fn run(sizes: &[usize]) -> Result<()> {
    let mut consoles = Vec::new();
    for size in sizes {
        let mut setup = ServerSetup::new()?;
        setup.config = "[sandbox]\nreduced = true\n".to_owned();
        setup.needs_key = false;
        let filled = fill::fill(&setup.data_dir(), *size).await?;
        consoles.push(ServedConsole::open(setup, filled).await?);
    }
    let mut times: Vec<Vec<Vec<Duration>>> = vec![vec![Vec::new(); sizes.len()]; PAGES.len()];
    // The first round warms caches, and is not counted.
    for round in 0..=ROUNDS {
        for ((_, path), row) in PAGES.iter().zip(&mut times) {
            for (console, cell) in consoles.iter().zip(row) {
                let taken = console.open_page(path).await?;
                if round > 0 {
                    cell.push(taken);
                }
            }
        }
    }
    let mut report = Report::default();
    let caption = format!(
        "SQLite; {ROUNDS} rounds after one that is not counted; the whole page, each on a new \
         connection. None should take more than {MAX_MILLIS} ms."
    );
    println!("{}", report.add(table(sizes, &times).with_caption(caption)));
    report.finish()
}

fn table(sizes: &[usize], times: &[Vec<Vec<Duration>>]) -> Table {
    let medians = sizes.iter().map(|size| {
        let name = format!("{size} skills, {} runs", size * 10);
        Column::number(name, "ms", 2)
    });
    let others = [
        Column::number("large, 95th percentile", "ms", 2),
        Column::bar(),
        Column::number("ratio", "×", 2),
    ];
    let mut table = Table::new("pages", medians.chain(others));
    for ((name, _), row) in PAGES.iter().zip(times) {
        let medians = row.iter().map(|cell| median(cell).unwrap_or_default());
        let medians: Vec<f64> = medians.map(millis).collect();
        let smallest = medians.first().copied().unwrap_or_default();
        let largest = medians.last().copied().unwrap_or_default();
        let slow = row.last().and_then(|cell| percentile(cell, 95));
        let slow = millis(slow.unwrap_or_default());
        let ratio = largest / smallest.max(f64::MIN_POSITIVE);
        let medians = medians.into_iter().map(Cell::from);
        let rest = [Cell::from(slow), Cell::at_most(MAX_MILLIS), ratio.into()];
        table.push(*name, medians.chain(rest).map(Some));
    }
    table
}
