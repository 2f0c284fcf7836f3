//! `cargo xtask bench [NAME]`

use crate::run::{self, cargo};
use crate::setup;

/// Every benchmark. Those of the sandbox start it from their own binary, so they
/// live with it; the others are binaries of the package in `bench/`.
const ALL: [&str; 4] = ["validate", "pack", "discover", "sandbox"];

/// Run a benchmark, or all of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The benchmark; all of them when left out
    #[arg(value_parser = ALL)]
    name: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    setup::all()?;
    setup::rivals()?;
    run::run(&mut cargo(&["build", "--release", "--package", "prowess"]))?;
    let wanted = |name: &&&str| args.name.as_deref().is_none_or(|wanted| wanted == **name);
    for name in ALL.iter().filter(wanted) {
        let run = ["run", "--release", "--quiet", "--package"];
        let which = match *name {
            "sandbox" => ["prowess-sandbox", "--example", "bench"],
            name => ["prowess-bench", "--bin", name],
        };
        run::run(&mut cargo(&[run.as_slice(), which.as_slice()].concat()))?;
    }
    Ok(())
}
