//! `cargo xtask bench [NAME]`: runs benchmarks, writes what they measured to
//! `bench/results/`, and shows it in `bench/README.md`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use prowess_bench_report::{Machine, OUTPUT_VARIABLE, Results, Table, fill_tables};

use crate::run::{self, cargo, command, root, target};
use crate::setup::{self, Step};

/// Every benchmark. Those of the sandbox start it from their own binary, so they
/// are in its package; the others are binaries of the package in `bench/`.
const ALL: [&str; 15] = [
    "validate",
    "pack",
    "discover",
    "store",
    "console",
    "skills",
    "sandbox",
    "kept-runs",
    "commands",
    "gateway",
    "gateway-load",
    "neighbours",
    "faults",
    "cluster",
    "routing",
];

/// The one whose data is not a part of the repository, and the variables that name its files. It
/// is left out if they are not set.
const NEEDS_DATA: &str = "routing";
const DATA_VARIABLES: [&str; 2] = ["PROWESS_ROUTING_POOL", "PROWESS_ROUTING_QUERIES"];

/// Those that can measure other binaries of Prowess in the same run. The last compares nothing
/// else, so it is left out if there are none.
const COMPARING: [&str; 4] = ["gateway", "kept-runs", "commands", "routing"];
const ONLY_COMPARING: &str = "commands";

/// Those that need nothing of what is installed for tests.
const WITHOUT_SETUP: [&str; 8] = [
    "store",
    "console",
    "kept-runs",
    "commands",
    "gateway",
    "gateway-load",
    "neighbours",
    "routing",
];

/// Needs only a message server, and an S3 server that keeps everything in memory.
const CLUSTER: &str = "cluster";
const CLUSTER_STEPS: [Step; 2] = [Step::Nats, Step::Reference];

/// The profile of released binaries.
const DIST: &str = "dist";

/// Run a benchmark, or all of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The benchmark; default: all
    #[arg(value_parser = ALL)]
    name: Option<String>,
    /// Install the LiteLLM proxy and measure it too
    #[arg(long)]
    with_litellm: bool,
    /// Measure another binary of Prowess in the same run, such as that of an earlier commit,
    /// built with the same profile; may be repeated
    #[arg(long, value_name = "NAME=PATH", value_parser = parse_binary)]
    against: Vec<String>,
    /// Measure this binary, built with the profile `dist`, instead of building one
    #[arg(long, value_name = "PATH", requires = "name")]
    binary: Option<PathBuf>,
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
    #[arg(long, conflicts_with_all = ["name", "with_litellm", "against", "binary", "runs", "note", "write"])]
    write_only: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.write_only {
        return write_readme();
    }
    let selected = args.selected()?;
    let needs_all = |name: &&str| *name != CLUSTER && !WITHOUT_SETUP.contains(name);
    if selected.iter().any(needs_all) {
        setup::all()?;
        setup::rivals()?;
    } else if selected.contains(&CLUSTER) {
        setup::install(CLUSTER_STEPS)?;
    }
    for name in selected {
        let results = Results {
            benchmark: name.to_owned(),
            date: output("date", &["-u", "+%F"])?,
            commit: Some(commit()?),
            profile: Some(profile(name).to_owned()),
            machine: Machine::current(),
            note: args.note.clone(),
            tables: measure(name, args)?,
        };
        // Binaries that were compared once are of interest to others only on request.
        if name != ONLY_COMPARING || args.write {
            results.write(&results_folder(), results_name(name))?;
        }
        if args.write {
            write_readme()?;
        }
    }
    Ok(())
}

impl Args {
    /// The benchmarks to run.
    fn selected(&self) -> anyhow::Result<Vec<&'static str>> {
        let Some(selected) = &self.name else {
            let has_data = DATA_VARIABLES
                .iter()
                .all(|name| std::env::var_os(name).is_some());
            let is_possible = |name: &&str| match *name {
                ONLY_COMPARING => !self.against.is_empty(),
                NEEDS_DATA => has_data,
                _ => true,
            };
            return Ok(ALL.into_iter().filter(is_possible).collect());
        };
        ensure!(
            self.against.is_empty() || COMPARING.contains(&selected.as_str()),
            "{selected} cannot measure other binaries; these can: {}",
            COMPARING.join(", ")
        );
        ensure!(
            self.binary.is_none() || profile(selected) == DIST,
            "{selected} builds what it measures: leave `--binary` out"
        );
        ensure!(
            selected != ONLY_COMPARING || !self.against.is_empty(),
            "{selected} compares binaries: use `--against NAME=PATH`"
        );
        Ok(ALL.into_iter().filter(|name| name == selected).collect())
    }
}

/// `NAME=PATH` with an absolute path: benchmarks are started in the workspace's root.
fn parse_binary(text: &str) -> Result<String, String> {
    let (name, path) = text.split_once('=').ok_or("it must be NAME=PATH")?;
    if path.contains(',') {
        return Err("its path must not have a comma".to_owned());
    }
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    if !path.is_file() {
        return Err(format!("{} is no file", path.display()));
    }
    Ok(format!("{name}={}", path.display()))
}

/// Runs a benchmark as often as requested.
fn measure(name: &str, args: &Args) -> anyhow::Result<Vec<Table>> {
    let profile = match &args.binary {
        // The program that measures is not measured.
        Some(_) => "release",
        None => profile(name),
    };
    if args.binary.is_none() {
        run::run(&mut cargo(&[
            "build",
            "--profile",
            profile,
            "--package",
            "prowess-cli",
        ]))?;
    }
    let run = ["run", "--profile", profile, "--quiet", "--package"];
    let which = match name {
        "sandbox" => ["prowess-sandbox", "--example", "bench"],
        name => ["prowess-bench", "--bin", name],
    };
    let arguments: &[&str] = match name {
        NEEDS_DATA => &["--", "--server"],
        _ => &[],
    };
    let mut bench = cargo(&[run.as_slice(), which.as_slice(), arguments].concat());
    if let Some(binary) = &args.binary {
        let binary = fs::canonicalize(binary);
        bench.env(
            "PROWESS_BENCH_BINARY",
            binary.context("--binary names no file")?,
        );
    }
    if name == "skills" {
        install_litellm()?;
    }
    if COMPARING.contains(&name) && !args.against.is_empty() {
        bench.env("PROWESS_BENCH_BINARIES", args.against.join(","));
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

/// The gateway is compared with released software, and so are other binaries, so the release
/// profile is measured.
fn profile(name: &str) -> &'static str {
    match name {
        "gateway" | "gateway-load" | "kept-runs" | "commands" | "cluster" | "routing" => DIST,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn args(name: Option<&str>, against: &[&str]) -> Args {
        Args {
            name: name.map(str::to_owned),
            with_litellm: false,
            binary: None,
            against: against.iter().map(|binary| (*binary).to_owned()).collect(),
            runs: 1,
            note: String::new(),
            write: false,
            write_only: false,
        }
    }

    #[test]
    fn binaries_are_compared_only_where_that_is_possible() {
        let selected = |name, against: &[&str]| args(name, against).selected();
        assert_eq!(selected(Some("store"), &[]).unwrap(), ["store"]);
        assert_eq!(selected(Some("gateway"), &["a=/b"]).unwrap(), ["gateway"]);
        assert!(selected(Some("store"), &["a=/b"]).is_err());
        assert!(selected(Some("commands"), &[]).is_err());
        let all = |others: &[&str]| {
            let mut all = selected(None, others).unwrap();
            all.retain(|name| *name != NEEDS_DATA);
            all.len()
        };
        assert_eq!(all(&[]), ALL.len() - 2);
        assert_eq!(all(&["a=/b"]), ALL.len() - 1);
        assert_eq!(selected(Some(NEEDS_DATA), &[]).unwrap(), [NEEDS_DATA]);
    }

    #[test]
    fn a_binary_is_a_name_and_a_file() {
        let this = std::env::current_exe().unwrap();
        let named = format!("old={}", this.display());
        assert_eq!(parse_binary(&named), Ok(named));
        assert!(parse_binary("old").is_err());
        assert!(parse_binary("old=/no/such/file").is_err());
    }
}
