//! Automation of this workspace.
//!
//! `cargo xtask test` installs what the tests need and runs them; `cargo xtask ci` runs
//! every check that a change must pass.

#![expect(clippy::print_stderr, reason = "a tool for people at a terminal")]

mod bare_root;
mod bench;
mod chromium;
mod ci;
mod cluster_programs;
mod collector;
mod dist;
mod fuzz;
mod known_models;
mod needs;
mod prometheus;
mod python_environment;
mod run;
mod setup;
mod soak;
mod test;
mod test_artefacts;
mod test_build;
mod wheels;

use clap::Parser;

/// Automation of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Install what the tests need, then run them
    Test(test::Args),
    /// Run every check that a change must pass: formatting, lints, docs, tests
    Ci,
    /// Run a benchmark, or all of them
    Bench(bench::Args),
    /// Fuzz the parsers of untrusted input
    Fuzz(fuzz::Args),
    /// Disturb a cluster of real processes for longer than the tests do
    Soak(soak::Args),
    /// Make what people install: Debian package, archive, wheel, npm packages, container image
    Dist(dist::Args),
    /// Rewrite the table of known models from a price list
    KnownModels(known_models::Args),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Test(args) => test::run(&args),
        Task::Ci => ci::run(),
        Task::Bench(args) => bench::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Soak(args) => soak::run(&args),
        Task::Dist(args) => dist::run(&args),
        Task::KnownModels(args) => known_models::run(&args),
    }
}
