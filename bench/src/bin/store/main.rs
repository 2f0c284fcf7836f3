//! The store at 100, 10,000 and more skills: does anything slow down as it fills?
//!
//! There is no other tool to compare with; the ratio is that of a large store to one
//! of 100 skills, asked in turn in one run. Run with `--release`; takes the sizes as
//! its arguments, the smallest first.
#![expect(clippy::print_stdout, reason = "its table is what it is for")]

mod fill;
mod queries;
mod report;

use anyhow::{Context, Result, ensure};
use prowess_bench_report::Report;

use queries::{QUERIES, QueriedStore};
use report::Times;

const SIZES: [usize; 3] = [100, 10_000, 100_000];
const ROUNDS: usize = 200;

fn main() -> Result<()> {
    let sizes = match std::env::args().skip(1).collect::<Vec<_>>() {
        none if none.is_empty() => SIZES.to_vec(),
        some => {
            let sizes = some.iter().map(|size| size.parse());
            sizes
                .collect::<Result<_, _>>()
                .context("sizes must be numbers")?
        }
    };
    ensure!(
        sizes.is_sorted(),
        "sizes must grow: each store begins as a copy of the one before"
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(&sizes))
}

async fn run(sizes: &[usize]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut subjects = Vec::new();
    for filled in fill::all(folder.path(), sizes).await? {
        subjects.push(QueriedStore::open(filled).await?);
    }
    let mut times = Times::new(QUERIES.len(), sizes.len());
    // The first round warms caches, and is not counted.
    for round in 0..=ROUNDS {
        for (row, question) in QUERIES.iter().enumerate() {
            for (column, subject) in subjects.iter().enumerate() {
                let taken = subject.run_query(question, round).await?;
                if round > 0 {
                    times.add(row, column, taken);
                }
            }
        }
    }
    let names: Vec<_> = QUERIES.iter().map(|question| question.name).collect();
    let table = times.table(&names, sizes);
    let mut report = Report::default();
    println!(
        "{}",
        report.add(table.with_caption(format!("SQLite; medians of {ROUNDS} rounds")))
    );
    report.finish()
}
