//! Runs with skills and commands of several binaries of Prowess, in turns: what `skills` and
//! `sandbox` measure of the libraries, as far as it can be measured from outside, so that an
//! earlier binary can be compared.
//!
//! `cargo xtask bench commands --against NAME=PATH`; takes the number of rounds as its
//! argument.
//!
//! | module | owns |
//! |---|---|
//! | `operation` | what is measured |
//! | `measured_binary` | a server of one binary, and one operation on it |

#![expect(clippy::print_stdout, reason = "its tables are what it is for")]

mod measured_binary;
mod operation;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use prowess_bench::binaries::{other_binaries, own_binary};
use prowess_bench::gateway::model::MockModel;
use prowess_bench::{median, millis, ratio, sample};
use prowess_bench_report::{Cell, Column, Report, Table};
use prowess_skill::ArchiveLayout;

use measured_binary::{MeasuredBinary, OperationTime};
use operation::Operation;

const ROUNDS: usize = 40;
const SKILLS: u64 = 8;

fn main() -> Result<()> {
    let rounds = prowess_bench::rounds(ROUNDS)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(rounds))
}

async fn run(rounds: usize) -> Result<()> {
    let others = other_binaries()?;
    ensure!(
        !others.is_empty(),
        "no binary to compare with: use `--against NAME=PATH`"
    );
    let model = MockModel::start()?;
    let skills = (0..SKILLS).map(skill).collect::<Result<Vec<_>>>()?;
    let mut binaries = Vec::new();
    for binary in [own_binary()?].iter().chain(&others) {
        let started = MeasuredBinary::start(binary, &skills, model.address()).await;
        binaries.push(started.with_context(|| format!("cannot use {}", binary.name))?);
    }
    let names: Vec<&str> = binaries.iter().map(|binary| binary.name.as_str()).collect();
    let mut tables = [
        new_table("wall", "p50", &names),
        new_table("cpu", "CPU of the server", &names),
    ];
    for operation in Operation::ALL {
        let times = measure(operation, &binaries, rounds).await?;
        let wall = |times: &Vec<OperationTime>| {
            let wall: Vec<_> = times.iter().map(|time| time.wall).collect();
            median(&wall)
        };
        let cpu = |times: &Vec<OperationTime>| {
            let cpu: Vec<_> = times.iter().filter_map(|time| time.cpu).collect();
            median(&cpu)
        };
        let [wall_table, cpu_table] = &mut tables;
        push(
            wall_table,
            operation,
            &times.iter().map(wall).collect::<Vec<_>>(),
        );
        push(
            cpu_table,
            operation,
            &times.iter().map(cpu).collect::<Vec<_>>(),
        );
    }
    let caption = format!(
        "{SKILLS} skills of 60 files and 1 MB; medians of {rounds} interleaved rounds, and how \
         many times those of each other binary they are."
    );
    let mut report = Report::default();
    for table in tables {
        println!("{}", report.add(table.with_caption(caption.as_str())));
    }
    report.finish()
}

/// One operation of all binaries, in turns.
async fn measure(
    operation: Operation,
    binaries: &[MeasuredBinary],
    rounds: usize,
) -> Result<Vec<Vec<OperationTime>>> {
    let mut times = vec![Vec::new(); binaries.len()];
    // The first round warms up, and is not counted.
    for round in 0..=rounds {
        for (binary, times) in binaries.iter().zip(&mut times) {
            let time = binary.measure(operation).await?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    Ok(times)
}

fn new_table(name: &str, corner: &str, binaries: &[&str]) -> Table {
    let times = binaries.iter().map(|name| Column::number(*name, "ms", 2));
    let others = binaries.iter().skip(1);
    let ratios = others.map(|name| Column::number(format!("× {name}"), "", 2));
    Table::new(name, times.chain(ratios)).with_corner(corner)
}

/// Adds what each binary took, the measured one first; nothing if it is not known.
fn push(table: &mut Table, operation: Operation, times: &[Option<Duration>]) {
    let Some((Some(own), others)) = times.split_first() else {
        return;
    };
    let numbers = times.iter().map(|time| time.map(millis));
    let ratios = others.iter().map(|other| ratio(*own, (*other)?));
    let cells = numbers.chain(ratios).map(|number| number.map(Cell::from));
    table.push(operation.name(), cells);
}

/// A skill as an archive, with its name.
fn skill(number: u64) -> Result<(String, Vec<u8>)> {
    let name = format!("sheets-{number}");
    let front = format!(
        "---\nname: {name}\ndescription: Reads tables from pages and writes them into sheets. \
         Use when someone asks for number {number}.\n---\n\n"
    );
    let bundle = sample::bundle(number + 1, &front)?;
    Ok((
        name.clone(),
        bundle.to_zip(&ArchiveLayout::wrapped(&name)?)?,
    ))
}
