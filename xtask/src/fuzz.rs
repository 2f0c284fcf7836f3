//! `cargo xtask fuzz TARGET`

use crate::run::{self, command, root, succeeds};

/// Every fuzz target of the package in `fuzz/`.
const ALL: [&str; 11] = [
    "zip",
    "tar_gz",
    "frontmatter",
    "egress_head",
    "client_hello",
    "form",
    "sse",
    "aws_frames",
    "request",
    "skill_terms",
    "stream",
];

/// Fuzz the code that reads untrusted bytes. Needs a nightly toolchain and cargo-fuzz.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The target; default: all
    #[arg(value_parser = ALL)]
    target: Option<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 240)]
    seconds: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if !succeeds(&mut command("cargo", &["+nightly", "fuzz", "--version"])) {
        anyhow::bail!("fuzzing needs a nightly toolchain and `cargo install cargo-fuzz`");
    }
    let time = format!("-max_total_time={}", args.seconds);
    for target in ALL.iter().filter(|t| {
        args.target
            .as_deref()
            .is_none_or(|requested| requested == **t)
    }) {
        let mut fuzz = command("cargo", &["+nightly", "fuzz", "run", target, "--", &time]);
        run::run(fuzz.current_dir(root().join("fuzz")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_target_is_run() {
        let files = std::fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap();
        let names: BTreeSet<String> = files
            .map(|file| file.unwrap().path())
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, BTreeSet::from(ALL.map(str::to_owned)));
    }
}
