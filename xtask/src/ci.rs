//! `cargo xtask ci`

use crate::run::{self, cargo};
use crate::test;

/// Quick checks first, so that a small slip is told soon.
pub(crate) fn run() -> anyhow::Result<()> {
    run::run(&mut cargo(&["fmt", "--all", "--check"]))?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    run::run(&mut cargo(&clippy))?;
    let doc = ["doc", "--workspace", "--no-deps"];
    run::run(cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))?;
    test::run_all(None)
}
