//! Routing through a real `prowess serve`, on SQLite and PostgreSQL: the same queries over HTTP.
//!
//! | module | owns |
//! |---|---|
//! | `database` | the databases, and the bytes of their index |
//! | `skill_file` | skills of the pool as the upload rules want them, and more of them |
//! | `pool_server` | a server, uploads to it, and searches |
//! | `uploads` | the time of uploads, beside another binary |
//! | `searches` | all queries over HTTP, and whether two databases gave the same |
//! | `offer_model` | a model that takes the right skill if it is offered, and remembers requests |
//! | `auto_runs` | requests with `auto` |
//! | `tables` | what is shown |

mod auto_runs;
mod database;
mod offer_model;
mod pool_server;
mod searches;
mod skill_file;
mod tables;
mod uploads;

use anyhow::{Context, Result, ensure};
use prowess_bench::binaries::{other_binaries, own_binary};
use prowess_bench_report::Report;

use crate::dataset::Dataset;
use crate::options::{RoutingOptions, ServerOptions};
use database::RoutingDatabase;
use offer_model::OfferModel;
use pool_server::PoolServer;
use searches::{SearchResults, repeat_all, search_all};
use skill_file::SkillFiles;
use tables::{AutoRow, SearchRow, SizeRow};

/// Measures servers on each database, and compares what they found.
pub(crate) fn run(options: &RoutingOptions, dataset: Dataset) -> Result<()> {
    let server = options.server.clone().context("no --server")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure(&server, dataset))
}

async fn measure(options: &ServerOptions, dataset: Dataset) -> Result<()> {
    let files = SkillFiles::new(&dataset.pool);
    println!(
        "{} skills of the pool have a name or a description that the upload rules refuse; they \
         are changed as little as possible",
        files.changed()
    );
    if let Some(largest) = options.sizes.last().filter(|size| **size > files.len()) {
        println!(
            "{} of {largest} skills are made from the pool: names with a number, and the words \
             of description and body shuffled",
            largest - files.len()
        );
    }
    let model = OfferModel::start().await?;
    let mut report = Report::default();
    let mut all_results: Vec<(&'static str, Vec<SearchResults>)> = Vec::new();
    let mut searches = Vec::new();
    let mut sizes = Vec::new();
    let mut autos = Vec::new();
    for database in RoutingDatabase::start(options.database.as_deref())? {
        let name = database.name();
        let others = other_binaries()?;
        if others.is_empty() {
            println!("{name}: uploads are not compared: no other binary is named (--against)");
        } else {
            let own = own_binary()?;
            let table = uploads::compare(&database, &files, &own, &others, &model).await?;
            println!("\n{}", report.add(table));
        }
        let mut server = PoolServer::start(&own_binary()?, &database, 0, model.address()).await?;
        let mut of_database = Vec::new();
        for size in &options.sizes {
            let uploaded = server.upload_up_to(&files, *size).await?;
            let settled = server.settle().await?;
            println!(
                "{name}: {size} skills, {uploaded}; the server was done {:.1} s later",
                settled.as_secs_f64()
            );
            let loaded = server.memory()?;
            let results = search_all(&server, &dataset.queries).await?;
            let searched = server.memory()?;
            repeat_all(&server, &dataset.queries).await?;
            let case = format!("{name}, {size}");
            // Beyond the pool, each skill has copies with the same words.
            if *size <= files.len() {
                let quality = results.quality(&dataset.queries);
                let table = format!("recall-{}-{size}", name.to_lowercase());
                println!("\n{}", report.add(quality.table(&table, case.clone())));
            }
            searches.push(SearchRow::new(&case, *size, &results));
            sizes.push(SizeRow {
                case: case.clone(),
                index_bytes: database.index_bytes(&server).await?,
                text_bytes: server.text_bytes(),
                loaded,
                searched,
                repeated: server.memory()?,
            });
            if Some(size) == options.sizes.first() {
                let runs = auto_runs::measure(&server, &model, &dataset, options.runs).await?;
                autos.extend(runs.into_iter().map(|run| AutoRow::new(name, run)));
            }
            of_database.push(results);
        }
        all_results.push((name, of_database));
    }
    println!("\n{}", report.add(tables::searches(&searches)));
    println!("\n{}", report.add(tables::sizes(&sizes)));
    println!("\n{}", report.add(tables::autos(&autos)));
    let differing = compare_databases(&all_results)?;
    report.finish()?;
    ensure!(
        differing == 0,
        "{differing} lists differ between the databases"
    );
    Ok(())
}

/// How many lists differ between the first database and the others.
fn compare_databases(all: &[(&'static str, Vec<SearchResults>)]) -> Result<usize> {
    let Some(((first_name, first), others)) = all.split_first() else {
        return Ok(0);
    };
    if others.is_empty() {
        println!("only {first_name} was measured: no lists are compared");
    }
    let mut total = 0;
    for (name, of_database) in others {
        for (ours, theirs) in first.iter().zip(of_database) {
            let differing = ours.count_differing(theirs)?;
            println!(
                "{first_name} and {name}, {} skills: {differing} of {} lists differ",
                ours.size,
                ours.len()
            );
            total += differing;
        }
    }
    Ok(total)
}
