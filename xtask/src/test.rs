//! `cargo xtask test`

use prowess_testkit::postgres::{PostgresServer, SHARED_SERVER};

use crate::run::{self, cargo, succeeds};
use crate::{needs, setup};

/// Install what the tests need, then run them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only tests whose name contains this, with only the setup that they need
    filter: Option<String>,
}

/// Runs the tests, with everything that they need installed.
pub(crate) fn run_installed(filter: Option<&str>) -> anyhow::Result<()> {
    let filter: Vec<&str> = filter.into_iter().collect();
    run::run(cargo(&["test", "--workspace", "--doc", "--quiet"]).args(&filter))?;
    let mut tests = if succeeds(&mut cargo(&["nextest", "--version"])) {
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast"])
    } else {
        cargo(&[
            "test",
            "--workspace",
            // An extension module cannot be linked as a program; its tests are in Python.
            "--exclude=prowess-python",
            "--no-fail-fast",
            "--lib",
            "--bins",
            "--tests",
        ])
    };
    // A server of its own takes a test on a database longer than all the rest of it. Without one
    // installed, the tests that need it say so.
    let postgres = PostgresServer::is_installed().then(PostgresServer::start_shared);
    if let Some(postgres) = &postgres {
        tests.env(SHARED_SERVER, postgres.folder());
    }
    run::run(tests.args(&filter))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let filter = args.filter.as_deref();
    match filter {
        Some(filter) => setup::install(needs::steps(filter)?)?,
        None => setup::all()?,
    }
    run_installed(filter)
}
