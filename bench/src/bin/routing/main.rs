//! Routing: is the right skill among the first of thousands, and how long does it take?
//!
//! `cargo run --release -p prowess-bench --bin routing -- --pool skills.jsonl.gz --queries
//! queries.jsonl`. A skill of the pool is a line with `id`, `name`, `description` and
//! `body`; a query one with `query`, `relevant` (ids) and `set`. Skills with the name of a
//! relevant one count as it. No files are a part of this repository.
//!
//! With `--server` the same through a real `prowess serve`, on both databases.
//!
//! | module | owns |
//! |---|---|
//! | `options` | the arguments |
//! | `dataset` | reading skills and queries |
//! | `memory_index` | ranking in memory |
//! | `quality` | recall by set |
//! | `hybrid` | the same with vectors |
//! | `served` | the same through a server |
#![expect(clippy::print_stdout, reason = "its tables are what it is for")]

mod dataset;
mod hybrid;
mod memory_index;
mod options;
mod quality;
mod served;

use std::time::Instant;

use anyhow::Result;
use prowess_bench::{millis, percentile};
use prowess_bench_report::Report;

use dataset::Dataset;
use memory_index::MemoryIndex;
use options::RoutingOptions;
use quality::Quality;

/// Results of a query. A catalogue has no more entries.
const RESULTS: usize = 200;

fn main() -> Result<()> {
    let options = RoutingOptions::read(std::env::args().skip(1))?;
    let dataset = Dataset::read(&options.pool, &options.queries)?;
    println!(
        "{} skills, {} queries",
        dataset.pool.len(),
        dataset.queries.len()
    );
    for (reason, count) in &dataset.unused {
        println!("not used: {count} {reason}");
    }
    if options.server.is_some() {
        return served::run(&options, dataset);
    }
    let start = Instant::now();
    let index = MemoryIndex::new(&dataset.pool);
    println!(
        "split and indexed in {:.1} s; terms of a skill take {:.2} of its text",
        start.elapsed().as_secs_f64(),
        index.encoded_bytes as f64 / index.text_bytes.max(1) as f64
    );
    let mut quality = Quality::default();
    let mut times = Vec::new();
    for query in &dataset.queries {
        let start = Instant::now();
        let results = index.search(&query.text, RESULTS);
        times.push(start.elapsed());
        let entries = options.catalogue.fitting(&results, &dataset.pool);
        quality.add(query, &results, entries);
    }
    let time = |hundredths| millis(percentile(&times, hundredths).unwrap_or_default());
    let caption = format!(
        "{} skills; in memory, {:.2} ms per query (median), {:.2} ms (95 of 100)",
        dataset.pool.len(),
        time(50),
        time(95)
    );
    let mut report = Report::default();
    println!("\n{}", report.add(quality.table("recall", caption)));
    println!("\n{}", report.add(hybrid::table(&index, &dataset)));
    report.finish()
}
