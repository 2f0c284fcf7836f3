//! Gives the binary its commit, for `prowess --version`.
//!
//! A tree without git (a source archive) builds too; it just cannot name its
//! commit.

use std::process::Command;

fn main() {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=10", "HEAD"]).unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=PROWESS_COMMIT={commit}");
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
