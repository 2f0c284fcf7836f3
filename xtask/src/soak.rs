//! `cargo xtask soak`

use crate::run::{self, cargo};
use crate::setup::{self, Step};

/// The tests that take a size and a time from the environment.
const TESTS: [&str; 3] = ["chaos::", "mobility::", "kill_matrix::"];

/// Disturb a cluster of real processes for longer than the tests do: kills, stopped processes
/// and lost networks, with another seed each round, then containers of the largest size.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Minutes of disturbance in each round
    #[arg(long, default_value_t = 10)]
    minutes: u32,
    /// Rounds
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// The seed of the first round; each later one has the next number
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs in each minute
    #[arg(long, default_value_t = 300)]
    runs: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    setup::install([Step::Cluster])?;
    for round in 0..args.rounds {
        let seed = args.seed + u64::from(round);
        eprintln!("round {} of {}, seed {seed}", round + 1, args.rounds);
        let mut tests = cargo(&["test", "--package=prowess-cli", "--test=cluster", "--"]);
        tests.args(TESTS).args(["--test-threads=1", "--nocapture"]);
        tests.env("PROWESS_SOAK_SECONDS", (args.minutes * 60).to_string());
        tests.env("PROWESS_SOAK_RUNS", (args.minutes * args.runs).to_string());
        tests.env("PROWESS_SOAK_SEED", seed.to_string());
        run::run(&mut tests)?;
    }
    Ok(())
}
