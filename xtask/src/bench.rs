//! `cargo xtask bench [NAME]`: runs benchmarks, writes what they measured to
//! `bench/results/`, and shows it in `bench/README.md`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use prowess_bench_report::{Machine, OUTPUT_VARIABLE, Results, Table, fill_tables};

use crate::run::{self, cargo, command, root, target};
use crate::setup;

/// Every benchmark. Those of the sandbox start it from their own binary, so they
/// are in its package; the others are binaries of the package in `bench/`.
const ALL: [&str; 10] = [
    "validate",
    "pack",
    "discover",
    "store",
    "skills",
    "sandbox",
    "gateway",
    "gateway-load",
    "neighbours",
    "faults",
];

/// Run a benchmark, or all of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The benchmark; default: all
    #[arg(value_parser = ALL)]
    name: Option<String>,
    /// Install the LiteLLM proxy and measure it too
    #[arg(long)]
    with_litellm: bool,
    /// How often to run it; each cell then lists the numbers of all runs
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=20))]
    runs: u8,
    /// What a reader must know to judge the numbers, such as other load on the machine
    #[arg(long, default_value = "")]
    note: String,
    /// Show the new results in bench/README.md
    #[arg(long)]
    write: bool,
    /// Run nothing, only show the stored results in bench/README.md
    #[arg(long, conflicts_with_all = ["name", "with_litellm", "runs", "note", "write"])]
    write_only: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.write_only {
        return write_readme();
    }
    setup::all()?;
    setup::rivals()?;
    let selected = |name: &&&str| {
        args.name
            .as_deref()
            .is_none_or(|selected| selected == **name)
    };
    for name in ALL.iter().filter(selected) {
        let results = Results {
            benchmark: (*name).to_owned(),
            date: output("date", &["-u", "+%F"])?,
            commit: Some(commit()?),
            profile: Some(profile(name).to_owned()),
            machine: Machine::current(),
            note: args.note.clone(),
            tables: measure(name, args)?,
        };
        results.write(&results_folder(), results_name(name))?;
        if args.write {
            write_readme()?;
        }
    }
    Ok(())
}

/// Runs a benchmark as often as requested.
fn measure(name: &str, args: &Args) -> anyhow::Result<Vec<Table>> {
    let profile = profile(name);
    run::run(&mut cargo(&[
        "build",
        "--profile",
        profile,
        "--package",
        "prowess-cli",
    ]))?;
    let run = ["run", "--profile", profile, "--quiet", "--package"];
    let which = match name {
        "sandbox" => ["prowess-sandbox", "--example", "bench"],
        name => ["prowess-bench", "--bin", name],
    };
    let mut bench = cargo(&[run.as_slice(), which.as_slice()].concat());
    if name == "skills" {
        install_litellm()?;
    }
    if name == "gateway" {
        install_nginx()?;
        if args.with_litellm {
            bench.env("PROWESS_BENCH_LITELLM", install_litellm()?);
        }
    }
    let written = target().join(format!("bench-{name}.json"));
    bench.env(OUTPUT_VARIABLE, &written);
    let mut all: Vec<Table> = Vec::new();
    for number in 0..args.runs {
        remove_if_exists(&written)?;
        run::run(&mut bench)?;
        let text = fs::read_to_string(&written);
        let text = text.with_context(|| format!("the benchmark {name} wrote no results"))?;
        let tables: Vec<Table> = serde_json::from_str(&text)?;
        if number == 0 {
            all = tables;
            continue;
        }
        ensure!(all.len() == tables.len(), "another run has other tables");
        for (table, run) in all.iter_mut().zip(&tables) {
            table.add_run(run)?;
        }
    }
    Ok(all)
}

fn remove_if_exists(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn results_folder() -> PathBuf {
    root().join("bench/results")
}

/// The file of a benchmark's results. Both ways of `neighbours` are shown.
fn results_name(name: &str) -> &str {
    let shared = std::env::var_os("PROWESS_BENCH_SHARED_ADDRESS");
    match name {
        "neighbours" if shared.is_some_and(|shared| shared == "1") => "neighbours-one-address",
        name => name,
    }
}

/// Fills the marked places of `bench/README.md`.
fn write_readme() -> anyhow::Result<()> {
    let path = root().join("bench/README.md");
    let text = fs::read_to_string(&path)?;
    fs::write(&path, fill_tables(&text, &results_folder())?)?;
    Ok(())
}

/// The commit that is measured, with a mark if files were changed since.
fn commit() -> anyhow::Result<String> {
    let describe = [
        "describe",
        "--always",
        "--dirty",
        "--exclude=*",
        "--abbrev=12",
    ];
    output("git", &describe)
}

fn output(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = command(program, args).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    ensure!(output.status.success(), "{program} failed");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The gateway is compared with released software, so the release profile is measured.
fn profile(name: &str) -> &'static str {
    match name {
        "gateway" | "gateway-load" => "dist",
        _ => "release",
    }
}

/// The reverse proxy that the gateway is compared with.
fn install_nginx() -> anyhow::Result<()> {
    if run::succeeds(&mut command("nginx", &["-v"])) {
        return Ok(());
    }
    setup::system_packages(&["nginx-light"])
}

/// LiteLLM's proxy in an environment of its own.
fn install_litellm() -> anyhow::Result<PathBuf> {
    let place = target().join("bench-litellm");
    setup::environment(&root().join("bench/gateway/litellm.txt"), &place)?;
    Ok(place)
}
