//! `cargo xtask bench [NAME]`

use crate::run::{self, cargo};
use crate::setup;

/// Every benchmark: a binary of the package in `bench/`.
const ALL: [&str; 2] = ["validate", "pack"];

/// Run a benchmark, or all of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The benchmark; all of them when left out
    #[arg(value_parser = ALL)]
    name: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    setup::all()?;
    run::run(&mut cargo(&["build", "--release", "--package", "prowess"]))?;
    for name in ALL
        .iter()
        .filter(|name| args.name.as_deref().is_none_or(|n| n == **name))
    {
        run::run(&mut cargo(&[
            "run",
            "--release",
            "--quiet",
            "--package",
            "prowess-bench",
            "--bin",
            name,
        ]))?;
    }
    Ok(())
}
