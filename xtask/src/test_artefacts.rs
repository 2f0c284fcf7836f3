//! What people install, made of the tests' own binary, and the programs that check it.

use crate::dist::{self, ToolSet};
use crate::run::{command, succeeds, target};
use crate::setup::system_packages;
use crate::test_build;

/// Programs that check artefacts, by what they are called and which package has them.
const CHECKERS: [(&str, &str); 4] = [
    ("lintian", "lintian"),
    ("shellcheck", "shellcheck"),
    ("systemd-analyze", "systemd"),
    ("npm", "npm"),
];

/// Installs what makes and checks them.
pub(crate) fn install_tools() -> anyhow::Result<()> {
    let is_missing = |program: &str| !succeeds(&mut command(program, &["--version"]));
    let missing = CHECKERS.iter().filter(|(program, _)| is_missing(program));
    let missing: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        system_packages(&missing)?;
    }
    ToolSet::Wheels.install().map(drop)
}

/// Makes them each time, so that the tests always use the current code.
pub(crate) fn make() -> anyhow::Result<()> {
    install_tools()?;
    let out = target().join("test-artefacts");
    dist::run(&dist::Args::for_tests(test_build::binary()?, out))
}
