//! `cargo xtask bench [NAME]`

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
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    setup::all()?;
    setup::rivals()?;
    let selected = |name: &&&str| {
        args.name
            .as_deref()
            .is_none_or(|selected| selected == **name)
    };
    for name in ALL.iter().filter(selected) {
        let profile = profile(name);
        run::run(&mut cargo(&[
            "build",
            "--profile",
            profile,
            "--package",
            "prowess",
        ]))?;
        let run = ["run", "--profile", profile, "--quiet", "--package"];
        let which = match *name {
            "sandbox" => ["prowess-sandbox", "--example", "bench"],
            name => ["prowess-bench", "--bin", name],
        };
        let mut bench = cargo(&[run.as_slice(), which.as_slice()].concat());
        if *name == "skills" {
            install_litellm()?;
        }
        if *name == "gateway" {
            install_nginx()?;
            if args.with_litellm {
                bench.env("PROWESS_BENCH_LITELLM", install_litellm()?);
            }
        }
        run::run(&mut bench)?;
    }
    Ok(())
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
fn install_litellm() -> anyhow::Result<std::path::PathBuf> {
    let place = target().join("bench-litellm");
    setup::environment(&root().join("bench/gateway/litellm.txt"), &place)?;
    Ok(place)
}
