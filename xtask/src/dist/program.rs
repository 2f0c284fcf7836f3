//! The binary that is packaged: its build, and what it needs of its host.
//!
//! Must not know the artefacts.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;
use serde_json::Value;

use super::tools::{ToolSet, with_first};
use crate::run::{cargo, command, run};
use crate::setup::path_text;

/// The only platform that artefacts are made for.
pub(super) const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Builds the binary, and returns where it is.
pub(super) fn build(profile: &str, glibc: Option<&str>) -> anyhow::Result<PathBuf> {
    let what = ["--locked", "--package=prowess-cli", "--bin=prowess"];
    let mut build = match glibc {
        None => cargo(&["build"]),
        // The linker of zig has the symbols of every version of glibc.
        Some(version) => {
            let tools = ToolSet::Zig.install()?.join("bin");
            let mut build = command(tools.join("cargo-zigbuild"), &["zigbuild"]);
            build.env("PATH", with_first(tools)?);
            build.args(["--target", &format!("{TRIPLE}.{version}")]);
            build
        }
    };
    build.args(what).args(["--profile", profile]);
    build.arg("--message-format=json-render-diagnostics");
    let built = build.stderr(Stdio::inherit()).output();
    let built = built.context("cannot start the build of the binary")?;
    anyhow::ensure!(built.status.success(), "the binary does not build");
    executable(&String::from_utf8(built.stdout)?)
}

/// Where cargo put the binary, by its own messages.
fn executable(messages: &str) -> anyhow::Result<PathBuf> {
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).context("cargo printed no JSON")?;
        let name = message.pointer("/target/name").and_then(Value::as_str);
        let program = message.get("executable").and_then(Value::as_str);
        if let (Some("prowess"), Some(program)) = (name, program) {
            return Ok(program.into());
        }
    }
    anyhow::bail!("cargo built no binary `prowess`")
}

/// Writes a copy of a program without symbols. Their names and sizes depend on the build's
/// folder, and they are most of an unoptimised build.
pub(crate) fn strip(program: &Path, copy: &Path) -> anyhow::Result<()> {
    if let Some(folder) = copy.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let (from, to) = (path_text(program)?, path_text(copy)?);
    run(&mut command(
        "strip",
        &["--strip-all", "--remove-section=.comment", "-o", &to, &from],
    ))
    .context("`strip` comes with the package binutils")
}

/// Shared libraries that a program is linked with, and the newest version of glibc whose
/// symbols it uses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HostNeeds {
    pub(super) libraries: Vec<String>,
    pub(super) glibc: GlibcVersion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GlibcVersion {
    major: u32,
    minor: u32,
}

impl std::fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl GlibcVersion {
    /// From the name of a symbol's version: `GLIBC_2.17`, `GLIBC_2.2.5`.
    pub(super) fn parse(text: &str) -> Option<GlibcVersion> {
        let mut parts = text.strip_prefix("GLIBC_")?.split('.');
        Some(GlibcVersion {
            major: parts.next()?.parse().ok()?,
            minor: parts.next()?.parse().ok()?,
        })
    }

    /// The tag of wheels that need it.
    pub(super) fn manylinux(self) -> String {
        format!("manylinux_{}_{}", self.major, self.minor)
    }
}

/// Reads what the dynamic loader would read.
pub(super) fn host_needs(program: &Path) -> anyhow::Result<HostNeeds> {
    let listed = command("objdump", &["--private-headers", &path_text(program)?]).output();
    let listed = listed.context("`objdump` comes with the package binutils")?;
    anyhow::ensure!(
        listed.status.success(),
        "{} is not a program: {}",
        program.display(),
        String::from_utf8_lossy(&listed.stderr).trim()
    );
    let text = String::from_utf8_lossy(&listed.stdout);
    parse_host_needs(&text)
        .with_context(|| format!("{} is not linked with glibc", program.display()))
}

/// `objdump` lists libraries as `  NEEDED  libc.so.6`, and versions of symbols as
/// `    0x06969197 0x00 05 GLIBC_2.17`.
fn parse_host_needs(text: &str) -> Option<HostNeeds> {
    let words = || text.lines().map(str::split_whitespace);
    let mut libraries: Vec<String> = words()
        .filter_map(|mut line| {
            (line.next()? == "NEEDED").then(|| line.next().map(str::to_owned))?
        })
        .collect();
    libraries.sort();
    let versions = words().filter_map(|line| GlibcVersion::parse(line.last()?));
    Some(HostNeeds {
        libraries,
        glibc: versions.max()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_newest_symbols_are_read() {
        let text = "Dynamic Section:\n  NEEDED               libm.so.6\n  \
            NEEDED               libc.so.6\n\nVersion References:\n  required from libc.so.6:\n    \
            0x09691a75 0x00 04 GLIBC_2.2.5\n    0x069691b4 0x00 03 GLIBC_2.34\n    \
            0x06969197 0x00 05 GLIBC_2.17\n    0x0b792650 0x00 06 GCC_3.0\n";
        let needs = parse_host_needs(text).unwrap();
        assert_eq!(needs.libraries, ["libc.so.6", "libm.so.6"]);
        assert_eq!(needs.glibc.to_string(), "2.34");
        assert_eq!(needs.glibc.manylinux(), "manylinux_2_34");
        assert_eq!(parse_host_needs("  NEEDED libmusl.so"), None);
    }
}
