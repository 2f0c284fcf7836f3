//! `cargo xtask ci`

use crate::run::{self, cargo};
use crate::test;

/// Quick checks first, so that a small mistake is reported soon.
pub(crate) fn run() -> anyhow::Result<()> {
    run::run(&mut cargo(&["fmt", "--all", "--check"]))?;
    let clippy = [
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    run::run(&mut cargo(&clippy))?;
    let doc = ["doc", "--locked", "--workspace", "--no-deps"];
    run::run(cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))?;
    // A workspace of its own, so nothing above compiles it.
    let fuzz = [
        "check",
        "--locked",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target-dir",
        "target",
    ];
    run::run(cargo(&fuzz).current_dir(run::root()))?;
    test::run_all(None)
}
